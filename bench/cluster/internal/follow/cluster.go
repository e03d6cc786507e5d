// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/bench/cluster/internal/blank"
	"github.com/kinformer/cache/bench/cluster/internal/world"
	"github.com/kinformer/cache/direct"
)

// Config says who follows what.
type Config struct {
	Side      string `json:"side"`
	URL       string `json:"url"`
	CA        []byte `json:"ca"`
	MediaType string `json:"mediaType"`
	// Lists takes whole states by lists, instead of watch-lists.
	Lists bool `json:"lists"`
}

// informer is one with its handlers.
type informer struct {
	clientgo.SharedIndexInformer
	of            world.Resource
	registrations []clientgo.ResourceEventHandlerRegistration // of all handlers but the slow one
	slow          []clientgo.ResourceEventHandlerRegistration // of that
	handlers      []*handler
}

// manager is all informers of the process.
type manager struct {
	side      side
	informers [world.Resources]*informer
	phases    phases
	running   sync.WaitGroup
	cancel    context.CancelFunc
}

// groups are the handlers of each resource; the one that joins late comes later.
var groups = [world.Resources][]group{
	world.Leases: {prompt, prompt}, world.Pods: {prompt, prompt}, world.Slices: {prompt, slow}, world.Events: {prompt},
	world.ReplicaSets: {prompt, prompt}, world.Nodes: {prompt, prompt},
}

// newManager makes the informers, which do not run yet.
func newManager(c Config) (*manager, error) {
	s, err := sideNamed(c.Side)
	if err != nil {
		return nil, err
	}
	m := &manager{side: s}
	m.phases.begin("start", 0)
	for _, of := range world.All() {
		lw, err := c.listWatch(of, s.direct)
		if err != nil {
			return nil, fmt.Errorf("client of %s: %w", of, err)
		}
		i := &informer{SharedIndexInformer: s.newInformer(lw, blank.Of(of).New(), 0, indexersOf(of)), of: of}
		m.informers[of] = i
		for _, g := range groups[of] {
			if err := i.add(newHandler(of, g, &m.phases)); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

func (i *informer) add(h *handler) error {
	registration, err := i.AddEventHandler(h)
	if err != nil {
		return fmt.Errorf("add handler of %s: %w", i.of, err)
	}
	i.handlers = append(i.handlers, h)
	if h.group == slow {
		i.slow = append(i.slow, registration)
	} else {
		i.registrations = append(i.registrations, registration)
	}
	return nil
}

// listWatch is what users of a client have, made to list where lists are asked for.
type listWatch struct {
	*clientgo.ListWatch
	lists bool
}

// IsWatchListSemanticsUnSupported tells reflectors whether to list instead of streaming.
func (lw listWatch) IsWatchListSemanticsUnSupported() bool { return lw.lists }

func (c Config) listWatch(of world.Resource, decodes bool) (clientgo.ListerWatcher, error) {
	known := blank.Of(of)
	config := &rest.Config{
		Host: c.URL, QPS: -1, APIPath: known.APIPath(), TLSClientConfig: rest.TLSClientConfig{CAData: c.CA},
		ContentConfig: rest.ContentConfig{
			ContentType: c.MediaType, AcceptContentTypes: c.MediaType,
			GroupVersion: &known.GroupVersion, NegotiatedSerializer: blank.Codecs().WithoutConversion(),
		},
	}
	if decodes {
		config.Wrap(direct.Transport)
	}
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, err
	}
	lw := clientgo.NewListWatchFromClient(client, known.Name, metav1.NamespaceAll, fields.Everything())
	return listWatch{lw, c.Lists}, nil
}

// indexersOf are three for pods, and for others by namespace.
func indexersOf(of world.Resource) clientgo.Indexers {
	indexers := clientgo.Indexers{clientgo.NamespaceIndex: clientgo.MetaNamespaceIndexFunc}
	if of == world.Pods {
		indexers["node"] = func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Spec.NodeName}, nil }
		indexers["owner"] = func(obj any) ([]string, error) {
			if owner := metav1.GetControllerOfNoCopy(obj.(*corev1.Pod)); owner != nil {
				return []string{string(owner.UID)}, nil
			}
			return nil, nil
		}
	}
	return indexers
}

// start runs the informers.
func (m *manager) start(ctx context.Context) {
	ctx, m.cancel = context.WithCancel(ctx)
	for _, i := range m.informers {
		m.running.Go(func() { i.RunWithContext(ctx) })
	}
}

// stop ends them.
func (m *manager) stop() {
	m.cancel()
	m.running.Wait()
}

var errNotSynced = errors.New("not all informers have synced")

// sync waits until all handlers but the slow one have heard the first lists.
func (m *manager) sync(ctx context.Context) error {
	return m.await(ctx, func(i *informer) []clientgo.ResourceEventHandlerRegistration { return i.registrations })
}

// syncSlow waits until that one has, too. A slow client leaves it more time for that.
func (m *manager) syncSlow(ctx context.Context) error {
	return m.await(ctx, func(i *informer) []clientgo.ResourceEventHandlerRegistration { return i.slow })
}

func (m *manager) await(ctx context.Context, those func(*informer) []clientgo.ResourceEventHandlerRegistration) error {
	for _, i := range m.informers {
		for _, r := range those(i) {
			if !clientgo.WaitForCacheSync(ctx.Done(), r.HasSynced) {
				return fmt.Errorf("%w: %s: %w", errNotSynced, i.of, context.Cause(ctx))
			}
		}
	}
	return nil
}

// join adds a handler of pods to the running informer, and waits until it knows all.
func (m *manager) join(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	if err := m.informers[world.Pods].add(newHandler(world.Pods, late, &m.phases)); err != nil {
		return 0, err
	}
	err := m.sync(ctx)
	return time.Since(start), err
}

// Expected is what a resource is to be like, while nothing changes.
type Expected struct {
	State world.State `json:"state"`
	// Changes is how many each handler but the late one must have been told of, if Exact.
	Changes uint64 `json:"changes"`
	Exact   bool   `json:"exact"`
}

// differs returns an error for each store, and each handler, that is not as expected.
func (m *manager) differs(expected [world.Resources]Expected) (all []error) {
	for _, i := range m.informers {
		want := expected[i.of]
		stored, err := i.stored()
		if err != nil || stored != want.State {
			all = append(all, errors.Join(err, fmt.Errorf("the store of %s has %+v, the server %+v", i.of, stored, want.State)))
		}
		for number, h := range i.handlers {
			told, changes := h.state()
			if told != want.State || want.Exact && h.group != late && changes != want.Changes {
				all = append(all, fmt.Errorf("handler %d of %s was told of %+v by %d changes, and the server has %+v by %d (exact: %v)",
					number+1, i.of, told, changes, want.State, want.Changes, want.Exact))
			}
		}
	}
	return all
}

func (i *informer) stored() (state world.State, err error) {
	for _, obj := range i.GetStore().List() {
		o, err := look(obj)
		if err != nil {
			return state, err
		}
		state.AddHash(o.uid, o.version)
	}
	return state, nil
}

// decodes returns an error if an informer decodes otherwise than it should.
func (m *manager) decodes() error {
	for _, i := range m.informers {
		if err := m.side.decodes(i.SharedIndexInformer); err != nil {
			return fmt.Errorf("%s: %w", i.of, err)
		}
	}
	return nil
}

var errAudit = errors.New("an audit finds what differs")

// audit compares all that the informers have with the server's state at a version, while that
// changes. There are no audits of client-go's.
func (m *manager) audit(ctx context.Context) (audits int, err error) {
	for _, i := range m.informers {
		if !m.side.ours() {
			continue
		}
		report, err := audit.Once(ctx, i, audit.Options{Depth: audit.Content})
		if err == nil && !report.Equal() {
			err = fmt.Errorf("%w: %v", errAudit, report)
		}
		if err != nil {
			return audits, fmt.Errorf("%s: %w", i.of, err)
		}
		audits++
	}
	return audits, nil
}
