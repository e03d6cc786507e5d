// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	goruntime "runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/factory"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/sources"
)

func TestMain(m *testing.M) { testkit.RunTests(m) }

// follow runs an informer of a server until the test ends, and waits until all goroutines are
// blocked.
func follow(t *testing.T, server *testkit.Server, example runtime.Object, setUp func(cache.SharedIndexInformer), options kinformer.Options) cache.SharedIndexInformer {
	t.Helper()
	informer := kinformer.New(server, example, options)
	if setUp != nil {
		setUp(informer)
	}
	t.Cleanup(testkit.InBackground(t, informer.RunWithContext))
	synctest.Wait()
	return informer
}

// serving returns a server that lists the objects and has a watch without events.
func serving(objects ...runtime.Object) *testkit.Server {
	list := &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: "5"}}
	for _, obj := range objects {
		list.Items = append(list.Items, runtime.RawExtension{Object: obj})
	}
	return &testkit.Server{NoStream: true, OnList: testkit.ListOf(list), OnWatch: testkit.Watches()}
}

// refusing returns a server whose lists fail with err.
func refusing(err error) *testkit.Server {
	list := func(int, context.Context, metav1.ListOptions) (runtime.Object, error) { return nil, err }
	return &testkit.Server{NoStream: true, OnWatch: testkit.Watches(), OnList: list}
}

func get(h http.Handler, query string) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "http://localhost/debug/informers/?"+query, nil))
	return answer
}

// idOf returns the number of an informer as it appears in a query.
func idOf(t *testing.T, informer cache.Controller) string {
	inspection, err := inspect.Of(informer)
	require.NoError(t, err)
	return fmt.Sprint("id=", inspection.ID)
}

func decoded[T any](t *testing.T, answer *httptest.ResponseRecorder) (got T) {
	t.Helper()
	require.Equal(t, http.StatusOK, answer.Code, answer.Body)
	require.Equal(t, "application/json", answer.Header().Get("Content-Type"))
	require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &got))
	return got
}

// TestForms: the table has the same content as HTML, JSON and text.
func TestForms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := Handler(Options{})
		assert.Contains(t, get(h, "").Body.String(), "0 informers running")
		pods := follow(t, serving(testkit.PodAt("a", "1")), &corev1.Pod{}, nil, kinformer.Options{})
		nodes := follow(t, serving(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}), &corev1.Node{}, nil, kinformer.Options{ObjectDescription: "the nodes"})
		page := get(h, "")
		assert.Equal(t, "text/html; charset=utf-8", page.Header().Get("Content-Type"))
		for _, text := range []string{"2 informers running", "*v1.Pod", "the nodes", `<span class="state ok">ok</span>`, `href="?` + idOf(t, pods) + `"`} {
			assert.Contains(t, page.Body.String(), text)
		}
		table := decoded[tableView](t, get(h, "format=json"))
		assert.Equal(t, 2, table.Running)
		require.Len(t, table.Informers, 2)
		assert.Equal(t, "the nodes", table.Informers[1].Name)
		assert.Equal(t, "ok", table.Informers[1].State)
		assert.Equal(t, 1, table.Informers[1].Objects)
		text := get(h, "format=text")
		assert.Equal(t, "text/plain; charset=utf-8", text.Header().Get("Content-Type"))
		assert.Regexp(t, `(?m)^\d+ +the nodes +ok +watching for 0s +1 `, text.Body.String())

		one := get(h, idOf(t, nodes)).Body.String()
		assert.Contains(t, one, "<h1>the nodes")
		view := decoded[informerView](t, get(h, idOf(t, nodes)+"&format=json"))
		assert.Equal(t, "list", view.Requests[0].Kind)
		assert.Equal(t, int64(1), view.Requests[0].Ended)
		assert.Contains(t, get(h, idOf(t, nodes)+"&format=text").Body.String(), "the nodes (*v1.Node)")

		assert.Equal(t, http.StatusBadRequest, get(h, "format=xml").Code)
		for _, id := range []string{"id=", "id=0", "id=x", "id=-1", "id=999999"} {
			assert.Equal(t, http.StatusNotFound, get(h, id).Code, id)
			assert.Equal(t, http.StatusNotFound, get(h, id+"&format=json").Code, id)
		}
	})
}

// TestSort: the table has the largest informers first if the query says so, in each form, and on its
// further pages. Informers of one size stay in the order of their start.
func TestSort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := map[string]int{"none": 0, "some": 10, "many": 100, "empty": 0}
		for _, name := range []string{"none", "some", "many", "empty"} {
			var pods []runtime.Object
			for i := range names[name] {
				pods = append(pods, testkit.PodAt(fmt.Sprint(i), "1"))
			}
			follow(t, serving(pods...), &corev1.Pod{}, nil, kinformer.Options{ObjectDescription: "pods-" + name})
		}
		h := Handler(Options{})
		order := func(query string) []string {
			return regexp.MustCompile("pods-[a-z]+").FindAllString(get(h, query).Body.String(), -1)
		}
		for _, format := range []string{"", "&format=json", "&format=text"} {
			assert.Equal(t, []string{"pods-none", "pods-some", "pods-many", "pods-empty"}, order("refresh=off"+format))
			assert.Equal(t, []string{"pods-many", "pods-some", "pods-none", "pods-empty"}, order("sort=memory"+format))
			assert.Equal(t, []string{"pods-none", "pods-empty"}, order("sort=memory&from=2"+format))
		}
		assert.Contains(t, get(h, "from=2&refresh=off").Body.String(), `<th class="n"><a href="?refresh=off&amp;sort=memory">Memory ≈</a></th>`)
		sorted := get(h, "sort=memory&refresh=off").Body.String()
		assert.Contains(t, sorted, `<th class="n" aria-sort="descending"><a href="?refresh=off">Memory ≈</a></th>`)
		assert.Contains(t, sorted, `<a href="?refresh=on&amp;sort=memory">refresh</a>`)
		assert.Equal(t, http.StatusBadRequest, get(h, "sort=name").Code)
	})
}

// TestReason: beside a failure is the word of the log for it, and the beginning of the error. They
// go when requests succeed again.
func TestReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := cachetest.Of(testkit.Pod("a", "1"))
		end := source.Outage(apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New(strings.Repeat("long ", 100))))
		informer := cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, nil)
		t.Cleanup(testkit.InBackground(t, informer.RunWithContext))
		synctest.Wait()
		h := Handler(Options{})
		page := get(h, "").Body.String()
		assert.Regexp(t, `<td><span class="state failing">failing</span> <span title="[^"]*forbidden: long [^"]*…">forbidden: 1 error since the last success</span></td>`, page)
		assert.Contains(t, page, "<td>nothing received yet</td>")
		row := decoded[tableView](t, get(h, "format=json")).Informers[0]
		assert.Equal(t, "forbidden", row.Reason)
		assert.Len(t, []rune(row.Error), mostError+1)
		assert.Regexp(t, ` failing, forbidden +backing off .* nothing received yet\n`, get(h, "format=text").Body.String())
		end()
		time.Sleep(time.Minute)
		synctest.Wait()
		page = get(h, "").Body.String()
		assert.Contains(t, page, `<td><span class="state ok">ok</span></td>`)
		assert.Contains(t, page, "<td>by the client</td>")
		assert.NotContains(t, page, "orbidden")
	})
}

// TestReasons: the words for failures are those of the log.
func TestReasons(t *testing.T) {
	testkit.Reports(t)
	testkit.QuietPanics(t)
	synctest.Test(t, func(t *testing.T) {
		panicking := serving()
		panicking.OnList = func(int, context.Context, metav1.ListOptions) (runtime.Object, error) { panic("no") }
		servers := []*testkit.Server{panicking, refusing(testkit.ErrForbidden), refusing(testkit.ErrTooManyRequests), refusing(syscall.ECONNREFUSED), serving()}
		for _, server := range servers {
			follow(t, server, &corev1.Pod{}, nil, kinformer.Options{})
		}
		var reasons []string
		for _, r := range decoded[tableView](t, get(Handler(Options{}), "format=json")).Informers {
			reasons = append(reasons, r.Reason)
		}
		assert.Equal(t, []string{"panic", "forbidden", "throttled", "connection", ""}, reasons)
	})
}

// TestSources: an informer of several namespaces has the name of its resource, the number of its
// sources, and the problems of each.
func TestSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var namespaces factory.Namespaces
		namespaces.Add("ns")
		namespaces.Add("other")
		pods := corev1.SchemeGroupVersion.WithResource("pods")
		client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{pods: "PodList"})
		client.PrependReactor("list", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
			return action.GetNamespace() == "other", nil, testkit.ErrForbidden
		})
		made := factory.Dynamic(client, 0, factory.WithNamespaces(&namespaces))
		informer := made.ForResource(pods).Informer()
		ctx, stop := context.WithCancel(t.Context())
		made.StartWithContext(ctx)
		defer func() { stop(); made.Shutdown() }()
		synctest.Wait()
		h := Handler(Options{})
		page := get(h, "").Body.String()
		assert.Contains(t, page, `">pods.v1</a>, 2 sources, 1 not synced</td>`)
		assert.Contains(t, page, `>forbidden: source &#34;other&#34;: 1 error since the last success</span></td>`)
		assert.Contains(t, get(h, idOf(t, informer)).Body.String(), "<li>source &#34;other&#34;: 1 error since the last success</li>")
		row := decoded[tableView](t, get(h, "format=json")).Informers[0]
		assert.Equal(t, []int{2, 1}, []int{row.Sources, row.Unsynced})
	})
}

// TestMethods: only GET and HEAD are answered.
func TestMethods(t *testing.T) {
	h := Handler(Options{Objects: true})
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions, http.MethodTrace, "ANY"} {
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, httptest.NewRequest(method, "http://localhost/", nil))
		assert.Equal(t, http.StatusMethodNotAllowed, answer.Code, method)
		assert.Equal(t, "GET, HEAD", answer.Header().Get("Allow"))
		assert.NotEmpty(t, answer.Header().Get("Content-Security-Policy"))
	}
	head := httptest.NewRecorder()
	h.ServeHTTP(head, httptest.NewRequest(http.MethodHead, "http://localhost/", nil))
	assert.Equal(t, http.StatusOK, head.Code)
	assert.Empty(t, head.Body.String())
}

// TestPolicy: the page has its own style and script, and loads nothing else.
func TestPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := Handler(Options{})
		pods := follow(t, serving(), &corev1.Pod{}, nil, kinformer.Options{})
		for _, query := range []string{"", idOf(t, pods), "id=0"} {
			page := get(h, query)
			body, header := page.Body.String(), page.Header()
			found := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindAllStringSubmatch(body, -1)
			require.Len(t, found, 1)
			sum := sha256.Sum256([]byte(found[0][1]))
			policy := header.Get("Content-Security-Policy")
			assert.Contains(t, policy, "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"';")
			assert.NotContains(t, policy, "unsafe")
			assert.Equal(t, 1, strings.Count(body, ownScript))
			body = strings.ReplaceAll(body, ownScript, "")
			for _, none := range []string{"<script", "javascript:", "http:", "https:", "style=", " on", "src=", "<form", "<iframe", "<link"} {
				assert.NotRegexp(t, `<[^>]*`+none, body)
			}
			assert.NotContains(t, body, "://")
			assert.Equal(t, "nosniff", header.Get("X-Content-Type-Options"))
			assert.Equal(t, "no-store", header.Get("Cache-Control"))
			assert.Equal(t, "DENY", header.Get("X-Frame-Options"))
			for _, link := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(body, -1) {
				assert.True(t, strings.HasPrefix(link[1], "?"), link[1])
			}
		}
		still := get(h, "refresh=off").Body.String()
		for _, what := range []string{`<noscript><meta http-equiv="refresh"`, "<script", "data-every"} {
			assert.Contains(t, get(h, "").Body.String(), what)
			assert.NotContains(t, still, what)
		}
	})
}

// ownScript is the element of the script.
var ownScript = `<script src="?script" integrity="` + scriptHash + `" defer></script>`

// TestScript: the hash of the script is the one in the page and in the policy.
func TestScript(t *testing.T) {
	answer := get(Handler(Options{}), "script")
	assert.Equal(t, "text/javascript; charset=utf-8", answer.Header().Get("Content-Type"))
	sum := sha256.Sum256(answer.Body.Bytes())
	hash := "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
	assert.Equal(t, hash, scriptHash)
	assert.Contains(t, answer.Header().Get("Content-Security-Policy"), "; script-src '"+hash+"'; connect-src 'self'; ")
}

const hostile = "<script>alert(1)</script>\"'`&\n\x00\u202e\xff{{.}}<img src=x onerror=alert(1)></td></main><base href=//127.0.0.2/>" +
	"<iframe src=\"javascript:alert(2)\"></iframe><style>*{display:none}</style>\" onmouseover=\"alert(3)\" style=\"display:none\"" +
	"<svg onload=alert(4)><a href=javascript:alert(5)>"

// TestHostileTexts: texts of servers, handlers and functions are escaped, on one line, and
// shortened: pages have the same elements and attributes as with harmless texts.
func TestHostileTexts(t *testing.T) {
	testkit.Reports(t)
	testkit.QuietPanics(t)
	harmless := elementsOf(t, "harmless", "b")
	assert.Greater(t, strings.Count(harmless[2], "<"), 100)
	assert.Equal(t, harmless, elementsOf(t, hostile, "<b>"))
}

// elementsOf runs informers whose texts are all text, some with a long tail, checks their pages, and
// returns the elements of the pages.
func elementsOf(t *testing.T, text, tail string) (elements []string) {
	synctest.Test(t, func(t *testing.T) {
		long := text + strings.Repeat(tail, 10_000)
		failing := follow(t, refusing(errors.New(text)), &corev1.Pod{}, nil, kinformer.Options{ObjectDescription: long})
		fine := follow(t, serving(testkit.PodAt(text, "1")), &corev1.Pod{}, func(informer cache.SharedIndexInformer) {
			handler := cache.ResourceEventHandlerFuncs{AddFunc: func(any) { panic(text) }}
			_, err := informer.AddEventHandler(kinformer.Deliver(handler, kinformer.Delivery{Name: long}))
			require.NoError(t, err)
		}, kinformer.Options{Indexers: cache.Indexers{
			long: func(any) ([]string, error) { return []string{text}, nil },
			text: func(any) ([]string, error) { return nil, errors.New(text) },
		}})
		one, key := idOf(t, fine), url.QueryEscape("ns/"+text)
		for _, h := range []http.Handler{Handler(Options{}), Handler(Options{Objects: true})} {
			for _, query := range []string{
				"", idOf(t, failing), one, one + "&keys", one + "&key=" + key, one + "&key=x" + key, "id=" + key, "from=" + key, one + "&index=x" + key,
				one + "&index=" + url.QueryEscape(long) + "&value=" + url.QueryEscape(text),
			} {
				page := get(h, query).Body.String()
				elements = append(elements, skeleton(page))
				for _, link := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(page, -1) {
					assert.Regexp(t, `^\?`, link[1], query)
				}
				for _, bad := range []string{"<img", "<b>", "\x00", "\u202e", "\xff"} {
					assert.NotContains(t, page, bad, query)
				}
				assert.Less(t, len(page), 40_000, query)
				plain := get(h, query+"&format=text").Body.String()
				assert.NotContains(t, plain, "\x00")
				assert.NotContains(t, plain, "\u202e")
				assert.True(t, json.Valid(get(h, query+"&format=json").Body.Bytes()))
			}
			assert.Contains(t, get(h, idOf(t, failing)).Body.String(), html.EscapeString(text[:min(25, len(text))]))
			assert.Contains(t, get(h, "").Body.String(), `<span class="state failing">failing</span>`)
		}
		lines := strings.Split(strings.TrimSpace(get(Handler(Options{}), "format=text").Body.String()), "\n")
		assert.Len(t, lines, 5, "one line for each")
	})
	return elements
}

// skeleton returns the elements of a page and the names of their attributes.
func skeleton(page string) string {
	elements := strings.Join(regexp.MustCompile(`<[^>]*>`).FindAllString(page, -1), "")
	return regexp.MustCompile(`="[^"]*"`).ReplaceAllString(elements, "")
}

// TestStates: each state has its word and its color.
func TestStates(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		blocked := serving()
		blocked.OnList = func(int, context.Context, metav1.ListOptions) (runtime.Object, error) {
			<-release
			return nil, errors.New("no")
		}
		follow(t, blocked, &corev1.Pod{}, nil, kinformer.Options{})
		follow(t, refusing(testkit.ErrForbidden), &corev1.Pod{}, nil, kinformer.Options{})
		add := func(f func(any)) func(cache.SharedIndexInformer) {
			return func(informer cache.SharedIndexInformer) {
				_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: f})
				require.NoError(t, err)
			}
		}
		follow(t, serving(testkit.PodAt("a", "1")), &corev1.Pod{}, add(func(any) { <-release }), kinformer.Options{})
		follow(t, serving(testkit.PodAt("a", "1"), &corev1.Node{}), &corev1.Pod{}, nil, kinformer.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		stopping := cache.NewSharedIndexInformer(serving(testkit.PodAt("a", "1")), &corev1.Pod{}, 0, nil)
		add(func(any) { <-release })(stopping)
		go stopping.RunWithContext(ctx)
		time.Sleep(2 * time.Second)
		cancel()
		synctest.Wait()
		table := decoded[tableView](t, get(Handler(Options{}), "format=json"))
		var states []string
		for _, r := range table.Informers {
			states = append(states, r.State)
		}
		assert.Equal(t, []string{"starting", "failing", "stuck", "degraded", "stopped"}, states)
		assert.Equal(t, 2.0, table.Informers[2].Lag)
		assert.Equal(t, 1, table.Informers[2].Pending)
		close(release)
	})
	for state, color := range map[string]string{
		"ok": "dafbe1", "starting": "ddf4ff", "degraded": "fff8c5", "stuck": "ffd8d3", "failing": "ffd8d3", "stopped": "eaeef2",
	} {
		assert.Regexp(t, `\.`+state+`[^}]*{background:#`+color+`}`, style)
	}
}

// TestRates: a rate covers the time since the last request.
func TestRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testkit.NewScriptedWatch(100)
		server := serving()
		server.OnWatch = testkit.Watches(w)
		follow(t, server, &corev1.Pod{}, nil, kinformer.Options{})
		h := Handler(Options{})
		rate := func() float64 {
			synctest.Wait()
			return decoded[tableView](t, get(h, "format=json")).Informers[0].EventRate
		}
		assert.Zero(t, rate())
		for i := range 20 {
			w.Events <- testkit.Added(fmt.Sprint(i), fmt.Sprint(6+i))
		}
		time.Sleep(10 * time.Second)
		assert.Equal(t, 2.0, rate())
		time.Sleep(time.Second / 2)
		assert.Equal(t, 2.0, rate(), "it is about a second at least")
		time.Sleep(10 * time.Second)
		assert.Zero(t, rate())
	})
}

// TestRatesForget: only a few numbers are kept of informers that have stopped.
func TestRatesForget(t *testing.T) {
	var r rates
	for id := range uint64(1000) {
		r.of(id, 1, time.Now())
	}
	r.forget(nil)
	assert.Empty(t, r.mu.byInformer)
}

// TestAudits: the page of an audited informer has the results, in each form.
func TestAudits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer := cache.NewSharedIndexInformer(cachetest.Of(testkit.Pod("a", "1"), testkit.Pod("b", "1")), &corev1.Pod{}, 0, nil)
		defer testkit.InBackground(t, informer.RunWithContext)()
		synctest.Wait()
		page := Handler(Options{})
		read := func(query string) string { return get(page, query+"&"+idOf(t, informer)).Body.String() }
		assert.NotContains(t, read("refresh=off"), "Audits:")

		lost, _, _ := informer.GetStore().GetByKey("ns/a")
		require.NoError(t, informer.GetStore().Delete(lost))
		at := time.Now().Add(time.Second).Format(time.RFC3339) // the repair follows
		_, err := audit.Once(t.Context(), informer, audit.Options{Repair: true})
		require.NoError(t, err)
		assert.Contains(t, read("refresh=off"),
			"<p>Audits: different 1; the last at "+at+": different; objects that differ: 0. Found in all: missing 1. Relists for it: 1.</p>")
		assert.Contains(t, read("format=json"), `"lastOutcome": "different"`)
		assert.Regexp(t, `\nrelists .*\nwatch ends .*\ndrops .*\naudits +different 1\naudits found +missing 1\n`, read("format=text"))
	})
}

// TestHosts: with objects, the page answers only for localhost, IP addresses and the program's
// names, in any form, and otherwise says how to add a name. Without objects it answers for every
// host.
func TestHosts(t *testing.T) {
	for host, answers := range map[string]bool{
		"localhost": true, "localhost:8080": true, "LocalHost.:1": true,
		"127.0.0.1": true, "127.0.0.1:8080": true, "10.1.2.3:80": true, "[::1]": true, "[::1]:8080": true, "[fe80::1%25eth0]:80": true,
		"debug.example.com": true, "Debug.Example.Com:443": true, "debug.example.com.": true,
		"": false, "evil.example": false, "evil.example:8080": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false,
		"notdebug.example.com": false, "debug.example.com.evil.example": false, "127.1": false, "[evil.example]:80": false, "a:b:c": false,
	} {
		for _, query := range []string{"", "?id=1", "?id=1&key=ns/a", "?format=json", "?format=text"} {
			request := httptest.NewRequest(http.MethodGet, "/debug/informers/"+query, nil)
			request.Host = host
			withObjects, without := httptest.NewRecorder(), httptest.NewRecorder()
			Handler(Options{Objects: true, Hosts: []string{"debug.example.com."}}).ServeHTTP(withObjects, request)
			Handler(Options{}).ServeHTTP(without, request)
			assert.NotEqual(t, http.StatusMisdirectedRequest, without.Code, host)
			if answers {
				assert.NotEqual(t, http.StatusMisdirectedRequest, withObjects.Code, "%q%s", host, query)
				continue
			}
			assert.Equal(t, http.StatusMisdirectedRequest, withObjects.Code, "%q%s", host, query)
			assert.Contains(t, withObjects.Body.String(), "add that to Options.Hosts", "%q%s", host, query)
		}
	}
}

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(seconds float64) time.Time { return began.Add(time.Duration(seconds * float64(time.Second))) }

// TestRecorder: samples are at least a second apart, and old ones are dropped.
func TestRecorder(t *testing.T) {
	var r recorder
	times := func(samples []sample) (seconds []float64) {
		for _, s := range samples {
			seconds = append(seconds, s.at.Sub(began).Seconds())
		}
		return seconds
	}
	add := func(s float64) []float64 { return times(r.add(1, sample{at: at(s)})) }
	assert.Equal(t, []float64{0}, add(0))
	assert.Equal(t, []float64{0}, add(0.9))
	assert.Equal(t, []float64{0, 1}, add(1))
	assert.Equal(t, []float64{0, 1, 300}, add(300))
	assert.Equal(t, []float64{1, 300, 301}, add(301))
	assert.Equal(t, []float64{1, 300, 301}, add(300.5), "a look that was overtaken by another one")
	assert.Equal(t, []float64{301, 601}, add(601))
	assert.Equal(t, []float64{2000}, add(2000), "after a long time without a look")
	r.add(2, sample{at: at(2301)})
	assert.Len(t, r.mu.series, 1, "nobody has looked at the other")
}

// TestRecorderIsBounded: for any number of viewers and informers, the recorder takes less than a
// MiB and keeps the informers that were requested last.
func TestRecorderIsBounded(t *testing.T) {
	const mostSamples = int(chartSpan/sampleSpan) + 1
	var r recorder
	look := func(id uint64, second int) {
		r.add(id, sample{at: at(float64(second) + float64(id)/1000)})
		r.add(id, sample{at: at(float64(second) + float64(id)/1000 + 0.5)})
		if len(r.mu.series) > mostSeries {
			t.Fatal(len(r.mu.series))
		}
	}
	for second := range 10 {
		for id := range uint64(2 * mostSeries) {
			look(id, second)
		}
	}
	for id := range uint64(mostSeries) {
		assert.Contains(t, r.mu.series, mostSeries+id)
	}
	for second := range 2 * mostSamples {
		for id := range uint64(mostSeries) {
			look(id, 10+second)
		}
	}
	r.add(7777, sample{at: at(0)})
	assert.Len(t, r.mu.series, mostSeries, "a look that was overtaken by all others")
	delete(r.mu.series, 7777)
	bytes := 0
	for _, known := range r.mu.series {
		assert.InDelta(t, mostSamples-1, len(known), 1)
		bytes += cap(known) * int(unsafe.Sizeof(sample{}))
	}
	assert.Less(t, bytes, 1<<20)
	assert.Greater(t, bytes, 1<<18, "the test fills it")
}

// TestCharts: values are at their place in the time span of the samples.
func TestCharts(t *testing.T) {
	assert.Empty(t, chartsOf(nil).Charts)
	one := chartsOf([]sample{{at(0), 7, 1, 2048}})
	assert.Equal(t, "30s", one.Span)
	assert.Equal(t, []chart{{Title: "Events/s"}, {Title: "Lag", Now: "1s", Most: "1s"}, {Title: "Heap of the process", Now: "2.0 KiB", Most: "2.0 KiB"}}, one.Charts)

	some := chartsOf([]sample{{at(0), 10, 0, 4096}, {at(15), 40, 0, 1024}, {at(30), 55, 0, 2048}})
	assert.Equal(t, "30s", some.Span)
	assert.Equal(t, []chart{
		{"Events/s", "1.0", "2.0", []string{"150.0,0.0 300.0,30.0"}},
		{"Lag", "0s", "0s", []string{"0.0,60.0 150.0,60.0 300.0,60.0"}},
		{"Heap of the process", "2.0 KiB", "4.0 KiB", []string{"0.0,0.0 150.0,45.0 300.0,30.0"}},
	}, some.Charts)

	short := chartsOf([]sample{{at(0), 0, 0.0003, 0}, {at(1), 0, 0, 0}})
	assert.Equal(t, chart{"Lag", "0s", "300µs", []string{"290.0,0.0 300.0,60.0"}}, short.Charts[1])

	gaps := chartsOf([]sample{{at(0), 0, 1, 1}, {at(30), 0, 1, 1}, {at(90), 0, 1, 1}, {at(180), 0, 1, 1}, {at(200), 0, 1, 1}})
	assert.Equal(t, "5m0s", gaps.Span)
	assert.Equal(t, []string{"100.0,0.0 130.0,0.0", "280.0,0.0 300.0,0.0"}, gaps.Charts[1].Lines, "nobody has looked between them")
}

// TestChartOnThePage: each request for an informer adds a point, in any format.
func TestChartOnThePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testkit.NewScriptedWatch(100)
		server := serving(testkit.PodAt("a", "1"))
		server.OnWatch = testkit.Watches(w)
		id := idOf(t, follow(t, server, &corev1.Pod{}, nil, kinformer.Options{}))
		other := follow(t, serving(), &corev1.Pod{}, nil, kinformer.Options{})
		h := Handler(Options{})
		page := get(h, id).Body.String()
		assert.Equal(t, 3, strings.Count(page, "<figure>"))
		assert.NotContains(t, page, "<svg")
		assert.Contains(t, page, "The next look begins a line.")
		assert.Contains(t, page, `data-every="2"`)
		for i := range 20 {
			w.Events <- testkit.Added(fmt.Sprint(i), fmt.Sprint(6+i))
		}
		time.Sleep(10 * time.Second)
		get(h, id+"&format=json")
		time.Sleep(10 * time.Second)
		page = get(h, id).Body.String()
		assert.Equal(t, 3, strings.Count(page, "<svg"))
		assert.Contains(t, page, `aria-label="Events/s, now 0.0, at most 2.0"`)
		assert.Contains(t, page, `<polyline points="200.0,0.0 300.0,60.0"/>`)
		assert.Contains(t, page, `<polyline points="100.0,60.0 200.0,60.0 300.0,60.0"/>`)
		assert.NotContains(t, get(h, idOf(t, other)).Body.String(), "<svg", "each has its own")
	})
}

const hidden = "hunter2"

// byOneValue has an index of one value, which all objects have.
var byOneValue = cache.Indexers{"i": func(any) ([]string, error) { return []string{"v"}, nil }}

// everywhere returns all queries for an informer with an object ns/a and an index "i" with the
// value "v", in all formats.
func everywhere(t *testing.T, informer cache.Controller) (queries []string) {
	id := idOf(t, informer)
	for _, format := range []string{"", "&format=json", "&format=text"} {
		for _, query := range []string{"", id, id + "&keys", id + "&index=i&value=v", id + "&key=ns/a"} {
			queries = append(queries, query+format)
		}
	}
	return queries
}

// roundTripper is a transport to a server that answers with the result in JSON; "": the server is away.
type roundTripper func(*http.Request) string

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	body := f(r)
	if body == "" {
		return nil, testkit.ErrRefused
	}
	header := http.Header{"Content-Type": {runtime.ContentTypeJSON}}
	return &http.Response{StatusCode: http.StatusOK, Header: header, Request: r, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// notDecoded returns an informer that decodes directly and cannot decode an object, in a list or in a watch.
func notDecoded(t *testing.T, inWatch bool) cache.SharedIndexInformer {
	const bad = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"` + hidden + `","namespace":"ns","resourceVersion":"6"},"spec":{"nodeName":7}}`
	wire := roundTripper(func(r *http.Request) string {
		items := bad
		if r.URL.Query().Get("watch") != "" {
			return `{"type":"ADDED","object":` + bad + `}`
		} else if inWatch {
			items = `{"metadata":{"name":"a","namespace":"ns","resourceVersion":"5"}}`
		}
		return `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[` + items + `]}`
	})
	options := kinformer.Options{Requests: kinformer.Requests{Mode: kinformer.ListModeList, Backoff: *testkit.Second()}}
	options.Indexers = byOneValue
	informer := kinformer.New(informers.ClientOver(t, wire, runtime.ContentTypeJSON, true), &corev1.Pod{}, options)
	t.Cleanup(testkit.InBackground(t, informer.RunWithContext))
	time.Sleep(time.Second)
	synctest.Wait()
	require.ErrorContains(t, informers.Status(t, informer).LastError, hidden)
	return informer
}

// TestCountsOnly: without Options.Objects there are no keys, index values and objects, and no texts
// of the program's functions.
func TestCountsOnly(t *testing.T) {
	testkit.Reports(t)
	testkit.QuietPanics(t)
	synctest.Test(t, func(t *testing.T) {
		pod := testkit.PodAt("a", "1")
		pod.Name = hidden
		pod.Spec.NodeName = hidden
		other := testkit.PodAt("b", "2")
		informer := follow(t, serving(pod, other, testkit.PodIn("elsewhere", "c", "3")), &corev1.Pod{}, func(informer cache.SharedIndexInformer) {
			require.NoError(t, informer.AddIndexers(cache.Indexers{"i": func(any) ([]string, error) { return []string{hidden}, errors.New(hidden) }}))
			require.NoError(t, informer.SetTransform(func(obj any) (any, error) {
				if obj.(*corev1.Pod).Name == "b" {
					return nil, errors.New(hidden)
				}
				return obj, nil
			}))
			_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { panic(hidden) }})
			require.NoError(t, err)
		}, kinformer.Options{Requests: kinformer.Requests{ExpectedNamespace: "ns"}, Queue: kinformer.Queue{KeepCached: true}})
		failing := follow(t, serving(other), &corev1.Pod{}, func(informer cache.SharedIndexInformer) {
			require.NoError(t, informer.SetTransform(func(any) (any, error) { return nil, errors.New(hidden) }))
		}, kinformer.Options{})
		strange := follow(t, serving(testkit.PodIn(hidden, "c", "3")), &corev1.Pod{}, nil, kinformer.Options{Requests: kinformer.Requests{ExpectedNamespace: "ns"}})
		unlisted, unwatched := notDecoded(t, false), notDecoded(t, true)
		for _, informer := range []cache.Controller{informer, failing, strange, unlisted, unwatched} {
			for _, query := range everywhere(t, informer) {
				answer := get(Handler(Options{}), query)
				assert.NotContains(t, answer.Body.String(), hidden, query)
				assert.NotContains(t, answer.Body.String(), "elsewhere", query)
			}
			assert.Contains(t, get(Handler(Options{Objects: true}), idOf(t, informer)).Body.String(), hidden, "the test hides something")
		}
		for _, query := range []string{"&keys", "&index=i&value=v", "&key=ns/a"} {
			assert.Equal(t, http.StatusForbidden, get(Handler(Options{}), idOf(t, informer)+query).Code)
		}
	})
}

// TestErrorsNameNoObjects: errors of queues, panics and requests of the program are shown without their ends, which may name
// objects.
func TestErrorsNameNoObjects(t *testing.T) {
	testkit.Reports(t)
	testkit.QuietPanics(t)
	synctest.Test(t, func(t *testing.T) {
		pod := testkit.PodAt(hidden, "1")
		known := cache.NewStore(cache.MetaNamespaceKeyFunc)
		require.NoError(t, known.Add(pod))
		key := func(obj any) (string, error) {
			if p, ok := obj.(*corev1.Pod); ok && p.Name == hidden {
				return "", errors.New("no key")
			}
			return cache.MetaNamespaceKeyFunc(obj)
		}
		run := func(c cache.Controller) cache.Controller {
			t.Cleanup(testkit.InBackground(t, c.RunWithContext))
			return c
		}
		server := serving(testkit.PodAt("a", "1"))
		resync := run(cache.New(&cache.Config{
			Queue:         cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KeyFunction: key, KnownObjects: known}),
			ListerWatcher: server, ObjectType: &corev1.Pod{}, FullResyncPeriod: time.Second,
			Process: func(any, bool) error { return nil },
		}))
		panics := run(cache.New(&cache.Config{
			Queue:         panicking{cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{})},
			ListerWatcher: serving(testkit.PodAt(hidden, "1")), ObjectType: &corev1.Pod{},
			Process: func(any, bool) error { return nil },
		}))
		config := &rest.Config{Host: "http://127.0.0.1:1", Transport: roundTripper(func(*http.Request) string { return "" })}
		client, err := kubernetes.NewForConfig(config)
		require.NoError(t, err)
		one := kinformer.New(cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "secrets", "ns", fields.OneTermEqualSelector("metadata.name", hidden)), &corev1.Secret{}, kinformer.Options{})
		run(one)
		config.Wrap(direct.Transport)
		client, err = kubernetes.NewForConfig(config)
		require.NoError(t, err)
		lw := direct.NewListWatch(client.CoreV1().RESTClient(), &corev1.Secret{}, "secrets", "ns", func(o *metav1.ListOptions) { o.FieldSelector = "metadata.name=" + hidden })
		selected := run(kinformer.New(lw, &corev1.Secret{}, kinformer.Options{}))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		for name, informer := range map[string]cache.Controller{"resync": resync, "panic": panics, "url": one, "name": selected} {
			for _, query := range everywhere(t, informer) {
				answer := get(Handler(Options{}), query)
				assert.False(t, strings.Contains(answer.Body.String(), hidden), "%s %s", name, query)
			}
			all := get(Handler(Options{Objects: true}), idOf(t, informer)).Body.String()
			assert.Contains(t, all, hidden, "the test hides something")
		}
	})
}

type panicking struct{ *cache.DeltaFIFO }

func (p panicking) Replace(list []any, _ string) error {
	panic("cannot take " + list[0].(*corev1.Pod).Name)
}

// TestOwnWords: what is left of errors that may name an object, and of others.
func TestOwnWords(t *testing.T) {
	for text, want := range map[string]string{
		"failed to list pods.v1: item 3, ns/a: spec.nodeName: number instead of string":                      "failed to list pods.v1: item 3",
		"unable to decode an event from the watch stream: ADDED of ns/a: why":                                "unable to decode an event from the watch stream: ADDED",
		"unable to decode an event from the watch stream: http2: client connection lost":                     "",
		`failed to list pods.v1: Get "http://host/pods?fieldSelector=metadata.name%3Da": connection refused`: `failed to list pods.v1: Get "http://host/pods": connection refused`,
		`resync: resync of "ns/a": no key`:                                                                   "resync",
		"failed to list resyncs.v1: is forbidden":                                                            "",
		`Get "http://host/pods": an answer?`:                                                                 "",
	} {
		if want == "" {
			want = text
		}
		assert.Equal(t, want, new(handler).ownWords(text))
		assert.Equal(t, text, (&handler{options: Options{Objects: true}}).ownWords(text))
	}
}

// TestSourceWithColons: the name of a source is not taken for the end of the problem, which has no more than
// its first words.
func TestSourceWithColons(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		informer, set := sources.New(&corev1.Pod{}, kinformer.Options{})
		set.Put(`a: "b": c`, serving(testkit.PodAt("a", "1"), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: hidden}}))
		t.Cleanup(testkit.InBackground(t, informer.RunWithContext))
		synctest.Wait()
		problem := func(o Options) []string {
			return decoded[informerView](t, get(Handler(o), idOf(t, informer)+"&format=json")).Degraded
		}
		const counts = `source "a: \"b\": c": 1 object of another type or namespace left out`
		assert.Equal(t, []string{counts}, problem(Options{}))
		assert.Equal(t, []string{counts + ": object has type *v1.Node, not *v1.Pod"}, problem(Options{Objects: true}))
	})
}

// TestReasonsFirst: problems are at the top of an informer's page and in its row; empty sections
// are omitted.
func TestReasonsFirst(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		failing := follow(t, serving(testkit.PodAt("a", "1")), &corev1.Pod{}, func(informer cache.SharedIndexInformer) {
			require.NoError(t, informer.SetTransform(func(any) (any, error) { return nil, errors.New("refused") }))
		}, kinformer.Options{})
		fine := follow(t, serving(testkit.PodAt("a", "1")), &corev1.Pod{}, nil, kinformer.Options{})
		h := Handler(Options{Objects: true})
		page := get(h, idOf(t, failing)).Body.String()
		assert.Less(t, strings.Index(page, "refused"), strings.Index(page, "<h2>Requests"))
		assert.NotContains(t, page, "at version ,")
		assert.NotContains(t, page, "last event")
		assert.Contains(t, get(h, "").Body.String(), "1 error since the last success")
		page = get(h, idOf(t, fine)).Body.String()
		for _, empty := range []string{"<h2>Errors", "<h2>Outages", "<h2>Handlers", "<h2>Indices"} {
			assert.NotContains(t, page, empty)
		}
	})
}

// TestObjects: with Options.Objects there are keys and objects, without repeated content.
func TestObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pod := testkit.PodAt("a", "1")
		pod.Labels = map[string]string{"l": "<b>", "unprintable": "\x00\x1b\x7f\u2028\u202e\U000e0001\xff"}
		pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: hidden}}
		pod.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": hidden, "kept": "yes"}
		informer := follow(t, serving(pod, testkit.PodAt("b", "2")), &corev1.Pod{}, nil, kinformer.Options{Indexers: cache.Indexers{
			"i": func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Name}, nil },
		}})
		h, id := Handler(Options{Objects: true}), idOf(t, informer)
		assert.ElementsMatch(t, []string{"ns/a", "ns/b"}, decoded[keysView](t, get(h, id+"&keys&format=json")).Keys)
		assert.Equal(t, "ns/b\n", get(h, id+"&index=i&value=b&format=text").Body.String())
		assert.Contains(t, get(h, id+"&index=i&value=b").Body.String(), `href="?`+id+`&amp;key=ns%2Fb"`)
		assert.Empty(t, decoded[keysView](t, get(h, id+"&index=i&value=c&format=json")).Keys)
		assert.Equal(t, http.StatusNotFound, get(h, id+"&index=j&value=c").Code)
		assert.Equal(t, http.StatusNotFound, get(h, id+"&key=ns/c").Code)

		page := get(h, id+"&key=ns/a").Body.String()
		assert.Contains(t, page, "&#34;kept&#34;: &#34;yes&#34;")
		assert.Contains(t, page, `&#34;unprintable&#34;: &#34;\u0000\u001b\u007f\u2028\u202e\udb40\udc01`+"\uFFFD&#34;")
		assert.NotContains(t, page, "<b>")
		assert.NotContains(t, page, hidden)
		got := decoded[objectView](t, get(h, id+"&key=ns/a&format=json"))
		assert.Equal(t, "1", got.ResourceVersion)
		assert.Contains(t, string(got.Object), `"name": "a"`)
		assert.NotContains(t, string(got.Object), hidden)
	})
}

// TestSecrets: no query returns the content of a Secret, whatever its type or informer.
func TestSecrets(t *testing.T) {
	content := func(kind string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": "a", "namespace": "ns", "annotations": map[string]any{"x": hidden}},
			"data": map[string]any{"password": hidden},
		}}
	}
	meta := metav1.ObjectMeta{Namespace: "ns", Name: "a", Annotations: map[string]string{"x": hidden}}
	secretMeta := &metav1.PartialObjectMetadata{ObjectMeta: meta}
	secretMeta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	for name, tc := range map[string]struct {
		object  runtime.Object
		example runtime.Object
		options kinformer.Options
	}{
		"typed":             {&corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"p": hidden}}, &corev1.Secret{}, kinformer.Options{}},
		"among others":      {&corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"p": hidden}}, nil, kinformer.Options{}},
		"unstructured":      {content("Secret"), content("Secret"), kinformer.Options{}},
		"unstructured only": {content("Secret"), nil, kinformer.Options{}},
		"of another group":  {content("SealedSecret"), nil, kinformer.Options{}},
		"by the resource":   {content(""), nil, kinformer.Options{ObjectDescription: "secrets.v1"}},
		"metadata":          {secretMeta, nil, kinformer.Options{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tc.options.Indexers = byOneValue
				informer := follow(t, serving(tc.object), tc.example, nil, tc.options)
				h := Handler(Options{Objects: true})
				require.Len(t, informer.GetStore().ListKeys(), 1)
				for _, query := range everywhere(t, informer) {
					assert.NotContains(t, get(h, query).Body.String(), hidden, query)
				}
				assert.Contains(t, get(h, idOf(t, informer)+"&key=ns/a").Body.String(), "not shown")
			})
		})
	}
}

// odd is an object that cannot be encoded as JSON.
type odd struct {
	corev1.Pod
	Fails any
}

type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("no") }

func (o *odd) DeepCopyObject() runtime.Object { return o }

// TestOddObjects: an object that cannot be shown leads to an answer that says so.
func TestOddObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		large := testkit.PodAt("large", "1")
		large.Labels = map[string]string{"x": string(make([]byte, mostObject))}
		informer := follow(t, serving(large, &odd{Pod: *testkit.PodAt("panics", "1"), Fails: panics{}},
			&odd{Pod: *testkit.PodAt("fails", "1"), Fails: func() {}}), nil, nil, kinformer.Options{})
		for key, want := range map[string]string{"ns/large": "too large", "ns/panics": "panicked", "ns/fails": "unsupported type"} {
			page := get(Handler(Options{Objects: true}), idOf(t, informer)+"&key="+url.QueryEscape(key)).Body.String()
			assert.Contains(t, page, want)
		}
	})
}

// TestManyInformers: the table has some of many informers, and a link to the others.
func TestManyInformers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = mostRows + 3
		for i := range n {
			follow(t, serving(), &corev1.Pod{}, nil, kinformer.Options{ObjectDescription: fmt.Sprint("informer-", i)})
		}
		h := Handler(Options{})
		first := decoded[tableView](t, get(h, "format=json"))
		assert.Equal(t, n, first.Running)
		assert.Len(t, first.Informers, mostRows)
		assert.Equal(t, 3, first.Omitted)
		assert.Contains(t, get(h, "").Body.String(), fmt.Sprintf(`<a href="?from=%d">3 more</a>`, mostRows))
		rest := decoded[tableView](t, get(h, fmt.Sprintf("from=%d&format=json", mostRows)))
		require.Len(t, rest.Informers, 3)
		assert.Equal(t, fmt.Sprint("informer-", n-1), rest.Informers[2].Name)
		for _, from := range []string{"-5", "x", "99999999999999999999"} {
			assert.Equal(t, http.StatusOK, get(h, "from="+from).Code)
		}
		assert.Empty(t, decoded[tableView](t, get(h, "from=999999&format=json")).Informers)
		for _, r := range rest.Informers {
			assert.Contains(t, get(h, fmt.Sprint("id=", r.ID)).Body.String(), "<h1>"+r.Name)
		}
	})
}

// The bounds of answers in the package documentation.
const (
	mostPage = 2 << 20
	mostJSON = 8 << 20
)

// bloated returns texts that become longest when they are escaped.
func bloated(n int) string { return fmt.Sprint(n) + bloat }

var bloat = "\"><script>alert('" + strings.Repeat("\"<", 2000)

// huge sets up an informer with a thousand objects, a million index values, ten thousand handlers,
// and as many indices as a page shows. One handler is stuck until release is closed.
func huge(tb testing.TB, release <-chan struct{}) func(cache.SharedIndexInformer) {
	return func(informer cache.SharedIndexInformer) {
		indexers := cache.Indexers{"million": func(obj any) (values []string, err error) {
			for i := range 1000 {
				values = append(values, fmt.Sprintf("%s-%d", obj.(*corev1.Pod).Name, i))
			}
			return values, nil
		}}
		for i := range mostReasons + 1 {
			indexers[bloated(i)] = failingOnce(i)
		}
		require.NoError(tb, informer.AddIndexers(indexers))
		for i := range 10_000 {
			var f cache.ResourceEventHandlerFuncs
			if i == 7777 {
				f.AddFunc = func(any) { <-release }
			}
			_, err := informer.AddEventHandler(kinformer.Deliver(f, kinformer.Delivery{Name: bloated(i)}))
			require.NoError(tb, err)
		}
	}
}

// failingOnce returns an index function that fails for one pod.
func failingOnce(n int) func(any) ([]string, error) {
	return func(obj any) ([]string, error) {
		if obj.(*corev1.Pod).Name == "pod-0" {
			return nil, errors.New(bloated(n))
		}
		return nil, nil
	}
}

func thousandPods() (pods []runtime.Object) {
	for i := range 1000 {
		pods = append(pods, testkit.PodAt(fmt.Sprint("pod-", i), "1"))
	}
	return pods
}

// TestHugeInformer: answers stay within their bounds, have the number of omitted items, and show
// problems.
func TestHugeInformer(t *testing.T) {
	testkit.AtNight(t)
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		informer := follow(t, serving(thousandPods()...), &corev1.Pod{}, huge(t, release), kinformer.Options{})
		h := Handler(Options{Objects: true})
		for _, query := range everywhere(t, informer) {
			assertBounded(t, h, query)
		}
		inspection, err := inspect.Of(informer)
		require.NoError(t, err)
		assert.InEpsilon(t, 1_000_000, inspection.Indices[len(inspection.Indices)-1].Values, 0.3)
		page := get(h, idOf(t, informer)).Body.String()
		for _, text := range []string{"And 9900 that are less behind.", "And 2 more.", "<li>and 1 more</li>", "7777&#34;&gt;&lt;script&gt;"} {
			assert.Contains(t, page, text)
		}
		view := decoded[informerView](t, get(h, idOf(t, informer)+"&format=json"))
		assert.Equal(t, bloated(7777)[:mostText]+"…", view.HandlerViews[0].Name, "the one that is behind")
		assert.Len(t, view.Indices, mostIndices)
		var before, after goruntime.MemStats
		goruntime.ReadMemStats(&before)
		get(h, idOf(t, informer))
		goruntime.ReadMemStats(&after)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(32<<20), "nothing is made for each index value, and little for each handler")
	})
}

// TestHugeTable: the table stays within its bounds if all of its texts have their greatest length.
func TestHugeTable(t *testing.T) {
	testkit.AtNight(t)
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		for i := range mostRows + 1 {
			server := serving(testkit.PodAt("pod-0", "1"))
			if i%2 == 0 {
				server = refusing(errors.New(bloated(i)))
			}
			indexers := cache.Indexers{}
			for n := range 10 {
				indexers[bloated(n)] = failingOnce(n)
			}
			follow(t, server, &corev1.Pod{}, nil, kinformer.Options{ObjectDescription: bloated(i), Indexers: indexers})
		}
		h := Handler(Options{Objects: true})
		for _, format := range []string{"", "format=json", "format=text"} {
			assertBounded(t, h, format)
		}
		table := decoded[tableView](t, get(h, "format=json"))
		assert.Equal(t, 1, table.Omitted)
		assert.Equal(t, "and 7 more", table.Informers[1].Degraded[mostInRow])
	})
}

// TestHugeKeys: keys that are longer than any object's name do not make a page longer, in the list
// of all keys and in that of an index.
func TestHugeKeys(t *testing.T) {
	testkit.AtNight(t)
	synctest.Test(t, func(t *testing.T) {
		var objects []runtime.Object
		for i := range mostKeys + 1 {
			objects = append(objects, testkit.PodAt(bloated(i), "1"))
		}
		informer := follow(t, serving(objects...), &corev1.Pod{}, nil, kinformer.Options{Indexers: byOneValue})
		h := Handler(Options{Objects: true})
		for _, query := range everywhere(t, informer) {
			assertBounded(t, h, query)
		}
		for _, query := range []string{"&keys", "&index=i&value=v"} {
			keys := decoded[keysView](t, get(h, idOf(t, informer)+query+"&format=json"))
			assert.Len(t, keys.Keys, mostKeys)
			assert.True(t, keys.More)
		}
	})
}

func assertBounded(t *testing.T, h http.Handler, query string) {
	t.Helper()
	most := mostPage
	if strings.Contains(query, "format=json") {
		most = mostJSON
	}
	assert.Less(t, get(h, query).Body.Len(), most, query)
}
