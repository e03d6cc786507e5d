// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package informers

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/tap/engine/taptest"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/kinformer"
)

// Exact is an informer of a source of pods inside a synctest bubble.
type Exact struct {
	*testing.T
	Source   *testkit.Pods
	Informer Informer
	Stop     func() // stops the informer and waits for its end
}

// Registration has all methods of a registration of this module.
type Registration interface {
	cache.ResourceEventHandlerRegistration
	ShutdownChan() <-chan struct{}
}

// Stats returns the statistics of a handler of this module.
func Stats(registration cache.ResourceEventHandlerRegistration) inspect.Handler {
	stats, err := inspect.HandlerOf(registration)
	if err != nil {
		panic(err)
	}
	return stats
}

// InBubble runs test with an informer that has synced with one pod, a1, and then stops the
// informer.
func InBubble(t *testing.T, test func(e *Exact)) {
	InResyncedBubble(t, 0, test)
}

// InResyncedBubble is InBubble with a period of resyncs.
func InResyncedBubble(t *testing.T, resync time.Duration, test func(e *Exact)) {
	synctest.Test(t, func(t *testing.T) {
		e := &Exact{T: t, Source: testkit.NewPods()}
		e.Source.Put(testkit.Pod("a", "1"))
		e.Informer = cache.NewSharedIndexInformer(e.Source, &v1.Pod{}, resync, nil).(Informer)
		e.Stop = Run(t, e.Informer)
		synctest.Wait()
		test(e)
		e.Stop()
	})
}

// Add adds a handler and waits until it has received the existing objects.
func (e *Exact) Add(handler cache.ResourceEventHandler, delivery kinformer.Delivery) Registration {
	handle := e.AddNow(handler, delivery)
	synctest.Wait()
	return handle
}

// AddNow is Add without waiting. It may be called by a goroutine other than the test's.
func (e *Exact) AddNow(handler cache.ResourceEventHandler, delivery kinformer.Delivery) Registration {
	handle, err := e.Informer.AddEventHandler(kinformer.Deliver(handler, delivery))
	require.NoError(e, err)
	return handle.(Registration)
}

// Change puts n versions of a pod into the source, numbered from 1.
func (e *Exact) Change(name string, n int) {
	for i := range n {
		e.Source.Put(testkit.Pod(name, fmt.Sprint(i+1)))
	}
	synctest.Wait()
}

// Stuck returns a handler whose calls for additions of the named pod block until release is closed.
func Stuck(name string) (handler *testkit.Journal, release chan struct{}) {
	release = make(chan struct{})
	return &testkit.Journal{On: func(line string) {
		if len(line) > 4 && line[:4] == "add " && line[4:4+len(name)] == name {
			<-release
		}
	}}, release
}

// Informer has all methods of an informer of this module.
type Informer interface {
	cache.SharedIndexInformer
	HasStarted() bool
	EventHandlerCount() int
	IsRegistered(handle cache.ResourceEventHandlerRegistration) bool
}

// WirePod returns a pod as sent by a server.
func WirePod(i int, version string) *v1.Pod {
	name := fmt.Sprintf("p%d", i)
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "space", UID: types.UID("uid " + name), ResourceVersion: version, Labels: map[string]string{"app": "right"},
		Annotations:   map[string]string{"kept": "some text that stays", "dropped": "some text that does not"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "some manager"}},
	}}
}

// ClientOver returns a ListerWatcher of pods that uses wire as its transport, and decodes directly
// if wrap is true.
func ClientOver(t *testing.T, wire http.RoundTripper, media string, wrap bool) *clientgo.ListWatch {
	return direct.NewListWatch(clientset(t, wire, media, wrap).CoreV1().RESTClient(), &v1.Pod{}, "pods", "", nil)
}

func clientset(t testing.TB, wire http.RoundTripper, media string, wrap bool) *kubernetes.Clientset {
	c := &rest.Config{Host: "http://127.0.0.1:1", Transport: wire, QPS: -1}
	c.ContentType = media
	if wrap {
		c.Wrap(direct.Transport)
	}
	set, err := kubernetes.NewForConfig(c)
	require.NoError(t, err)
	return set
}

// EqualPods is the number of pods that EqualPodsOver lists.
const EqualPods = 1000

// EqualPod returns one of many pods that differ only by name and version.
func EqualPod(i int, version string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("p%04d", i), Namespace: "space", ResourceVersion: version,
			Labels: map[string]string{"app": "equal", "remove": "this", "tier": "one of several"},
		},
		Spec: v1.PodSpec{
			Containers: []v1.Container{{
				Name: "main", Image: "registry/image", Command: []string{"some", "command", "with", "texts"},
				Resources: v1.ResourceRequirements{Limits: v1.ResourceList{"cpu": resource.MustParse("100m")}},
			}},
			Tolerations: []v1.Toleration{{Key: "some key", Operator: v1.TolerationOpExists}},
			Volumes:     []v1.Volume{{Name: "plain", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/some/path"}}}},
		},
	}
}

// EqualPodsOver returns a client of a server with a list of equal pods, and with events in its
// watch.
func EqualPodsOver(t testing.TB, media string, events func() [][]byte) *kubernetes.Clientset {
	list := v1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "5000"}}
	for i := range EqualPods {
		list.Items = append(list.Items, *EqualPod(i, fmt.Sprint(1000+i)))
	}
	body := taptest.Encoded(&list, media)
	wire := &taptest.Wire{Media: media, Answer: func(r *http.Request) ([][]byte, bool) {
		if r.URL.Query().Get("watch") != "" {
			return events(), true
		}
		return [][]byte{body}, false
	}}
	return clientset(t, wire, media, true)
}
