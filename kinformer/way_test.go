// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer_test

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/tap/engine/taptest"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
)

// piped is a transport with one body, which a test writes.
type piped struct {
	media string
	body  io.Reader
}

func (p piped) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {p.media}}, Request: r, Body: io.NopCloser(p.body),
	}, nil
}

// TestUpdates sends KINFORMER_UPDATES updates of a pod to an informer with one handler and one index, each after
// the handler has returned from the one before. TestWayOfAnUpdate, in tools/walls, compares the functions that two
// numbers of updates execute, for each KINFORMER_WAY: the decoder, the client's or ours, and the encoding.
func TestUpdates(t *testing.T) {
	updates, _ := strconv.Atoi(os.Getenv("KINFORMER_UPDATES"))
	way := cmp.Or(os.Getenv("KINFORMER_WAY"), "direct protobuf")
	media := map[bool]string{true: runtime.ContentTypeProtobuf, false: runtime.ContentTypeJSON}[strings.HasSuffix(way, "protobuf")]
	synctest.Test(t, func(t *testing.T) {
		read, write := io.Pipe()
		send := func(kind watch.EventType, obj runtime.Object) {
			_, err := write.Write(taptest.Frame(kind, obj, media))
			require.NoError(t, err)
			synctest.Wait()
		}
		client := informers.ClientOver(t, piped{media, read}, media, strings.HasPrefix(way, "direct"))
		informer := kinformer.New(client, &v1.Pod{}, kinformer.Options{Decoding: kinformer.Decoding{ShareParts: true}})
		require.NoError(t, informer.AddIndexers(cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}))
		door.Of(informer).Configure(func(c *door.Config) { c.Requests.Decoding.Start = 45 }) // both decode the 35th object, and the 51st
		var heard []string
		var before, last *v1.Pod
		informers.Handle(t, informer, cache.ResourceEventHandlerFuncs{UpdateFunc: func(old, obj any) {
			before, last = old.(*v1.Pod), obj.(*v1.Pod)
			heard = append(heard, last.ResourceVersion)
		}})
		defer informers.Run(t, informer)()
		defer write.Close()

		pod := func(i, version int) *v1.Pod {
			p := informers.EqualPod(i, strconv.Itoa(version))
			p.UID = types.UID("uid of " + p.Name)
			p.Annotations = map[string]string{"long": strings.Repeat("text ", 200)} // so that it gets a row
			p.Spec.Containers[0].Command = []string{strings.Repeat("x", 300)}
			p.Status.Message = p.ResourceVersion
			return p
		}
		for i := range 20 {
			send(watch.Added, pod(i, 100+i))
		}
		send(watch.Bookmark, testkit.EndMark("200").Object)
		var sent []string
		for i := range 6 + updates {
			sent = append(sent, fmt.Sprint(300+i))
			send(watch.Modified, pod(15, 300+i))
		}
		assert.Equal(t, sent, heard)
		if way == "direct protobuf" {
			assert.Same(t, &before.Spec.Containers[0], &last.Spec.Containers[0], "unchanged parts are copied")
		}
		decoding := informers.Status(t, informer).Decoding
		assert.Equal(t, strings.HasPrefix(way, "direct"), decoding.On, decoding.Why)
	})
}
