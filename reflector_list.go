// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/pager"
	"k8s.io/klog/v2"
)

// list is the phase listing: fetch the whole collection, publish it, go on to watching.
func (m *machine) list(ctx context.Context) reflectorPhase {
	done, err := m.takeTurn(ctx)
	if err != nil {
		return m.interrupted(ctx, err)
	}
	defer done()
	started := m.r.clock.Now()
	list, err := m.fetch(ctx)
	if errors.Is(err, errStopped) {
		return stopped
	}
	if err == nil {
		err = m.r.publish(ctx, list)
	}
	m.r.logSlow(ctx, "LIST", started)
	if err != nil {
		m.r.report.failed(err)
		return m.endRound(ctx, err)
	}
	return m.beginWatching(ctx)
}

// fetch gets the collection at the version that position asks for, and, if the server refuses that version, at its
// newest without delay. The rules for pages are those of the first request in both cases.
func (m *machine) fetch(ctx context.Context) (runtime.Object, error) {
	r := m.r
	asked := r.position.forList()
	pages := r.pager(asked)
	got, err := m.fetchAt(ctx, pages, asked)
	if isRefused(err) {
		r.refuse(true)
		got, err = m.fetchAt(ctx, pages, r.position.forList())
	}
	if err == nil {
		err = rejectTables(got.list, r.typeDescription)
	}
	if err != nil {
		return nil, fmt.Errorf("failed to list %v: %w", r.typeDescription, err)
	}
	if asked == "0" && got.paged {
		r.paging = true
	}
	r.refuse(false)
	return got.list, nil
}

// fetched is a list and whether it came in more than one page.
type fetched struct {
	list  runtime.Object
	paged bool
}

func (m *machine) fetchAt(ctx context.Context, pages *pager.ListPager, version string) (fetched, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return request(ctx, m, func(ctx context.Context) (fetched, error) {
		list, paged, err := pages.ListWithAlloc(ctx, metav1.ListOptions{ResourceVersion: version})
		return fetched{list, paged}, err
	}, func(fetched) {})
}

// pager makes the pager for a list that begins at version. A forced page size goes first. Otherwise lists at "" and "0"
// may come in pages, because the first is read from etcd anyway and the second ignores the limit if the server has a
// watch cache; a list at a given version asks for one page, since a limit would take it from the watch cache to etcd,
// unless paging has shown that there is none.
func (r *reflector) pager(version string) *pager.ListPager {
	p := pager.New(r.listPage)
	switch {
	case r.pageSize != 0:
		p.PageSize = r.pageSize
	case r.paging:
	case version != "" && version != "0":
		p.PageSize = 0
	}
	return p
}

func (r *reflector) listPage(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	r.report.lists.Add(1)
	page, err := r.lists.ListWithContext(ctx, options)
	if err == nil && isNil(page) {
		return nil, errNoList
	}
	return page, discreet(err)
}

// rejectTables refuses a table instead of a list, which a badly set up client may get.
func rejectTables(list runtime.Object, typeDescription string) error {
	if gvk, bad := unusableKind(list); bad {
		return fmt.Errorf("unsupported list of kind %v, type: %v", gvk, typeDescription)
	}
	return nil
}

// publish makes the list the content of the store, and its version the position. The store gets a slice of its own.
func (r *reflector) publish(ctx context.Context, list runtime.Object) error {
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return fmt.Errorf("unable to understand a list result of type %T: %w", list, err)
	}
	items := make([]any, 0, meta.LenList(list))
	err = meta.EachListItemWithAlloc(list, func(item runtime.Object) error {
		if isNil(item) {
			utilruntime.HandleErrorWithContext(ctx, nil, "List item without an object dropped", "reflector", r.name, "type", r.typeDescription)
			return nil
		}
		items = append(items, item)
		return nil
	})
	if err != nil {
		return fmt.Errorf("unable to understand the items of a list result of type %T: %w", list, err)
	}
	version := accessor.GetResourceVersion()
	if err := r.store.Replace(items, version); err != nil {
		return fmt.Errorf("unable to sync list result: %w", err)
	}
	r.position.advance(version)
	return nil
}

// logSlow notes in the log that getting the whole state took long.
func (r *reflector) logSlow(ctx context.Context, how string, started time.Time) {
	if took := r.clock.Since(started); took >= slowList {
		klog.FromContext(ctx).Info("Getting the whole state took long", "reflector", r.name, "type", r.typeDescription, "how", how, "duration", took)
	}
}
