// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/stretchr/testify/assert"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/debug"
)

// breakable is a handler whose answers get lost while it is broken.
type breakable struct {
	http.Handler
	broken atomic.Bool
}

func (b *breakable) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if b.broken.Load() {
		panic(http.ErrAbortHandler)
	}
	b.Handler.ServeHTTP(w, req)
}

// refreshes waits until the page has been refreshed so many times more.
func (tt *tab) refreshes(n int) {
	tt.t.Helper()
	want := len(tt.asked(network.ResourceTypeXHR)) + n + 1 // the last one may not be shown yet
	tt.untilTrue("refreshes", func() bool { return len(tt.asked(network.ResourceTypeXHR)) >= want })
}

// TestRefresh: with JavaScript a page is brought up to date in place. What its reader does stays.
func TestRefresh(t *testing.T) {
	tt := open(t)
	address := serve(t, debug.Options{})
	server := source("a")
	informer := synced(t, follow(t, server, "pods", nil))
	tt.visit(pageOf(t, address, informer))
	value[bool](tt, `document.body.dataset.mark = 'mine', document.querySelector('main a').focus(), true`)
	assert.Equal(t, []string{"Refreshed every 2 s."}, tt.texts("#live"))
	for i := range 20 {
		server.Create(pod(fmt.Sprint(i)))
	}
	tt.until(`document.body.innerText.includes(', 21 objects, ')`)
	tt.until(`document.querySelectorAll('figure')[1].querySelector('polyline')?.points.length >= 3`)
	assert.Equal(t, []int{2, 3, 3}, value[[]int](tt, `Array.from(document.querySelectorAll('polyline'), p => Math.min(3, p.points.length)).with(0, 2)`))
	assert.NotEqual(t, "Events/s: 0.0, at most 0.0", tt.texts("figcaption")[0])
	assert.Equal(t, "mine", value[string](tt, `document.body.dataset.mark`), "it is the same page")
	assert.Equal(t, "?", value[string](tt, `document.activeElement.getAttribute('href')`))
	assert.Len(t, tt.asked(network.ResourceTypeDocument), 1)
	assert.Equal(t, []string{address + "?script"}, tt.asked(network.ResourceTypeScript))

	value[bool](tt, `document.querySelector('main').dataset.mark = 'read', getSelection().selectAllChildren(document.querySelector('h1')), true`)
	tt.refreshes(2)
	assert.Equal(t, "read", value[string](tt, `document.querySelector('main').dataset.mark`), "what is selected stays")
	value[bool](tt, `getSelection().removeAllRanges(), true`)
	tt.until(`!document.querySelector('main').dataset.mark`)
	tt.assertClean(address)

	tt.visit(pageOf(t, address, informer) + "&refresh=off")
	assert.Zero(t, value[int](tt, `document.scripts.length + document.querySelectorAll('meta[http-equiv]').length`))
	assert.Empty(t, tt.texts("#live"))
}

// TestNoAnswer: a page says that what it shows is old, and that the informer has stopped.
func TestNoAnswer(t *testing.T) {
	tt := open(t)
	h := &breakable{Handler: debug.Handler(debug.Options{})}
	address := serveBehind(t, h)
	ctx, stop := context.WithCancel(t.Context())
	informer := cache.NewSharedIndexInformer(source("a"), pod(""), 0, nil)
	ended := make(chan struct{})
	go func() { defer close(ended); informer.RunWithContext(ctx) }()
	defer func() { stop(); <-ended }()
	synced(t, informer)
	tt.visit(pageOf(t, address, informer))
	const old = `document.body.classList.contains('old')`
	assert.False(t, value[bool](tt, old))
	h.broken.Store(true)
	tt.until(old + ` && document.getElementById('live').innerText.startsWith('No answer since ')`)
	assert.Equal(t, "0.5", value[string](tt, `getComputedStyle(document.querySelector('main')).opacity`))
	assert.Contains(t, tt.texts("h1")[0], "ok", "it shows what it knew")
	h.broken.Store(false)
	tt.until(`!` + old + ` && document.getElementById('live').innerText === 'Refreshed every 2 s.'`)
	stop()
	<-ended
	tt.until(`document.querySelector('main').innerText.includes('No informer with this number runs') && document.getElementById('live').innerText === ''`)
	for _, fault := range tt.faults() {
		assert.True(t, strings.HasPrefix(fault, "network: "), fault)
	}
	assert.Empty(t, tt.foreign(address))
}

// TestWithoutJavaScript: all is there, drawn by the server, and loads itself again.
func TestWithoutJavaScript(t *testing.T) {
	tt := open(t)
	address := serve(t, debug.Options{})
	server := source("a")
	informer := synced(t, follow(t, server, "pods", handling(t, "quick", func(any) {})))
	tt.withoutJavaScript()
	tt.visit(address)
	assert.Equal(t, []string{"1 informers run"}, tt.texts("h1"))
	assert.Equal(t, []string{"ok"}, tt.texts(".state"))
	tt.visit(pageOf(t, address, informer))
	assert.Contains(t, tt.texts("body")[0], "Without JavaScript this page loads itself again every 10 s.")
	assert.Equal(t, "pods ok", tt.texts("h1")[0])
	assert.Contains(t, tt.texts("figcaption")[2], "Heap of the process: ")
	server.Create(pod("b"))
	tt.until(`document.querySelectorAll('polyline').length >= 2`)
	assert.Contains(t, tt.texts("body")[0], ", 2 objects, ")
	assert.GreaterOrEqual(t, len(tt.asked(network.ResourceTypeDocument)), 3)
	assert.Empty(t, tt.asked(network.ResourceTypeXHR))
	tt.assertClean(address)
}
