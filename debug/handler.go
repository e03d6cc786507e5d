// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/door"
)

// Options configures the page. The zero value is ready for use.
type Options struct {
	// Objects shows keys, index values and objects, and the errors of the program's functions, to
	// everyone with access to the page. The content of Secrets is not shown even then. The page
	// then answers only for the hosts localhost, any IP address, and Hosts.
	Objects bool
	// Hosts are further host names, without ports, for which the page answers with Objects: the
	// names under which the program is reached, for instance behind a proxy. A request for another
	// name gets a 421, because a page of another site may have sent it, by DNS rebinding.
	Hosts []string
}

// Handler returns a handler that shows the informers of the process. The package documentation says
// who should have access to it. It may be used by any number of goroutines.
func Handler(options Options) http.Handler {
	return &handler{options: options}
}

type handler struct {
	options Options
	rates   rates
	samples recorder
}

// answer is the answer to a request, in three forms.
type answer struct {
	code int
	data any                 // for JSON
	html func(*page)         // the content of the page for browsers
	text func(*bytes.Buffer) // nil means data as JSON
}

// ServeHTTP answers a GET or HEAD.
func (h *handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	header := w.Header()
	for name, value := range securityHeaders {
		header.Set(name, value)
	}
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "GET or HEAD only", http.StatusMethodNotAllowed)
		return
	}
	query := req.URL.Query()
	if query.Has("script") {
		send(w, req, http.StatusOK, "text/javascript; charset=utf-8", script)
		return
	}
	a := problem(http.StatusMisdirectedRequest, misdirected)
	if h.options.answersTo(req.Host) {
		a = h.answer(query)
	}
	body, contentType, err := a.as(query.Get("format"), query)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	send(w, req, a.code, contentType, body)
}

// send writes an answer.
func send(w http.ResponseWriter, req *http.Request, code int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	if req.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// policy allows the style and the script of this package, and the script's requests to this server.
// No script may create elements from texts.
var policy = "default-src 'none'; style-src '" + styleHash + "'; script-src '" + scriptHash + "'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// securityHeaders prevent the content from being executed, embedded, forwarded or stored.
var securityHeaders = map[string]string{
	"Content-Security-Policy": policy,
	"X-Content-Type-Options":  "nosniff",
	"X-Frame-Options":         "DENY",
	"Referrer-Policy":         "no-referrer",
	"Cache-Control":           "no-store",

	"Cross-Origin-Resource-Policy": "same-origin",
}

// answer returns the answer to a query.
func (h *handler) answer(query url.Values) answer {
	if !query.Has("id") {
		return h.table(query)
	}
	id, _ := strconv.ParseUint(query.Get("id"), 10, 64)
	informer, inspection := find(id)
	switch {
	case informer == nil:
		return problem(http.StatusNotFound, "No informer with this number runs: it has stopped, or never was.")
	case asksForOne(query):
		return h.one(inspection)
	case !h.options.Objects:
		return problem(http.StatusForbidden, "Keys and objects are not shown: debug.Options.Objects is not set.")
	case query.Has("key"):
		return object(informer, &inspection, query.Get("key"))
	default:
		return keys(informer, &inspection, query)
	}
}

// asksForOne reports whether the query is for an informer, rather than for its keys or objects.
func asksForOne(query url.Values) bool {
	return query.Has("id") && !query.Has("key") && !query.Has("keys") && !query.Has("index")
}

// find returns the informer with a number, or nil if it does not run.
func find(id uint64) (informer cache.Controller, inspection inspect.Inspection) {
	informer, found := door.Running.Find(id)
	if !found {
		return nil, inspect.Inspection{}
	}
	inspection, err := inspect.Of(informer)
	if err != nil {
		return nil, inspect.Inspection{}
	}
	return informer, inspection
}

// table returns the answer with all informers from an offset on.
func (h *handler) table(query url.Values) answer {
	all := slices.Collect(inspect.All())
	first, _ := strconv.Atoi(query.Get("from"))
	first = min(max(first, 0), len(all))
	last := min(first+mostRows, len(all))
	view := &tableView{At: time.Now(), Running: len(all), From: first, Omitted: len(all) - last, Next: last, ClientGo: foreigners()}
	var shown []inspect.Inspection
	switch query.Get("sort") {
	case "":
		shown = inspected(all[first:last])
	case "memory":
		view.ByMemory, shown = true, byMemory(inspected(all), first, last)
	default:
		return problem(http.StatusBadRequest, "sort: use memory, or leave it out")
	}
	for at := range shown {
		view.Informers = append(view.Informers, h.row(&shown[at]))
	}
	h.rates.forget(all)
	return answer{http.StatusOK, view, view.html, view.text}
}

// inspected describes informers, without those that have just ended.
func inspected(informers []cache.Controller) (all []inspect.Inspection) {
	for _, informer := range informers {
		if one, err := inspect.Of(informer); err == nil {
			all = append(all, one)
		}
	}
	return all
}

// byMemory returns those from first to last in the order of their memory, the largest first. Those
// with equal memory stay in the order of their start.
func byMemory(all []inspect.Inspection, first, last int) (shown []inspect.Inspection) {
	order := sorted(len(all), func(a, b int) bool { return memoryOf(&all[a].Memory) > memoryOf(&all[b].Memory) })
	for _, at := range order[min(first, len(order)):min(last, len(order))] {
		shown = append(shown, all[at])
	}
	return shown
}

// one returns the answer about one informer.
func (h *handler) one(inspection inspect.Inspection) answer {
	view := h.view(&inspection)
	view.Samples = h.samples.add(inspection.ID, sampleOf(&inspection, view.Lag))
	return answer{http.StatusOK, view, view.html, view.text}
}

// problem returns an answer that explains why there is no content.
func problem(code int, why string) answer {
	view := struct {
		Problem string `json:"problem"`
	}{why}
	show := func(p *page) {
		p.home()
		p.put("<p>{}</p>", why)
	}
	return answer{code, view, show, func(b *bytes.Buffer) { b.WriteString(why + "\n") }}
}

// as returns the body of the answer in a format.
func (a *answer) as(format string, query url.Values) (body []byte, contentType string, err error) {
	switch {
	case format == "" || format == "html":
		return a.page(query), "text/html; charset=utf-8", nil
	case format == "text" && a.text != nil:
		var text bytes.Buffer
		a.text(&text)
		return text.Bytes(), "text/plain; charset=utf-8", nil
	case format == "json" || format == "text":
		text, err := json.MarshalIndent(a.data, "", "  ")
		return append(printable(text), '\n'), "application/json", err
	default:
		return nil, "", errFormat
	}
}
