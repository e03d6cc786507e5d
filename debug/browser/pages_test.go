// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/debug"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/kinformer"
)

// hostile is a text with elements and attributes.
const hostile = `<script>alert(1)</script>"'` + "`" + `&<img src=http://127.0.0.1:9/x onerror=alert(2)></main>` +
	`<iframe src="javascript:alert(4)"></iframe><style>*{display:none}</style>` +
	`<base href=//127.0.0.2/>" onmouseover="alert(5)" style="display:none"`

// TestOutage: the table leads to the page of an informer. The open page shows that the server is
// out of reach, the reason, and the end of the outage. A hostile name appears as text, also after
// refreshes.
func TestOutage(t *testing.T) {
	testkit.Reports(t)
	tt := open(t)
	address := serve(t, debug.Options{})
	server := source("a")
	synced(t, follow(t, server, hostile, soon))
	tt.visit(address)
	value[bool](tt, `document.body.dataset.mark = 'old', document.querySelector('tbody a').click(), true`)
	tt.until(`!document.body.dataset.mark && document.querySelector('h1')?.innerText.endsWith(' ok')`)
	const color = `getComputedStyle(document.querySelector('h1 .state'))`
	assert.Equal(t, "rgb(218, 251, 225)", value[string](tt, color+`.backgroundColor`))
	assert.Equal(t, "rgb(27, 31, 35)", value[string](tt, color+`.color`), "it can be read")
	end := server.Outage(cachetest.ConnectionRefused())
	tt.until(`document.querySelector('h1').innerText.endsWith(' failing')`)
	assert.Equal(t, "rgb(255, 216, 211)", value[string](tt, color+`.backgroundColor`))
	tt.until(`document.body.innerText.includes('connection refused')`)
	const outages = `(Array.from(document.querySelectorAll('h2')).find(h => h.innerText === 'Outages')?.nextElementSibling.querySelectorAll('tbody tr') ?? [])`
	tt.until(outages + `[0]?.innerText.includes('it lasts')`)
	end()
	tt.until(`document.querySelector('h1').innerText.endsWith(' ok')`)
	tt.until(`!` + outages + `[0]?.innerText.includes('it lasts')`)
	assert.Equal(t, 1, value[int](tt, outages+`.length`))
	end = server.Outage(errors.New(hostile))
	defer end()
	tt.until(`document.querySelector('h1').innerText.endsWith(' failing')`)
	tt.refreshes(2)
	assert.Contains(t, tt.texts("h1")[0], hostile[:50])
	assert.Equal(t, 1, value[int](tt, `document.scripts.length`))
	assert.Zero(t, value[int](tt, `document.querySelectorAll('img, iframe, base, main style, main script, [onmouseover], [style]').length`))
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
	informer := synced(t, follow(t, server, "pods", kinformer.Options{}))
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

// TestSort: a click on the head of the memory's column puts the largest informer first, also after
// refreshes, and another click takes that back.
func TestSort(t *testing.T) {
	tt := open(t)
	address := serve(t, debug.Options{})
	synced(t, follow(t, source(), "small", kinformer.Options{}))
	synced(t, follow(t, source("a", "b", "c"), "large", kinformer.Options{}))
	tt.visit(address)
	assert.Equal(t, []string{"small", "large"}, tt.texts("tbody a"))
	value[bool](tt, `document.querySelector('th a').click(), true`)
	tt.until(`document.querySelector('tbody a')?.innerText === 'large'`)
	tt.refreshes(2)
	assert.Equal(t, []string{"large", "small"}, tt.texts("tbody a"))
	value[bool](tt, `document.querySelector('th a').click(), true`)
	tt.until(`document.querySelector('tbody a')?.innerText === 'small'`)
	tt.assertClean(address)
}

// TestNoAnswer: a page says that its content is old, and that the informer has stopped.
func TestNoAnswer(t *testing.T) {
	tt := open(t)
	h := &breakable{Handler: debug.Handler(debug.Options{})}
	address := serveBehind(t, h)
	informer := cache.NewSharedIndexInformer(source("a"), pod(""), 0, nil)
	stop := testkit.InBackground(t, informer.RunWithContext)
	defer stop()
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
	informer := synced(t, follow(t, server, "pods", kinformer.Options{}, handler{"quick", func(any) {}}))
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

// TestTabDetectsFaults: the tab detects the faults that other tests look for.
func TestTabDetectsFaults(t *testing.T) {
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

var pictures = flag.String("pictures", "", "write the pictures of the documentation to this `folder`")

const mostPicture = 150 << 10 // bytes

// TestPictures takes the pictures of the documentation for make screenshots. Without the flag it
// writes them to a temporary directory, after fewer samples.
func TestPictures(t *testing.T) {
	testkit.Reports(t)
	folder, points := *pictures, 12
	if folder == "" {
		folder, points = t.TempDir(), 2
	}
	tt := open(t)
	tt.size(1280, 400)
	address := serve(t, debug.Options{})
	pods := aProgram(t)
	tt.untilTrue("all states, and a rate", func() bool {
		tt.visit(address)
		shown := tt.texts(".state")
		slices.Sort(shown)
		return slices.Equal(shown, []string{"degraded", "failing", "ok", "ok", "stuck"}) && tt.texts("td:nth-child(6)")[0] != "0.0"
	})
	tt.picture(filepath.Join(folder, "informers.png"))
	tt.size(1280, 640)
	tt.visit(pageOf(t, address, pods))
	tt.until(fmt.Sprintf(`document.querySelector('polyline')?.points.length >= %d`, points))
	tt.picture(filepath.Join(folder, "informer.png"))
	tt.size(360, 640, chromedp.EmulateMobile)
	tt.picture(filepath.Join(t.TempDir(), "narrow.png")) // for its checks only
}

// picture writes the content of the screen to a file.
func (tt *tab) picture(file string) {
	tt.t.Helper()
	picture, err := chromedp.Run(tt.ctx, chromedp.CaptureScreenshot())
	require.NoError(tt.t, err)
	shown, err := png.Decode(bytes.NewReader(picture))
	require.NoError(tt.t, err)
	assert.Equal(tt.t, value[int](tt, `innerWidth`), shown.Bounds().Dx())
	assert.Less(tt.t, len(picture), mostPicture, file)
	require.NoError(tt.t, os.WriteFile(file, picture, 0o644))
}

// aProgram runs informers like those of a program, some with problems, until the test ends. It
// returns one with many events.
func aProgram(t *testing.T) (pods cache.SharedIndexInformer) {
	t.Helper()
	release := make(chan struct{})
	server := source()
	for i := range 300 {
		server.Create(pod(fmt.Sprint("web-", i)))
	}
	byNode := func(obj any) ([]string, error) { return []string{obj.(metav1.Object).GetName()[:5]}, nil }
	indexed := kinformer.Options{Indexers: cache.Indexers{"node": byNode}}
	pods = synced(t, follow(t, server, "pods.v1", indexed, handler{"scheduler", func(any) {}}, handler{"endpoints-controller", pausing()}))
	synced(t, follow(t, source("a", "b", "c"), "nodes.v1", kinformer.Options{}, handler{"node-lifecycle", func(any) {}}))
	follow(t, source("a", "b"), "services.v1", kinformer.Options{}, handler{"dns-writer", func(any) { <-release }})
	unindexed := kinformer.Options{Indexers: cache.Indexers{"by-host": func(any) ([]string, error) { return nil, errors.New("no host") }}}
	synced(t, follow(t, source("a"), "ingresses.v1.networking.k8s.io", unindexed))
	denied := source("a")
	denied.Outage(apierrors.NewForbidden(schema.GroupResource{Group: "example.com", Resource: "widgets"}, "", errors.New("no role allows it")))
	follow(t, denied, "widgets.v1.example.com", kinformer.Options{})
	stop := testkit.InBackground(t, func(ctx context.Context) { keepWriting(ctx, server) })
	t.Cleanup(func() { stop(); close(release) })
	return pods
}

// pausing returns a handler that is slow now and then.
func pausing() func(any) {
	calls := 0
	return func(any) {
		if calls++; calls > 300 && calls%25 == 0 {
			time.Sleep(700 * time.Millisecond)
		}
	}
}

// keepWriting changes pods at a varying rate, and replaces some.
func keepWriting(ctx context.Context, server *cachetest.Source) {
	for n := 0; ctx.Err() == nil; n++ {
		name := fmt.Sprint("web-", n%300)
		server.Patch("ns", name, func(obj runtime.Object) {
			obj.(metav1.Object).SetAnnotations(map[string]string{"n": fmt.Sprint(n)})
		})
		if n%10 == 0 {
			server.Delete("ns", name)
			server.Create(pod(name))
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(4+n/100%5*6) * time.Millisecond):
		}
	}
}
