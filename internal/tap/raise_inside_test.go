// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// TestHasProtobuf: it is known of the types of Kubernetes' API only, although others can be read.
func TestHasProtobuf(t *testing.T) {
	assert.True(t, hasProtobuf(reflect.TypeFor[*corev1.Pod]()))
	for _, other := range []any{nil, corev1.Pod{}, &metav1.PartialObjectMetadata{}, &unstructured.Unstructured{}, &struct{ *corev1.Pod }{}} {
		assert.False(t, hasProtobuf(reflect.TypeOf(other)), "%T", other)
	}
}

// answered is a response in protobuf.
func answered(body io.Reader) (*http.Response, *closes) {
	closing := &closes{}
	return &http.Response{
		Header: http.Header{"Content-Type": {runtime.ContentTypeProtobuf}, "Content-Length": {"7"}, "Retry-After": {"3"}},
		Body:   readCloser{body, closing}, ContentLength: 7,
	}, closing
}

func inProtobuf(t *testing.T, obj runtime.Object) []byte {
	t.Helper()
	var b bytes.Buffer
	if of := obj.GetObjectKind(); of.GroupVersionKind().Empty() {
		kinds, _, err := scheme.Scheme.ObjectKinds(obj)
		require.NoError(t, err)
		of.SetGroupVersionKind(kinds[0])
	}
	require.NoError(t, protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(obj, &b))
	return b.Bytes()
}

func forbidden(message string) *metav1.Status {
	return &metav1.Status{Status: metav1.StatusFailure, Code: 403, Reason: metav1.StatusReasonForbidden, Message: message}
}

// TestErrorInJSON: an error is the same in JSON, with a header of its own, and is closed like the
// one that came.
func TestErrorInJSON(t *testing.T) {
	resp, closing := answered(bytes.NewReader(inProtobuf(t, forbidden("no"))))
	before := resp.Header
	inJSON(resp)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	var got metav1.Status
	require.NoError(t, json.Unmarshal(text, &got))
	wanted := forbidden("no")
	wanted.Kind, wanted.APIVersion = "Status", "v1"
	assert.Equal(t, wanted, &got)
	assert.EqualValues(t, len(text), resp.ContentLength)
	assert.Equal(t, http.Header{"Content-Type": {runtime.ContentTypeJSON}, "Retry-After": {"3"}}, resp.Header)
	assert.Equal(t, []string{runtime.ContentTypeProtobuf}, before["Content-Type"], "who has the header still has it")
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, 1, closing.n)
}

// once fails, and then ends as if it had not.
type once struct{ err error }

func (o *once) Read([]byte) (n int, err error) {
	err, o.err = o.err, io.EOF
	return 0, err
}

// TestErrorsThatAreNone: what cannot be read, or is no error of the API, stays as it is, byte by
// byte, be it long or broken.
func TestErrorsThatAreNone(t *testing.T) {
	broken := errors.New("broken")
	long := inProtobuf(t, forbidden(strings.Repeat("x", maxStatus)))
	pod := inProtobuf(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}})
	other := forbidden("no")
	other.Kind, other.APIVersion = "Failure", "v1"
	failure, half := inProtobuf(t, other), long[:100]
	for name, body := range map[string]struct {
		reader io.Reader
		data   []byte
		err    error
	}{
		"no protobuf": {strings.NewReader("no"), []byte("no"), nil},
		"nothing":     {strings.NewReader(""), nil, nil},
		"a pod":       {bytes.NewReader(pod), pod, nil},
		"a failure":   {bytes.NewReader(failure), failure, nil},
		"long":        {bytes.NewReader(long), long, nil},
		"broken":      {io.MultiReader(bytes.NewReader(half), &once{broken}), half, broken},
		"all broken":  {iotest.ErrReader(broken), nil, broken},
	} {
		resp, closing := answered(body.reader)
		inJSON(resp)
		got, err := io.ReadAll(resp.Body)
		assert.Equal(t, body.err, err, name)
		assert.True(t, bytes.Equal(body.data, got), name)
		assert.EqualValues(t, 7, resp.ContentLength, name)
		assert.Equal(t, runtime.ContentTypeProtobuf, resp.Header.Get("Content-Type"), name)
		require.NoError(t, resp.Body.Close())
		assert.Equal(t, 1, closing.n, name)
	}
}

// TestDiscard: a watch that nobody wants is stopped, and its body closed, whether there is one.
func TestDiscard(t *testing.T) {
	w, real := watch.NewFake(), &closes{}
	taken{held: newHeld(real)}.discard(w)
	assert.True(t, w.IsStopped())
	assert.Equal(t, 1, real.n)
	taken{}.discard(nil)
	taken{}.discard((*watch.FakeWatcher)(nil))
}
