// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/debug"
	"github.com/kinformer/cache/internal/testkit"
)

// colors are those of the states.
var colors = map[string]string{
	"ok": "rgb(218, 251, 225)", "starting": "rgb(221, 244, 255)", "degraded": "rgb(255, 248, 197)",
	"stuck": "rgb(255, 216, 211)", "failing": "rgb(255, 216, 211)", "stopped": "rgb(234, 238, 242)",
}

// everyState runs an informer in each state, whose name it has, until the test ends.
func everyState(t *testing.T) {
	t.Helper()
	release := make(chan struct{})
	block := func(any) { <-release }
	synced(t, follow(t, source("a", "b"), "ok", nil))
	starting := source("a")
	starting.Partition()
	follow(t, starting, "starting", nil)
	failing := source("a")
	failing.Outage(cachetest.ConnectionRefused())
	follow(t, failing, "failing", nil)
	follow(t, source("a", "b", "c"), "stuck", handling(t, "blocks", block))
	synced(t, follow(t, source("a"), "degraded", indexing(t, "fails", func(any) ([]string, error) { return nil, errors.New("no") })))
	ctx, cancel := context.WithCancel(context.Background())
	stopped := cache.InformerFunc(cache.WithObjectDescription("stopped"))(source("a"), pod(""), 0, cache.Indexers{})
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

// TestStuckHandler: a page that is open shows a handler that is stuck, how much waits for it, and
// that it goes on.
func TestStuckHandler(t *testing.T) {
	tt := open(t)
	address := serve(t, debug.Options{})
	server, calls, release := source(), make(chan struct{}, 10), make(chan struct{})
	informer := synced(t, follow(t, server, "pods", both(
		handling(t, "quick", func(any) {}),
		handling(t, "blocks", func(any) { calls <- struct{}{}; <-release }),
	)))
	tt.visit(pageOf(t, address, informer))
	assert.Equal(t, "pods ok", tt.texts("h1")[0])
	for i := range 3 {
		server.Create(pod(fmt.Sprint(i)))
	}
	<-calls
	tt.until(`document.querySelector('h1').innerText === 'pods stuck'`)
	const first = `document.querySelector('h2 + .scroll tbody tr').cells`
	tt.until(first + `[0].innerText === 'blocks' && ` + first + `[1].innerText === 'stuck' && ` + first + `[2].innerText === '3'`)
	assert.Equal(t, colors["stuck"], value[string](tt, `getComputedStyle(`+first+`[1].firstChild).backgroundColor`))
	tt.until(`document.querySelectorAll('figure')[1].querySelector('svg')?.getAttribute('aria-label').match(/^Lag, now [1-9]/) !== null`)
	close(release)
	tt.until(`document.querySelector('h1').innerText === 'pods ok' && document.querySelector('.stuck') === null`)
	tt.assertClean(address)
}

// TestOutage: a page that is open shows that the server is out of reach, why, and that it is back.
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
	const outages = `Array.from(document.querySelectorAll('table')).at(-1).rows`
	tt.until(outages + `[0]?.innerText.includes('it lasts')`)
	end()
	tt.until(`document.querySelector('h1').innerText === 'pods ok'`)
	tt.until(`!` + outages + `[0].innerText.includes('it lasts')`)
	assert.Equal(t, 1, value[int](tt, outages+`.length`))
	tt.assertClean(address)
}
