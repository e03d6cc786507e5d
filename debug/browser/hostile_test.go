// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/debug"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/testkit"
)

const hostile = `<script>alert(1)</script>"'` + "`" + `&<img src=http://127.0.0.1:9/x onerror=alert(2)><svg onload=alert(3)>` +
	`</td></table></main><iframe src="javascript:alert(4)"></iframe><style>*{display:none}</style><base href=//127.0.0.2/>{{.}}` +
	`" onmouseover="alert(5)" style="display:none"><a href=javascript:alert(6)>`

// TestHostileTexts: what servers, handlers and functions say is text and nothing else: pages have
// the elements that they have when it is harmless.
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

// elementsOf runs informers all of whose texts are text, and returns the elements of their pages.
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
			if !strings.Contains(fault, "404 (Not Found)") { // asked for on purpose
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

// told runs an informer that works and one that does not, and waits until all has been told.
func told(t *testing.T, tt *tab, text string) (fine, failing cache.SharedIndexInformer) {
	fine = synced(t, follow(t, source(text, "b"), "f"+text, both(
		handling(t, text, func(any) { panic(text) }),
		indexing(t, text, func(obj any) ([]string, error) {
			if strings.HasSuffix(fmt.Sprint(cache.MetaNamespaceKeyFunc(obj)), "b <nil>") {
				return nil, errors.New(text)
			}
			return []string{text}, nil
		}),
	)))
	server := source()
	server.Outage(errors.New(text))
	failing = follow(t, server, text, nil, cache.WithListMode(cache.ListModeList), soon)
	tt.untilTrue("all is told", func() bool {
		good, err := inspect.Of(fine)
		require.NoError(t, err)
		bad, err := inspect.Of(failing)
		require.NoError(t, err)
		return good.Handlers[0].SyncError != nil && good.Handlers[0].Pending == 0 && len(bad.Errors) == 1 && bad.Errors[0].Count > 1
	})
	return fine, failing
}

// TestTheTabSees: were there something wrong with a page, its test would fail.
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
