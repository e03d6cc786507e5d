// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"

	"github.com/kinformer/cache/debug"
	"github.com/kinformer/cache/internal/testkit"
)

// fits is whether nothing is wider than the screen but what can be scrolled for itself.
const fits = `document.documentElement.scrollWidth <= innerWidth &&
	Array.from(document.querySelectorAll('body > *, main > *, figure')).every(e => e.getBoundingClientRect().right <= innerWidth)`

// TestThousandInformers: the table has half of them, and a link to the others.
func TestThousandInformers(t *testing.T) {
	tt := open(t)
	address := serve(t, debug.Options{})
	for i := range 1000 {
		synced(t, follow(t, source("a"), fmt.Sprint("informer-", i), nil))
	}
	tt.visit(address)
	assert.Equal(t, []string{"1000 informers run"}, tt.texts("h1"))
	names := tt.texts("tbody td:first-child")
	assert.True(t, value[bool](tt, fits))
	value[bool](tt, `Array.from(document.links).find(a => a.innerText === '500 more').click() || true`)
	tt.until(`document.querySelector('tbody td')?.innerText === 'informer-500'`)
	names = append(names, tt.texts("tbody td:first-child")...)
	assert.Len(t, names, 1000)
	for i, name := range names {
		assert.Equal(t, fmt.Sprint("informer-", i), name)
	}
	tt.assertClean(address)
}

// TestNarrow: on the screen of a telephone nothing has to be scrolled sideways but tables.
func TestNarrow(t *testing.T) {
	testkit.Reports(t)
	tt := open(t)
	tt.size(360, 740, chromedp.EmulateMobile, chromedp.EmulateTouch)
	address := serve(t, debug.Options{Objects: true})
	long := strings.Repeat("longer", 50)
	everyState(t)
	informer := synced(t, follow(t, source("a", long), long, both(
		handling(t, long, func(any) {}),
		indexing(t, long, func(any) ([]string, error) { return nil, fmt.Errorf("%s", long) }),
	)))
	one := pageOf(t, address, informer)
	for _, page := range []string{address, one, one + "&keys", one + "&key=ns/" + long, address + "?id=0"} {
		tt.visit(page)
		assert.Equal(t, 360, value[int](tt, `innerWidth`), page)
		assert.True(t, value[bool](tt, fits), page)
		assert.True(t, value[bool](tt, `Array.from(document.querySelectorAll('th')).every(e => e.getBoundingClientRect().height < 35)`), "heads have one line")
	}
	tt.visit(one)
	tt.until(`document.querySelectorAll('polyline').length === 3`)
	assert.True(t, value[bool](tt, fits), "with charts")
	assert.True(t, value[bool](tt, `Array.from(document.querySelectorAll('svg')).every(e => e.getBoundingClientRect().width > 300)`))
	value[bool](tt, `document.querySelector('.scroll').scrollLeft = 50, true`)
	tt.refreshes(1)
	assert.Equal(t, 50, value[int](tt, `document.querySelector('.scroll').scrollLeft`), "it stays where it was scrolled to")
	assert.Empty(t, tt.foreign(address))
}
