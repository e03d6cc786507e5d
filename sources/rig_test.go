// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package sources_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/sources"
)

// rig is a server of pods, and an informer with sources of it.
type rig struct {
	*testing.T
	server   *cachetest.Source
	informer cache.SharedIndexInformer
	set      *sources.Set
	handler  *mirror
	handle   cache.ResourceEventHandlerRegistration
	stop     context.CancelFunc
	stopped  chan struct{} // nil before run
	writes   int64
}

// inBubble runs a test with an informer that is not running yet, and stops it at the end.
func inBubble(t *testing.T, options kinformer.Options, test func(r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options)
		test(r)
		r.end()
	})
}

func newRig(t *testing.T, options kinformer.Options) *rig {
	r := &rig{T: t, handler: &mirror{}, stop: func() {}}
	r.server = cachetest.New(cachetest.Options{
		Example: &corev1.Pod{}, NewList: func() runtime.Object { return &corev1.PodList{} },
	})
	r.informer, r.set = sources.New(&corev1.Pod{}, options)
	var err error
	r.handle, err = r.informer.AddEventHandler(r.handler)
	require.NoError(t, err)
	return r
}

// run starts the informer and waits until it is idle.
func (r *rig) run() {
	r.start()
	synctest.Wait()
}

// start starts the informer.
func (r *rig) start() {
	ctx, cancel := context.WithCancel(r.Context())
	r.stop, r.stopped = cancel, make(chan struct{})
	go func() { r.informer.RunWithContext(ctx); close(r.stopped) }()
}

func (r *rig) end() {
	if r.stop(); r.stopped != nil {
		<-r.stopped
	}
	r.handler.versions(r)
}

// write creates a pod or replaces it.
func (r *rig) write(namespace, name, app string) string {
	r.writes++
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, Labels: map[string]string{"app": app}, Generation: r.writes,
	}}
	return r.server.Put(pod).(*corev1.Pod).ResourceVersion
}

// stored returns the keys in the store in their order.
func (r *rig) stored() []string {
	keys := r.informer.GetIndexer().ListKeys()
	slices.Sort(keys)
	return keys
}

// request selects the objects of a source; the zero value selects all.
type request struct{ namespace, app string }

func (q request) selects(pod *corev1.Pod) bool {
	return (q.namespace == "" || q.namespace == pod.Namespace) && (q.app == "" || q.app == pod.Labels["app"])
}

// lister is a request as a ListerWatcher. Its watches are as slow as its gate.
type lister struct {
	cache.ListerWatcher // nil: the methods without a context are not called
	request
	server *cachetest.Source
	gate   *gate       // nil: none
	err    error       // returned by all requests, unless nil
	unseen error       // returned by all watches, unless nil
	denied atomic.Bool // whether all requests are forbidden, while the informer runs
	listed func()      // called after a list, unless nil

	streams bool // watch-lists are served
	shards  bool // the server supports the shardSelector
}

func (r *rig) asks(namespace, app string) *lister {
	return &lister{request: request{namespace, app}, server: r.server, gate: &gate{}}
}

// follow puts sources of namespaces, under their names.
func (r *rig) follow(namespaces ...string) {
	for _, namespace := range namespaces {
		r.set.Put(namespace, r.asks(namespace, ""))
	}
}

// forbid puts a source of a namespace that may not be listed, under its name.
func (r *rig) forbid(namespace string) {
	forbidden := r.asks(namespace, "")
	forbidden.err = testkit.ErrForbidden
	r.set.Put(namespace, forbidden)
}

// forbid sets whether the server forbids all requests.
func (l *lister) forbid(all bool) { l.denied.Store(all) }

func (l *lister) narrow(o metav1.ListOptions) metav1.ListOptions {
	if l.namespace != "" {
		o.FieldSelector = "metadata.namespace=" + l.namespace
	}
	if l.app != "" {
		o.LabelSelector = labels.Set{"app": l.app}.String()
	}
	return o
}

func (l *lister) IsWatchListSemanticsUnSupported() bool { return !l.streams }

// selector returns the selector of a server that supports shards.
func (l *lister) selector(o metav1.ListOptions) sharding.Selector {
	if !l.shards {
		return sharding.Everything()
	}
	if o.ShardSelector == "" {
		panic("a request for a shard does not say so")
	}
	var all []sharding.ShardRangeRequirement
	for _, text := range strings.Split(o.ShardSelector, " || ") {
		of := sharding.ShardRangeRequirement{}
		text = strings.NewReplacer(",", "", "'", "").Replace(strings.Trim(text, ")"))
		if _, err := fmt.Sscanf(text, "shardRange(%s %s %s", &of.Key, &of.Start, &of.End); err != nil {
			panic(err)
		}
		all = append(all, of)
	}
	return sharding.NewSelector(all...)
}

// divide removes the objects from a list that the selector does not select, as a server that supports
// shards does.
func divide(list runtime.Object, by sharding.Selector) {
	if by.Empty() {
		return
	}
	pods := list.(*corev1.PodList)
	pods.ShardInfo = &metav1.ShardInfo{Selector: by.String()}
	pods.Items = slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool {
		matches, err := by.Matches(&pod)
		return err == nil && !matches
	})
}

func (l *lister) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	if l.denied.Load() {
		return nil, testkit.ErrForbidden
	}
	if l.err != nil {
		return nil, l.err
	}
	list, err := l.server.ListWithContext(ctx, l.narrow(o))
	if err == nil {
		divide(list, l.selector(o))
	}
	if l.listed != nil {
		l.listed()
	}
	return list, err
}

func (l *lister) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	if l.denied.Load() {
		return nil, testkit.ErrForbidden
	}
	if l.unseen != nil {
		return nil, l.unseen
	}
	w, err := l.server.WatchWithContext(ctx, l.narrow(o))
	if err != nil || l.gate == nil {
		return w, err
	}
	g := &gatedWatch{Interface: w, gate: l.gate, by: l.selector(o), events: make(chan watch.Event), stop: make(chan struct{}), ended: make(chan struct{})}
	go g.pass()
	return g, nil
}

// panicking is a ListerWatcher whose methods panic.
type panicking struct{ cache.ListerWatcher }

// gate blocks watches while it is shut, and drops their events if it loses them.
type gate struct {
	loses atomic.Bool
	mu    sync.Mutex
	shut  chan struct{} // closed when the gate opens; nil: it is open
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut == nil {
		g.shut = make(chan struct{})
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut != nil {
		close(g.shut)
		g.shut = nil
	}
}

func (g *gate) passable() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut != nil {
		return g.shut
	}
	open := make(chan struct{})
	close(open)
	return open
}

// gatedWatch is a watch whose events wait at a gate.
type gatedWatch struct {
	watch.Interface
	gate        *gate
	by          sharding.Selector
	events      chan watch.Event
	once        sync.Once
	stop, ended chan struct{}
}

func (w *gatedWatch) pass() {
	defer close(w.ended)
	defer close(w.events)
	for event := range w.Interface.ResultChan() {
		select {
		case <-w.gate.passable():
		case <-w.stop:
			return
		}
		matches, err := w.by.Matches(event.Object)
		if w.gate.loses.Load() || event.Type != watch.Bookmark && err == nil && !matches {
			continue
		}
		select {
		case w.events <- event:
		case <-w.stop:
			return
		}
	}
}

func (w *gatedWatch) ResultChan() <-chan watch.Event { return w.events }

func (w *gatedWatch) Stop() {
	w.once.Do(func() { close(w.stop) })
	w.Interface.Stop()
	<-w.ended
}

// mirror is a handler that records its calls.
type mirror struct {
	cachetest.Recorder
	taken int // number of calls that take has returned
}

// take waits until all goroutines are idle, and returns the calls since the last take, sorted and without
// versions. An update that leaves the version as it is counts as a resync.
func (m *mirror) take() []string {
	synctest.Wait()
	calls := m.Events()[m.taken:]
	m.taken += len(calls)
	for i, call := range calls {
		words := strings.Split(call, " ")
		switch {
		case words[0] != "update":
			words = slices.Delete(words, 2, 3)
		case words[2] == words[4]:
			words = []string{"resync", words[1]}
		default:
			words = words[:2]
		}
		calls[i] = strings.Join(words, " ")
	}
	slices.Sort(calls)
	return calls
}

// versions returns the versions that the handler has received. It checks that each call follows from
// those before it.
func (m *mirror) versions(t require.TestingT) map[string]string {
	known := map[string]string{}
	for _, call := range m.Events() {
		words := strings.Split(call, " ")
		key := words[1]
		version, has := known[key]
		require.Equal(t, words[0] != "add", has, call)
		switch words[0] {
		case "add":
			known[key] = words[2]
		case "update":
			require.Equal(t, version, words[2], call)
			known[key] = words[4]
		default:
			delete(known, key)
		}
	}
	return known
}

// settle waits until backoffs are over.
func settle() {
	time.Sleep(2 * time.Minute)
	synctest.Wait()
}
