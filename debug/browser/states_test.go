// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/debug"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/kinformer"
)

// colors are the colors of the states.
var colors = map[string]string{
	"ok": "rgb(218, 251, 225)", "starting": "rgb(221, 244, 255)", "degraded": "rgb(255, 248, 197)",
	"stuck": "rgb(255, 216, 211)", "failing": "rgb(255, 216, 211)", "stopped": "rgb(234, 238, 242)",
}

// everyState runs an informer in each state, named after the state, until the test ends.
func everyState(t *testing.T) {
	t.Helper()
	release := make(chan struct{})
	block := func(any) { <-release }
	synced(t, follow(t, source("a", "b"), "ok", nil, kinformer.Options{}))
	starting := source("a")
	starting.Partition()
	follow(t, starting, "starting", nil, kinformer.Options{})
	failing := source("a")
	failing.Outage(cachetest.ConnectionRefused())
	follow(t, failing, "failing", nil, kinformer.Options{})
	follow(t, source("a", "b", "c"), "stuck", handling(t, "blocks", block), kinformer.Options{})
	synced(t, follow(t, source("a"), "degraded", indexing(t, "fails", func(any) ([]string, error) { return nil, errors.New("no") }), kinformer.Options{}))
	ctx, cancel := context.WithCancel(context.Background())
	stopped := kinformer.New(source("a"), pod(""), kinformer.Options{ObjectDescription: "stopped"})
	handling(t, "blocks", block)(stopped)
	ended := make(chan struct{})
	go func() { defer close(ended); stopped.RunWithContext(ctx) }()
	t.Cleanup(func() { close(release); <-ended })
	synced(t, stopped)
	cancel()
}

// TestStates: each state has its word and its color, on both pages.
func TestStates(t *testing.T) {
	testkit.Reports(t)
	tt := open(t)
	address := serve(t, debug.Options{})
	everyState(t)
	tt.visit(address)
	const row = `Array.from(document.querySelectorAll('tbody tr')).find(r => r.cells[0].innerText === %q)`
	for word, color := range colors {
		state := fmt.Sprintf(row, word) + `.querySelector('.state')`
		tt.until(state + `.innerText === ` + fmt.Sprintf("%q", word))
		assert.Equal(t, color, value[string](tt, `getComputedStyle(`+state+`).backgroundColor`), word)
		assert.Equal(t, "rgb(27, 31, 35)", value[string](tt, `getComputedStyle(`+state+`).color`), "it can be read")
	}
	assert.Len(t, tt.texts("tbody tr"), len(colors))
	require.NoError(t, chromedp.Do(tt.ctx, chromedp.Evaluate[chromedp.Void](`document.body.dataset.mark = 'old'`)))
	value[bool](tt, fmt.Sprintf(row, "stuck")+`.querySelector('a').click() || true`)
	tt.until(`!document.body.dataset.mark && document.querySelector('h1')?.innerText === 'stuck stuck'`)
	assert.Equal(t, colors["stuck"], value[string](tt, `getComputedStyle(document.querySelector('h1 .state')).backgroundColor`))
	tt.assertClean(address)
}

// TestOutage: an open page shows that the server is out of reach, the reason, and the end of the
// outage.
func TestOutage(t *testing.T) {
	testkit.Reports(t)
	tt := open(t)
	address := serve(t, debug.Options{})
	server := source("a")
	informer := synced(t, follow(t, server, "pods", nil, soon))
	tt.visit(pageOf(t, address, informer))
	assert.Equal(t, "pods ok", tt.texts("h1")[0])
	end := server.Outage(cachetest.ConnectionRefused())
	tt.until(`document.querySelector('h1').innerText === 'pods failing'`)
	tt.until(`document.body.innerText.includes('connection refused')`)
	const outages = `(Array.from(document.querySelectorAll('h2')).find(h => h.innerText === 'Outages')?.nextElementSibling.rows ?? [])`
	tt.until(outages + `[0]?.innerText.includes('it lasts')`)
	end()
	tt.until(`document.querySelector('h1').innerText === 'pods ok'`)
	tt.until(`!` + outages + `[0]?.innerText.includes('it lasts')`)
	assert.Equal(t, 1, value[int](tt, outages+`.length`))
	tt.assertClean(address)
}

// breakable is a handler whose answers are lost while it is broken.
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

// refreshes waits until the page has been refreshed n more times.
func (tt *tab) refreshes(n int) {
	tt.t.Helper()
	want := len(tt.asked(network.ResourceTypeXHR)) + n + 1 // the last one may not be shown yet
	tt.untilTrue("refreshes", func() bool { return len(tt.asked(network.ResourceTypeXHR)) >= want })
}

// TestRefresh: with JavaScript a page is refreshed in place. The reader's scroll position and focus
// are kept.
func TestRefresh(t *testing.T) {
	tt := open(t)
	address := serve(t, debug.Options{})
	server := source("a")
	informer := synced(t, follow(t, server, "pods", nil, kinformer.Options{}))
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

// TestNoAnswer: a page says that its content is old, and that the informer has stopped.
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

// TestWithoutJavaScript: the page is complete without scripts, and reloads itself.
func TestWithoutJavaScript(t *testing.T) {
	tt := open(t)
	address := serve(t, debug.Options{})
	server := source("a")
	informer := synced(t, follow(t, server, "pods", handling(t, "quick", func(any) {}), kinformer.Options{}))
	tt.withoutJavaScript()
	tt.visit(address)
	assert.Equal(t, []string{"1 informer running"}, tt.texts("h1"))
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

const hostile = `<script>alert(1)</script>"'` + "`" + `&<img src=http://127.0.0.1:9/x onerror=alert(2)><svg onload=alert(3)>` +
	`</td></table></main><iframe src="javascript:alert(4)"></iframe><style>*{display:none}</style><base href=//127.0.0.2/>{{.}}` +
	`" onmouseover="alert(5)" style="display:none"><a href=javascript:alert(6)>`

// TestHostileTexts: texts of servers, handlers and functions appear as text: pages have the same
// elements as with harmless texts.
func TestHostileTexts(t *testing.T) {
	testkit.Reports(t)
	testkit.QuietPanics(t)
	tt := open(t)
	harmless := elementsOf(t, tt, "harmless")
	assert.Greater(t, strings.Count(harmless["fine"], " "), 100)
	got := elementsOf(t, tt, hostile)
	for page, elements := range harmless {
		assert.Equal(t, elements, got[page], page)
	}
}

// elementsOf runs informers whose texts are all text, and returns the elements of their pages.
func elementsOf(t *testing.T, tt *tab, text string) (elements map[string]string) {
	t.Run(text[:8], func(t *testing.T) {
		address := serve(t, debug.Options{Objects: true})
		fine, failing := told(t, tt, text)
		one := pageOf(t, address, fine)
		key := url.QueryEscape("ns/" + text)
		elements = map[string]string{}
		for name, page := range map[string]string{
			"table": address + "?", "fine": one, "failing": pageOf(t, address, failing), "keys": one + "&keys",
			"index": one + "&index=" + url.QueryEscape(text) + "&value=" + url.QueryEscape(text), "object": one + "&key=" + key,
			"no index": one + "&index=x" + key, "no object": one + "&key=x" + key, "no informer": address + "?id=" + key, "from": address + "?from=" + key,
		} {
			tt.visit(page + "&refresh=off")
			elements[name] = value[string](tt, `Array.from(document.querySelectorAll('*'), e => e.tagName).join(' ')`)
			assert.Empty(t, value[[]string](tt, `Array.from(document.querySelectorAll('*')).flatMap(e => e.getAttributeNames()).filter(a => /^(on|style|src)/.test(a))`))
			assert.True(t, value[bool](tt, `Array.from(document.links).every(a => a.getAttribute('href').startsWith('?'))`))
		}
		tt.visit(pageOf(t, address, failing))
		assert.Contains(t, tt.texts("body")[0], text[:min(50, len(text))])
		tt.refreshes(2)
		assert.Equal(t, 1, value[int](tt, `document.scripts.length`))
		assert.Zero(t, value[int](tt, `document.querySelectorAll('img, iframe, base, main style, main script').length`))
		var faults []string
		for _, fault := range tt.faults() {
			if !strings.Contains(fault, "404 (Not Found)") { // requested on purpose
				faults = append(faults, fault)
			}
		}
		assert.Empty(t, faults)
		assert.Empty(t, tt.foreign(address))
		tt.visit("about:blank") // the server ends before the tab
		tt.forget()
	})
	return elements
}

// told runs an informer that works and one that does not, and waits until both have reached their
// states.
func told(t *testing.T, tt *tab, text string) (fine, failing cache.SharedIndexInformer) {
	fine = synced(t, follow(t, source(text, "b"), "f"+text, both(
		handling(t, text, func(any) { panic(text) }),
		indexing(t, text, func(obj any) ([]string, error) {
			if strings.HasSuffix(fmt.Sprint(cache.MetaNamespaceKeyFunc(obj)), "b <nil>") {
				return nil, errors.New(text)
			}
			return []string{text}, nil
		}),
	), kinformer.Options{}))
	server := source()
	server.Outage(errors.New(text))
	listing := soon
	listing.Requests.Mode = kinformer.ListModeList
	failing = follow(t, server, text, nil, listing)
	tt.untilTrue("all is told", func() bool {
		good, err := inspect.Of(fine)
		require.NoError(t, err)
		bad, err := inspect.Of(failing)
		require.NoError(t, err)
		return good.Handlers[0].SyncError != nil && good.Handlers[0].Pending == 0 && len(bad.Errors) == 1 && bad.Errors[0].Count > 1
	})
	return fine, failing
}

// TestTheTabSees: the tab detects the faults that other tests look for.
func TestTheTabSees(t *testing.T) {
	tt := open(t)
	for name, tc := range map[string]struct{ policy, page, fault string }{
		"script":      {"", "<script>alert('it runs')</script>", "dialog: it runs"},
		"forbidden":   {"default-src 'none'", "<script>alert(1)</script>", "Content Security Policy"},
		"exception":   {"", "<script>throw new Error()</script>", "exception: Uncaught"},
		"a message":   {"", "<script>console.log(1)</script>", "console: log"},
		"text to dom": {"require-trusted-types-for 'script'", "<script>document.body.innerHTML = 1</script>", "exception: Uncaught"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.forget()
			tt.visit(serveBehind(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				if tc.policy != "" {
					w.Header().Set("Content-Security-Policy", tc.policy)
				}
				fmt.Fprint(w, "<body>"+tc.page)
			})))
			tt.untilTrue(tc.fault, func() bool { return strings.Contains(strings.Join(tt.faults(), "\n"), tc.fault) })
		})
	}
	t.Run("elsewhere", func(t *testing.T) {
		here, elsewhere := serve(t, debug.Options{}), serveBehind(t, http.NotFoundHandler())
		tt.visit(serveBehind(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<body><img src=%s>", elsewhere)
		})))
		tt.untilTrue("the request", func() bool { return strings.Contains(strings.Join(tt.foreign(here), " "), elsewhere) })
	})
}
