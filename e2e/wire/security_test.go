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
	"github.com/stretchr/testify/require"
	runtimeapi "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// allocates fails if following w allocates more than is needed for what it really sends.
func allocates(t *testing.T, kind wireKind, w *wire, what string) {
	const limit = 64 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	followWire(t, kind, w)
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(limit), "%s: %s", kind.name, what)
}

// TestALengthPrefixAllocatesNothing: a frame that claims gigabytes costs no more than one that is as long as it says.
func TestALengthPrefixAllocatesNothing(t *testing.T) {
	for _, kind := range wireKinds {
		if kind.mime != runtimeapi.ContentTypeProtobuf {
			continue
		}
		for _, claim := range []uint32{1 << 20, 15 << 20, 16<<20 + 1, 1 << 30, 1<<32 - 1} {
			frames := binary.BigEndian.AppendUint32(nil, claim)
			allocates(t, kind, &wire{frames: append(frames, "k8s\x00"...)}, fmt.Sprint("a frame of ", claim))
		}
	}
}

// TestALengthWithinAMessageAllocatesNothing: neither does an item of a list, or a string, that claims to be longer than the
// message that it is in.
func TestALengthWithinAMessageAllocatesNothing(t *testing.T) {
	const (
		magic = "k8s\x00"
		items = 2<<3 | 2 // the tag of a list's items
	)
	for _, kind := range wireKinds {
		if kind.mime != runtimeapi.ContentTypeProtobuf {
			continue
		}
		for _, claim := range []uint64{1 << 30, 1 << 40, 1<<63 - 1} {
			body, err := kind.encode(podList("5"))
			require.NoError(t, err)
			envelope := runtimeapi.Unknown{}
			require.NoError(t, envelope.Unmarshal(body[len(magic):]))
			envelope.Raw = binary.AppendUvarint(append(envelope.Raw, items), claim)
			message, err := envelope.Marshal()
			require.NoError(t, err)
			body = append([]byte(magic), message...)
			allocates(t, kind, &wire{list: body}, fmt.Sprint("an item of ", claim))
		}
	}
}

// TestAContentLengthAllocatesNothing: nor does the header of an answer.
func TestAContentLengthAllocatesNothing(t *testing.T) {
	for _, kind := range wireKinds {
		for _, claim := range []int64{1 << 30, 1 << 40, 1<<63 - 1} {
			allocates(t, kind, &wire{claim: claim}, fmt.Sprint("answers of ", claim))
		}
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
