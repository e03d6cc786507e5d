// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"fmt"
	"net/http"
	"reflect"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/internal/tap/taptest"
	"github.com/kinformer/cache/internal/testkit"
)

// manyAlike are so few that hardly any of the parts that they share is checked by chance.
const manyAlike = 30

// alike is a client of pods that are decoded directly and have the same labels, but for the first
// one, which goes both ways.
func alike(t *testing.T, media string) cache.ListerWatcher {
	list, events := testkit.PodList("5000"), [][]byte(nil)
	for i := range manyAlike {
		pod := testkit.PodAt(fmt.Sprintf("p%02d", i), fmt.Sprint(1000+i))
		pod.Labels = map[string]string{"app": "that of all others"}
		if i == 0 {
			pod.Labels["app"] = "that of this one"
		}
		list.Items = append(list.Items, *pod)
		events = append(events, taptest.Frame(watch.Added, pod, media))
	}
	end := testkit.PodAt("", "5000")
	end.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	events = append(events, taptest.Frame(watch.Bookmark, end, media))
	body := [][]byte{taptest.Encoded(list, media)}
	wire := &taptest.Wire{Media: media, Answer: func(r *http.Request) ([][]byte, bool) {
		switch query := r.URL.Query(); {
		case query.Get("sendInitialEvents") != "":
			return events, true
		case query.Get("watch") != "":
			return nil, true
		}
		return body, false
	}}
	config := &rest.Config{Host: "http://127.0.0.1:1", Transport: wire, QPS: -1}
	config.ContentType = media
	config.Wrap(direct.Transport)
	set, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return direct.NewListWatch(set.CoreV1().RESTClient(), &corev1.Pod{}, "pods", "", nil)
}

// sharedLabels returns labels that two objects share. An object that goes both ways may have its
// own, and which do is left to chance.
func sharedLabels(t *testing.T, store cache.Store) map[string]string {
	seen := map[uintptr]bool{}
	for _, obj := range store.List() {
		labels := obj.(*corev1.Pod).Labels
		at := reflect.ValueOf(labels).Pointer()
		if seen[at] {
			return labels
		}
		seen[at] = true
	}
	require.Fail(t, "no object shares its labels")
	return nil
}

// TestWrittenParts: who writes to a part that objects share writes to all of them. An audit finds
// that, although what it lists is written alike, and after a relist all of them are right.
func TestWrittenParts(t *testing.T) {
	for _, media := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		for _, mode := range []cache.ListMode{cache.ListModeList, cache.ListModeWatchList} {
			t.Run(fmt.Sprint(media, mode), func(t *testing.T) {
				reports := testkit.Reports(t)
				synctest.Test(t, func(t *testing.T) {
					r := follow(t, nil, alike(t, media), nil,
						cache.WithListMode(mode), cache.WithDecoding(cache.Decoding{Share: cache.ShareEqual}))
					require.Empty(t, r.once(t, audit.Options{Depth: audit.Content}).Found)
					sharedLabels(t, r.GetStore())["app"] = "written"
					report := r.once(t, audit.Options{Depth: audit.Content, Repair: audit.Relist})
					assert.Greater(t, report.Confirmed[audit.Different], manyAlike/2)
					assert.True(t, report.Relisted)
					r.calm()
					assert.Empty(t, r.once(t, audit.Options{Depth: audit.Content}).Found)
					status, err := cache.StatusOf(r)
					require.NoError(t, err)
					assert.EqualValues(t, 1, status.Decoding.Mutations)
					assert.Len(t, reports(), 1)
				})
			})
		}
	}
}
