// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/debug"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/kinformer"
)

func TestMain(m *testing.M) { testkit.RunTests(m) }

// tab is a tab in a browser of its own, with a record of its events.
type tab struct {
	t   *testing.T
	ctx context.Context
	mu  struct {
		sync.Mutex
		requests []request
		faults   []string // dialogs, exceptions, messages, and violations of a policy
	}
}

// request is a request that the tab has begun, even if it was not sent.
type request struct {
	kind network.ResourceType
	url  string
}

// chromium returns the path of the browser, or skips the test.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const missing = "no Chromium: apt-get install chromium"
	if os.Getenv("KINFORMER_CI") != "" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

// open starts a browser that can reach only this machine, and ends it with the test.
func open(t *testing.T) *tab {
	t.Helper()
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(chromium(t)), chromedp.DisableGPU,
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"), chromedp.Flag("lang", "en-GB"))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // as in a container; otherwise it does not start
	}
	timed, stop := context.WithTimeout(context.Background(), 3*testkit.Patience)
	t.Cleanup(stop)
	allocator, end := chromedp.NewExecAllocator(timed, options...)
	t.Cleanup(end)
	tt := &tab{t: t}
	var closeTab context.CancelFunc
	tt.ctx, closeTab = chromedp.NewContext(allocator, chromedp.WithListener(tt.hear))
	t.Cleanup(closeTab)
	for _, enable := range []cdp.Command[cdp.Empty, cdp.Empty]{log.Enable, audits.Enable} {
		_, err := chromedp.Call(tt.ctx, enable, cdp.Empty{})
		require.NoError(t, err)
	}
	tt.size(1280, 900)
	return tt
}

// hear records an event.
func (tt *tab) hear(event any) {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		tt.mu.requests = append(tt.mu.requests, request{e.Type, e.Request.URL})
	case *page.EventJavascriptDialogOpening:
		tt.faultLocked("dialog", e.Message)
		go chromedp.Call(tt.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
	case *cdpruntime.EventExceptionThrown:
		tt.faultLocked("exception", e.ExceptionDetails.Text)
	case *cdpruntime.EventConsoleAPICalled:
		tt.faultLocked("console", fmt.Sprint(e.Type))
	case *log.EventEntryAdded:
		tt.faultLocked(string(e.Entry.Source), e.Entry.Text)
	case *audits.EventIssueAdded:
		if e.Issue.Code == audits.InspectorIssueCodeContentSecurityPolicyIssue {
			tt.faultLocked("issue", string(e.Issue.Code))
		}
	}
}

func (tt *tab) faultLocked(kind, text string) {
	tt.mu.faults = append(tt.mu.faults, kind+": "+text)
}

func (tt *tab) faults() []string {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	return slices.Clone(tt.mu.faults)
}

// forget clears the record of the tab.
func (tt *tab) forget() {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	tt.mu.requests, tt.mu.faults = nil, nil
}

// asked returns the requests of a kind so far.
func (tt *tab) asked(kind network.ResourceType) (urls []string) {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	for _, r := range tt.mu.requests {
		if r.kind == kind {
			urls = append(urls, r.url)
		}
	}
	return urls
}

// foreign returns the requests to other addresses than the handler's.
func (tt *tab) foreign(address string) (urls []string) {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	for _, r := range tt.mu.requests {
		if !strings.HasPrefix(r.url, address) && r.url != "about:blank" {
			urls = append(urls, r.url)
		}
	}
	return urls
}

// assertClean fails if the tab has seen anything but pages of the handler.
func (tt *tab) assertClean(address string) {
	tt.t.Helper()
	assert.Empty(tt.t, tt.faults())
	assert.Empty(tt.t, tt.foreign(address))
	assert.NotEmpty(tt.t, tt.asked(network.ResourceTypeDocument), "it has looked at the network")
}

// visit opens an address and waits until the page is complete.
func (tt *tab) visit(address string) {
	tt.t.Helper()
	_, err := url.Parse(address)
	require.NoError(tt.t, err)
	require.NoError(tt.t, chromedp.Do(tt.ctx, chromedp.Navigate(address)))
}

// size sets the size of the screen.
func (tt *tab) size(width, height int64, options ...chromedp.EmulateViewportOption) {
	tt.t.Helper()
	require.NoError(tt.t, chromedp.Do(tt.ctx, chromedp.EmulateViewport(width, height, options...)))
}

// withoutJavaScript turns scripts off for the following pages.
func (tt *tab) withoutJavaScript() {
	tt.t.Helper()
	_, err := chromedp.Call(tt.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	require.NoError(tt.t, err)
}

// value returns the value of an expression in the page.
func value[T any](tt *tab, expression string) T {
	tt.t.Helper()
	got, err := chromedp.Run(tt.ctx, chromedp.Evaluate[T](expression))
	require.NoError(tt.t, err, expression)
	return got
}

// texts returns the texts of the elements that match a selector.
func (tt *tab) texts(selector string) []string {
	tt.t.Helper()
	return value[[]string](tt, fmt.Sprintf(`Array.from(document.querySelectorAll(%q), e => e.innerText)`, selector))
}

// until waits until the page is complete and an expression is true in it. While a page is being
// replaced, the expression has no value.
func (tt *tab) until(expression string) {
	tt.t.Helper()
	tt.untilTrue(expression, func() bool {
		got, err := chromedp.Run(tt.ctx, chromedp.Evaluate[bool]("document.readyState === 'complete' && !!("+expression+")"))
		return err == nil && got
	})
}

func (tt *tab) untilTrue(what string, holds func() bool) {
	tt.t.Helper()
	for end := time.Now().Add(testkit.Patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			body, _ := chromedp.Run(tt.ctx, chromedp.Evaluate[string](`document.body.innerText`))
			require.Fail(tt.t, "it did not come to this: "+what, "%s\n%q", body, tt.faults())
		}
	}
}

// serve serves the page of this process until the test ends, and returns its address.
func serve(t *testing.T, options debug.Options) string {
	t.Helper()
	return serveBehind(t, debug.Handler(options))
}

func serveBehind(t *testing.T, h http.Handler) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/debug/informers/", h)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/debug/informers/"
}

// handler is a named handler of additions.
type handler struct {
	name  string
	onAdd func(any)
}

// follow runs an informer with handlers until the test ends.
func follow(t *testing.T, lw cache.ListerWatcher, name string, options kinformer.Options, handlers ...handler) cache.SharedIndexInformer {
	t.Helper()
	options.ObjectDescription = name
	informer := kinformer.New(lw, &corev1.Pod{}, options)
	for _, h := range handlers {
		_, err := informer.AddEventHandler(kinformer.Deliver(cache.ResourceEventHandlerFuncs{AddFunc: h.onAdd}, kinformer.Delivery{Name: h.name}))
		require.NoError(t, err)
	}
	t.Cleanup(testkit.InBackground(t, informer.RunWithContext))
	return informer
}

// synced waits until an informer has synced.
func synced(t *testing.T, informer cache.SharedIndexInformer) cache.SharedIndexInformer {
	t.Helper()
	require.True(t, cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced))
	return informer
}

// source returns a server with some pods.
func source(pods ...string) *cachetest.Source {
	var objects []runtime.Object
	for _, name := range pods {
		objects = append(objects, pod(name))
	}
	return cachetest.New(cachetest.Options{
		Objects: objects, Example: &corev1.Pod{}, NewList: func() runtime.Object { return &corev1.PodList{} },
	})
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
}

// pageOf returns the address of an informer's page.
func pageOf(t *testing.T, address string, informer cache.SharedIndexInformer) string {
	t.Helper()
	inspection, err := inspect.Of(informer)
	require.NoError(t, err)
	return fmt.Sprintf("%s?id=%d", address, inspection.ID)
}

// soon are options with a short backoff.
var soon = kinformer.Options{Requests: kinformer.Requests{Backoff: wait.Backoff{Duration: 50 * time.Millisecond, Factor: 1, Steps: 1, Cap: 50 * time.Millisecond}}}
