// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/internal/decode"
	"github.com/kinformer/cache/internal/event"
)

// A request is raised if the tap asks for protobuf where the client has not chosen an encoding.
// What comes is the client's to decode as before, as client-go's does by the content type of the
// answer. A client that cannot is asked for once more, in JSON, and is known from then on.

const (
	// unchosen is what a client of client-go's accepts if nothing was said about that.
	unchosen = runtime.ContentTypeJSON + ", */*"
	// preferred is what it accepts if it prefers protobuf.
	preferred = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	// maxStatus bounds the answer to a request that has failed.
	maxStatus = 1 << 20
)

// hasProtobuf reports whether servers send objects of a type in protobuf: those of Kubernetes' API.
func hasProtobuf(t reflect.Type) bool {
	return t != nil && t.Kind() == reflect.Pointer && strings.HasPrefix(t.Elem().PkgPath(), "k8s.io/api/") &&
		t.Implements(reflect.TypeFor[interface{ Unmarshal([]byte) error }]())
}

// raises reports whether requests are to be raised.
func (t *trust) raises() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.options.PreferProtobuf && !t.mu.lowered && hasProtobuf(t.example)
}

// lower notes that the client does not take protobuf.
func (t *trust) lower() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.lowered = true
}

// Sent returns the request for the transports below: without its tap, and raised if it is to be.
func (t *Tap) Sent(req *http.Request) *http.Request {
	t.sends()
	sent := Hidden(req)
	if t.raised(req) && !t.isOver() {
		sent.Header = req.Header.Clone()
		sent.Header.Set("Accept", preferred)
	}
	return sent
}

// raised reports whether a request of the client's is one that is raised.
func (t *Tap) raised(req *http.Request) bool {
	accept := req.Header.Values("Accept")
	return t.raises && len(accept) == 1 && accept[0] == unchosen && t.asksFor(req)
}

// untaken reports whether an answer to a raised list has come to its end, and the client has an
// error all the same.
func (t taken) untaken(err error) bool {
	return t.raised && err != nil && (t.list == nil || t.list.phase() == read && t.list.done)
}

// discard closes a watch that the client has not taken as protobuf, of which nobody has read
// anything.
func (t taken) discard(w watch.Interface) {
	if !event.IsNil(w) {
		w.Stop()
	}
	if t.held != nil {
		_ = t.held.Close()
	}
}

// inJSON makes an error in protobuf one in JSON, which the client has asked for. What cannot be
// read stays as it is.
func inJSON(resp *http.Response) {
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxStatus))
	rest := io.Reader(resp.Body)
	if err != nil {
		rest = failing{err}
	}
	whole := resp.Body
	resp.Body = readCloser{io.MultiReader(bytes.NewReader(data), rest), whole}
	envelope, err := decode.OpenEnvelope(data)
	status := metav1.Status{TypeMeta: metav1.TypeMeta{Kind: string(envelope.Kind), APIVersion: string(envelope.APIVersion)}}
	if err != nil || status.Kind != "Status" || status.Unmarshal(envelope.Object) != nil {
		return
	}
	text, err := json.Marshal(&status)
	if err != nil {
		return
	}
	resp.Body = readCloser{bytes.NewReader(text), whole}
	resp.ContentLength = int64(len(text))
	resp.Header = resp.Header.Clone()
	resp.Header.Set("Content-Type", runtime.ContentTypeJSON)
	resp.Header.Del("Content-Length")
}

type readCloser struct {
	io.Reader
	io.Closer
}
