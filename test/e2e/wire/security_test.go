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

	"github.com/kinformer/cache/internal/testkit"
)

// allocates reports an error if following w allocates 64 MiB or more.
func allocates(t *testing.T, kind wireKind, w *wire, what string) {
	const limit = 64 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	followWire(t, kind, w)
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(limit), "%s: %s", kind.name, what)
}

// TestFalseLengthsAllocateNothing checks that a false length of gigabytes costs no more than the true one: in
// the Content-Length header of a response, before a frame, and before an item that ends after its message.
func TestFalseLengthsAllocateNothing(t *testing.T) {
	const (
		magic = "k8s\x00"
		items = 2<<3 | 2 // the tag of a list's items
	)
	for _, kind := range wireKinds {
		for _, claim := range []int64{1 << 30, 1 << 40, 1<<63 - 1} {
			allocates(t, kind, &wire{claim: claim}, fmt.Sprint("answers of ", claim))
		}
		if kind.mime != runtimeapi.ContentTypeProtobuf {
			continue
		}
		for _, claim := range []uint32{1 << 20, 15 << 20, 16<<20 + 1, 1 << 30, 1<<32 - 1} {
			frames := binary.BigEndian.AppendUint32(nil, claim)
			allocates(t, kind, &wire{frames: append(frames, magic...)}, fmt.Sprint("a frame of ", claim))
		}
		for _, claim := range []uint64{1 << 30, 1 << 40, 1<<63 - 1} {
			body, err := kind.encode(testkit.PodList("5"))
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

const (
	secret = "hunter2-hunter2" // in no valid object
	digits = "31337.31337"
)

// secretPod returns a pod with additional fields in its metadata and beside it.
func secretPod(inMeta, beside string) string {
	return `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"b","namespace":"ns","resourceVersion":"901"` + inMeta + `}` + beside + `}`
}

// secretBodies returns objects with secrets: valid ones, and ones that decoders reject at the secret or
// near it.
func secretBodies() map[string]string {
	bodies := map[string]string{
		"right":      secretPod("", `,"data":{"password":"SECRET"}`),
		"other type": strings.Replace(secretPod("", `,"data":{"password":"SECRET"}`), "Pod", "Secret", 1),
		"no version": strings.Replace(secretPod("", `,"data":{"password":"SECRET"}`), `"apiVersion":"v1",`, "", 1),
		"no kind":    strings.Replace(secretPod("", `,"data":{"it's":"SECRET"}`), `"kind":"Pod",`, "", 1),
		"no type":    `{"metadata":{"name":"b"},"data":{"password":"SECRET"}}`,
		"no name":    `{"kind":"Pod","apiVersion":"v1","metadata":{"labels":{"a":"SECRET"}},"spec":{"nodeName":"SECRET"}}`,
		"broken":     `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"SECRET`,
		"no quotes":  `{"kind":"Pod","apiVersion":"v1","metadata":{"name":SECRET}}`,
		"bad escape": `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"SECRET\x"}}`,
		"bad UTF-8":  "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"SECRET\xff\x01\"}}",
		"table":      `{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":["SECRET"]}`,
		"status":     `{"kind":"Status","apiVersion":"v1","metadata":{},"message":{"SECRET":1}}`,
		"text":       `"SECRET"`, "number": "NUMBER", "array": `["SECRET"]`, "HTML": `<html>SECRET</html>`,
		"YAML": "kind: Pod\napiVersion: v1\nmetadata:\n  name: SECRET\n  creationTimestamp: SECRET\n",
	}
	for _, field := range []string{
		"creationTimestamp", "deletionTimestamp", "managedFields", "generation", "deletionGracePeriodSeconds", "labels", "annotations",
		"ownerReferences", "finalizers", "name", "resourceVersion", "uid",
	} {
		for kind, value := range map[string]string{"text": `"SECRET"`, "number": "NUMBER", "object": `{"SECRET":"SECRET"}`, "array": `["SECRET"]`} {
			bodies[field+" of "+kind] = secretPod(`,"`+field+`":`+value, "")
		}
	}
	for _, field := range []string{
		`"managedFields":[{"time":"SECRET"}]`, `"managedFields":[{"fieldsV1":"SECRET"}]`, `"labels":{"a":{"x":"SECRET"}}`, `"labels":{"SECRET":NUMBER}`,
		`"ownerReferences":[{"controller":"SECRET"}]`,
	} {
		bodies["metadata "+field] = secretPod(","+field, "")
	}
	for _, field := range []string{
		`"metadata":"SECRET"`, `"metadata":["SECRET"]`, `"spec":"SECRET"`, `"spec":{"containers":"SECRET"}`, `"spec":{"hostNetwork":"SECRET"}`,
		`"spec":{"containers":[{"ports":[{"containerPort":"SECRET"}]}]}`, `"spec":{"containers":[{"resources":{"limits":{"cpu":"SECRET"}}}]}`,
		`"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":NUMBER}}}]}`, `"status":{"startTime":"SECRET"}`, `"status":{"startTime":NUMBER}`,
	} {
		bodies[field] = secretPod("", ","+field)
	}
	for name, body := range bodies {
		bodies[name] = strings.NewReplacer("SECRET", secret, "NUMBER", digits).Replace(body)
	}
	return bodies
}

// followQuietly reports an error if the logs up to verbosity 4, or the final status, contain a secret.
func followQuietly(t *testing.T, kind wireKind, w *wire, what string) {
	t.Helper()
	var logs bytes.Buffer
	klog.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&logs), textlogger.Verbosity(4))))
	defer klog.ClearLogger()
	followWire(t, kind, w)
	for _, text := range []string{logs.String(), w.status.String(), fmt.Sprint(w.status.LastError, w.status.Problems)} {
		if strings.Contains(text, secret) || strings.Contains(text, digits) {
			t.Errorf("%s: %s: %s", kind.name, what, text)
		}
	}
}

// TestContentsStayOutOfLogs checks that the contents of invalid responses are neither logged nor quoted
// in the status.
func TestContentsStayOutOfLogs(t *testing.T) {
	for name, body := range secretBodies() {
		for _, kind := range wireKinds {
			if strings.HasSuffix(kind.name, "protobuf") {
				continue
			}
			for how, w := range map[string]*wire{
				"watch":             {frames: []byte(`{"type":"ADDED","object":` + body + `}`)},
				"error event":       {frames: []byte(`{"type":"ERROR","object":` + body + `}`)},
				"list without kind": {list: []byte(`{"apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[` + body + `]}`)},
				"list":              {list: []byte(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[` + body + `]}`)},
				"object":            {list: []byte(body)},
			} {
				w.mu.watches = -1 // the frames are for the watch after the list
				followQuietly(t, kind, w, how+" of "+name)
			}
		}
	}
}

// TestTextsStayOutOfLogs checks the same for the text of a response that is not an API server's.
func TestTextsStayOutOfLogs(t *testing.T) {
	for _, code := range []int{400, 403, 404, 406, 418, 429, 500, 503} {
		for _, mime := range []string{"text/plain", "application/json", "broken/"} {
			for _, body := range []string{`<p class="x">` + secret + `</p>`, `{"error":"` + secret + `"}`} {
				for _, kind := range wireKinds {
					what := fmt.Sprintf("%d, %s: %s", code, mime, body)
					list, watch := &wire{code: code, mime: mime, list: []byte(body)}, &wire{code: code, mime: mime, frames: []byte(body)}
					watch.mu.watches = -1
					followQuietly(t, kind, list, "list: "+what)
					followQuietly(t, kind, watch, "watch: "+what)
				}
			}
		}
	}
}
