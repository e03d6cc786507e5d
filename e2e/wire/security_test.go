// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// TestALengthPrefixAllocatesNothing: a frame that claims gigabytes costs no more than one that is as long as it says.
func TestALengthPrefixAllocatesNothing(t *testing.T) {
	const limit = 64 << 20
	for _, claim := range []uint32{1 << 20, 15 << 20, 16<<20 + 1, 1 << 30, 1<<32 - 1} {
		frames := binary.BigEndian.AppendUint32(nil, claim)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		followWire(t, wireKinds[1], &wire{frames: append(frames, "k8s\x00"...)})
		runtime.ReadMemStats(&after)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(limit), "a claim of %d bytes", claim)
	}
}

// TestContentsStayOutOfLogs: whatever is wrong with what a server sends, its contents are not logged up to verbosity 4.
func TestContentsStayOutOfLogs(t *testing.T) {
	const secret = "kinformer-secret-content"
	object := func(kind string) string {
		return fmt.Sprintf(`{%s"metadata":{"name":"b","namespace":"ns","resourceVersion":"901"},"data":{"password":%q}}`, kind, secret)
	}
	pod, other := object(`"kind":"Pod","apiVersion":"v1",`), object(`"kind":"Secret","apiVersion":"v1",`)
	bodies := map[string]string{
		"right":            pod,
		"another type":     other,
		"unknown type":     object(`"kind":"X","apiVersion":"y/v1",`),
		"no version":       object(`"kind":"Pod",`),
		"no kind":          object(""),
		"broken":           pod[:len(pod)-3],
		"metadata of text": `{"kind":"Pod","apiVersion":"v1","metadata":"` + secret + `"}`,
		"labels of text":   `{"kind":"Pod","apiVersion":"v1","metadata":{"labels":"` + secret + `"}}`,
	}
	for name, body := range bodies {
		for _, kind := range wireKinds {
			for how, w := range map[string]*wire{
				"watch":             {frames: []byte(`{"type":"ADDED","object":` + body + `}`)},
				"list without kind": {list: []byte(`{"apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[` + body + `]}`)},
				"list":              {list: []byte(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[` + body + `]}`)},
			} {
				if strings.HasSuffix(kind.name, "protobuf") {
					continue
				}
				var logs bytes.Buffer
				klog.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&logs), textlogger.Verbosity(4))))
				w.mu.watches = -1 // the frames are those of the watch after the list
				followWire(t, kind, w)
				klog.ClearLogger()
				assert.NotContains(t, logs.String(), secret, "%s: %s of %s", kind.name, how, name)
			}
		}
	}
}
