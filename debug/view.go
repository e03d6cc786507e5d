// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/beside"
	"github.com/kinformer/cache/internal/switched"
)

// Bounds of the pages.
const (
	mostRows     = 500 // informers in the table
	mostHandlers = 100 // handlers of an informer, stuck and late ones first
	mostIndices  = 100
	mostReasons  = 100 // problems of an informer
	mostInRow    = 3   // problems in a row of the table
	mostKeys     = 200
	mostText     = 300 // characters of a text
	mostError    = 120 // characters of an error in a row
	mostObject   = 256 << 10
)

var errFormat = errors.New("format: use html, json or text")

// tableView is the content of the table of informers.
type tableView struct {
	At        time.Time `json:"at"`
	Running   int       `json:"running"`
	From      int       `json:"from"`
	Omitted   int       `json:"omitted"` // the number after the last one
	Next      int       `json:"-"`       // the offset of these
	ByMemory  bool      `json:"-"`       // whether the informers are in the order of their memory
	Informers []row     `json:"informers"`
	ClientGo  []foreign `json:"clientGo,omitempty"`
}

// foreign is the content of the row of an informer that is client-go's.
type foreign struct {
	Name            string `json:"name"`
	Because         string `json:"because"`
	Synced          bool   `json:"synced"`
	Objects         int    `json:"objects"`
	ResourceVersion string `json:"resourceVersion"`
}

// foreigners returns the rows of informers that are client-go's, the first mostRows of them.
func foreigners() (rows []foreign) {
	all := switched.Running()
	for _, e := range all[:min(len(all), mostRows)] {
		r := foreign{clean(e.What), clean(e.Why), e.Self.HasSynced(), 0, clean(e.Self.LastSyncResourceVersion())}
		if e.Store != nil {
			r.Objects = len(e.Store.ListKeys())
		}
		rows = append(rows, r)
	}
	return rows
}

// Head returns the heading, with the number of informers.
func (v *tableView) Head() string { return beside.Counted(int64(v.Running), "informer") + " running" }

// row is the content of an informer's row in the table. Durations are in seconds.
type row struct {
	ID           uint64   `json:"id"`
	Name         string   `json:"name"`
	InformerName string   `json:"informerName,omitempty"`
	Type         string   `json:"type"`
	Resource     string   `json:"resource,omitempty"` // resource.version.group
	Namespace    string   `json:"namespace,omitempty"`
	Server       string   `json:"server,omitempty"`
	Sources      int      `json:"sources,omitempty"` // of an informer that has several
	Unsynced     int      `json:"unsyncedSources,omitempty"`
	State        string   `json:"state"`
	Phase        string   `json:"phase"`
	PhaseSeconds float64  `json:"phaseSeconds"`
	Synced       bool     `json:"synced"`
	Reason       string   `json:"reason,omitempty"`    // a word for the last error, while requests fail
	Error        string   `json:"lastError,omitempty"` // its beginning
	Degraded     []string `json:"degraded,omitempty"`
	Objects      int      `json:"objects"`
	EventRate    float64  `json:"eventsPerSecond"` // since the last request for the page
	LastEvent    float64  `json:"lastEventAgeSeconds"`
	Handlers     int      `json:"handlers"`
	Pending      int      `json:"pending"`    // of the handler with the most
	Lag          float64  `json:"lagSeconds"` // the age of the oldest change in a handler's queue
	Queue        int      `json:"queue"`
	Memory       int64    `json:"memoryBytes"` // an estimate
	Decoding     string   `json:"decoding"`
	Keeps        string   `json:"keeps,omitempty"` // what objects have, if not all
}

// informerView is the content of an informer's page.
type informerView struct {
	At time.Time `json:"at"`
	row
	Status          string           `json:"status"`
	ResourceVersion string           `json:"resourceVersion"`
	MaySeeObjects   bool             `json:"-"`
	HandlerViews    []handlerView    `json:"handlerStatistics"`
	HandlersOmitted int              `json:"handlersOmitted"`
	Disconnected    int              `json:"disconnected"`
	Indices         []indexView      `json:"indices"`
	IndicesOmitted  int              `json:"indicesOmitted"`
	MemoryParts     memoryView       `json:"memory"`
	QueueStats      queueView        `json:"queueStatistics"`
	Requests        []requestsView   `json:"requests"`
	Events          int64            `json:"events"`
	ListBytes       int64            `json:"listBytes"` // of directly decoded bodies
	WatchBytes      int64            `json:"watchBytes"`
	Relists         map[string]int64 `json:"relists"`
	WatchEnds       map[string]int64 `json:"watchEnds"`
	Drops           map[string]int64 `json:"drops"`
	Audits          auditsView       `json:"audits"`
	GivenUp         map[string]int64 `json:"decodingGivenUp"`
	Decoded         int64            `json:"decoded"`
	Errors          []errorView      `json:"errors"`
	Outages         []outageView     `json:"outages"`
	Samples         []sample         `json:"-"` // for charts
}

// handlerView is the content of a handler's row. Durations are in seconds.
type handlerView struct {
	Name      string   `json:"name"`
	State     string   `json:"state"`
	Calling   float64  `json:"callingSeconds"`
	Pending   int      `json:"pending"`
	Oldest    float64  `json:"oldestPendingSeconds"`
	Delivered uint64   `json:"delivered"`
	Coalesced uint64   `json:"coalesced"`
	Busy      float64  `json:"busySeconds"`
	Longest   float64  `json:"longestSeconds"`
	Histogram []uint64 `json:"histogram"`
	Unsynced  string   `json:"neverSynced,omitempty"` // the reason
}

// auditsView is the content about audits.
type auditsView struct {
	Ended     map[string]int64 `json:"ended"`
	Found     map[string]int64 `json:"found"`
	Relists   int64            `json:"relists"`
	LastAt    time.Time        `json:"lastAt"`
	Outcome   string           `json:"lastOutcome,omitempty"`
	Differing int              `json:"differing"`
}

type indexView struct {
	Name     string `json:"name"`
	Values   int    `json:"values"`
	Members  int    `json:"members"`
	Lacking  int    `json:"lacking"`
	Failures uint64 `json:"failures"`
	Bytes    int64  `json:"bytes"`
}

// memoryView is an estimate in bytes.
type memoryView struct {
	Sampled   int       `json:"sampledObjects"`
	SampledAt time.Time `json:"sampledAt"`
	Objects   int64     `json:"objects"`
	Store     int64     `json:"store"`
	Indices   int64     `json:"indices"`
	Snapshots int64     `json:"snapshots"`
	Queue     int64     `json:"queue"`
	Handlers  int64     `json:"handlers"`
}

type errorView struct {
	Text  string    `json:"text"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	Count int64     `json:"count"`
}

type outageView struct {
	Began  time.Time `json:"began"`
	Length float64   `json:"seconds"`
	Over   bool      `json:"over"`
}

type queueView struct {
	Depth           int     `json:"depth"`
	Limit           int     `json:"limit"`
	Pauses          uint64  `json:"pauses"`
	Paused          float64 `json:"pausedSeconds"`
	Untransformed   int     `json:"untransformed"`
	TransformErrors uint64  `json:"transformErrors"`
	ProcessErrors   uint64  `json:"processErrors"`
	LastError       string  `json:"lastError,omitempty"`
}

type requestsView struct {
	Kind    string  `json:"kind"`
	Ended   int64   `json:"ended"`
	Failed  int64   `json:"failed"`
	Mean    float64 `json:"meanSeconds"`
	Longest float64 `json:"longestSeconds"`
	Last    float64 `json:"lastSeconds"`
	Objects int64   `json:"objects"`
}

// row returns the row of an informer.
func (h *handler) row(i *inspect.Inspection) row {
	s := &i.Status
	r := row{
		ID: i.ID, Name: clean(h.named(i.Name)), InformerName: clean(i.InformerName), Type: clean(i.Type),
		Resource: clean(resourceOf(s)), Namespace: clean(s.Namespace), Server: clean(s.Server),
		State: stateOf(i), Phase: s.Phase, PhaseSeconds: age(s, s.PhaseSince).Seconds(), Synced: s.Synced,
		Degraded: h.degraded(s.Problems, mostInRow), Objects: s.Objects, EventRate: h.rates.of(i.ID, i.Events, time.Now()),
		LastEvent: age(s, s.LastEvent).Seconds(), Handlers: len(i.Handlers), Queue: i.Queue.Depth,
		Sources: len(i.Sources), Memory: memoryOf(&i.Memory), Decoding: decodingOf(i),
		Keeps: clean(keepsOf(&i.Status.Decoding)),
	}
	for _, source := range i.Sources {
		if !source.Status.Synced {
			r.Unsynced++
		}
	}
	if n := len(i.Errors); n > 0 && s.Attempts > 0 {
		r.Reason = s.LastErrorReason
		r.Error = shortened(clean(h.ownWords(i.Errors[n-1].Text)), mostError)
	}
	for at := range i.Handlers {
		r.Pending = max(r.Pending, i.Handlers[at].Pending)
		r.Lag = max(r.Lag, i.Handlers[at].Oldest.Seconds())
	}
	return r
}

// memoryOf returns the sum of the parts.
func memoryOf(m *inspect.Memory) int64 {
	return m.Objects + m.Store + m.Indices + m.Snapshots + m.Queue + m.Handlers
}

// resourceOf returns resource.version.group, or "" if it is not known.
func resourceOf(s *inspect.Status) string {
	return strings.Trim(s.Resource.Resource+"."+s.Resource.Version+"."+s.Resource.Group, ".")
}

// age returns the time from at to the status, or 0 if at is zero.
func age(s *inspect.Status, at time.Time) time.Duration {
	if at.IsZero() {
		return 0
	}
	return s.At.Sub(at)
}

// The states of an informer as shown, the worst first.
const (
	stateStopped  = "stopped"
	stateFailing  = "failing"
	stateStarting = "starting"
	stateStuck    = "stuck"
	stateDegraded = "degraded"
	stateOK       = "ok"
)

func stateOf(i *inspect.Inspection) string {
	stuck := func(s inspect.Handler) bool { return s.State == inspect.HandlerStuck }
	switch {
	case i.Status.Phase == inspect.PhaseStopped:
		return stateStopped
	case !i.FailingSince.IsZero():
		return stateFailing
	case !i.Status.Synced:
		return stateStarting
	case slices.ContainsFunc(i.Handlers, stuck):
		return stateStuck
	case len(i.Status.Problems) > 0:
		return stateDegraded
	default:
		return stateOK
	}
}

// degraded returns the texts of the first problems, and the number of further ones.
func (h *handler) degraded(problems []inspect.Problem, most int) (shown []string) {
	for _, problem := range problems[:min(len(problems), most)] {
		shown = append(shown, clean(h.problem(problem.Text)))
	}
	if omitted := len(problems) - len(shown); omitted > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", omitted))
	}
	return shown
}

// problem returns the text of a problem. Without Options.Objects it omits everything after a colon,
// which may be about an object, except for the colon after the name of a source.
func (h *handler) problem(text string) string {
	if h.options.Objects {
		return text
	}
	source := ""
	if rest, ok := strings.CutPrefix(text, "source "); ok {
		name, _ := strconv.QuotedPrefix(rest) // which may have colons
		if problem, ok := strings.CutPrefix(rest[len(name):], ": "); ok {
			source, text = "source "+name+": ", problem
		}
	}
	first, _, _ := strings.Cut(text, ": ")
	return source + first
}

// view returns the content of an informer's page.
func (h *handler) view(i *inspect.Inspection) *informerView {
	v := &informerView{
		At: time.Now(), row: h.row(i), ResourceVersion: clean(i.Status.ResourceVersion), MaySeeObjects: h.options.Objects,
		Disconnected: i.Disconnected, MemoryParts: memoryView(i.Memory), QueueStats: h.queue(&i.Queue), Events: i.Events,
		ListBytes: i.ListBytes, WatchBytes: i.WatchBytes,
		Relists: i.Relists, WatchEnds: i.WatchEnds, Drops: i.Drops, Decoded: i.Status.Decoding.Direct,
		Audits: auditsView{
			Ended: i.Audits.Ended, Found: i.Audits.Confirmed, Relists: i.Audits.Relists, LastAt: i.Audits.Last.At,
			Outcome: i.Audits.Last.Outcome, Differing: i.Audits.Differing,
		},
		Requests: []requestsView{requests("list", &i.Lists), requests("watch-list", &i.Streams), requests("watch", &i.Watches)},
	}
	v.Degraded = h.degraded(i.Status.Problems, mostReasons)
	v.Status = v.Phase + " for " + shortly(age(&i.Status, i.Status.PhaseSince))
	v.GivenUp = map[string]int64{}
	for why, n := range i.Status.Decoding.GivenUp {
		v.GivenUp[clean(why)] += n
	}
	for _, index := range i.Indices[:min(len(i.Indices), mostIndices)] {
		index.Name = clean(index.Name)
		v.Indices = append(v.Indices, indexView(index))
	}
	v.IndicesOmitted = len(i.Indices) - len(v.Indices)
	for _, e := range slices.Backward(i.Errors) {
		v.Errors = append(v.Errors, errorView{clean(h.ownWords(e.Text)), e.First, e.Last, e.Count})
	}
	for _, o := range slices.Backward(i.Outages) {
		v.Outages = append(v.Outages, outageView{o.Began, o.Length.Seconds(), o.Over})
	}
	v.HandlerViews, v.HandlersOmitted = h.handlers(i.Handlers)
	return v
}

// ofObjects has words of errors, and the separator before the error of a function of the program, or before the name of
// an object that cannot be decoded.
var ofObjects = [][2]string{
	{"resync: ", ""}, {"panic while ", ": "}, {"unable to sync ", ": "}, {" of the expected objects", ": "},
	{": item ", ", "}, {"from the watch stream: ", " of "},
}

// named returns the name of an informer, without Options.Objects without its field selector.
func (h *handler) named(name string) string {
	if h.options.Objects {
		return name
	}
	return beside.WithoutFields(name)
}

// ownWords returns the text of a request's error. Without Options.Objects the text ends before what may be about an
// object.
func (h *handler) ownWords(text string) string {
	if h.options.Objects {
		return text
	}
	for _, own := range ofObjects {
		if at := strings.Index(text, own[0]); at >= 0 {
			at += len(own[0])
			rest, _, _ := strings.Cut(text[at:], own[1])
			text = strings.TrimSuffix(text[:at]+rest, ": ")
		}
	}
	return withoutQuery(beside.WithoutFields(text))
}

// withoutQuery returns an error without the query of the URL in it, whose selectors may name an object.
func withoutQuery(text string) string {
	before, url, found := strings.Cut(text, `"http`)
	if !found {
		return text
	}
	url, rest, _ := strings.Cut(url, `"`)
	path, _, _ := strings.Cut(url, "?")
	return before + `"http` + path + `"` + rest
}

// handlers returns the rows of the handlers, stuck and late ones first, and the number of omitted
// ones.
func (h *handler) handlers(all []inspect.Handler) (shown []handlerView, omitted int) {
	order := sorted(len(all), func(a, b int) bool { return isMoreUrgent(&all[a], &all[b]) })
	for _, at := range order[:min(len(order), mostHandlers)] {
		s := &all[at]
		view := handlerView{
			Name: clean(s.Name), State: s.State, Calling: s.Calling.Seconds(), Pending: s.Pending, Oldest: s.Oldest.Seconds(),
			Delivered: s.Delivered, Coalesced: s.Coalesced, Busy: s.Busy.Seconds(), Longest: s.Longest.Seconds(),
		}
		for _, bucket := range s.Calls {
			view.Histogram = append(view.Histogram, bucket.Count)
		}
		if s.SyncError != nil {
			view.Unsynced = h.says(s.SyncError)
		}
		shown = append(shown, view)
	}
	return shown, len(all) - len(shown)
}

// sorted returns the numbers below n in an order. Of equal ones, the lower is first. A sort of the
// described elements themselves would keep all methods of their types in the program, and sort.Slice is in
// every program with clients of Kubernetes, unlike a stable one.
func sorted(n int, isLess func(a, b int) bool) []int {
	order := make([]int, n)
	for at := range order {
		order[at] = at
	}
	sort.Slice(order, func(i, j int) bool {
		a, b := order[i], order[j]
		return isLess(a, b) || a < b && !isLess(b, a)
	})
	return order
}

// isMoreUrgent reports whether a is to be shown before b.
func isMoreUrgent(a, b *inspect.Handler) bool {
	if stuck := a.State == inspect.HandlerStuck; stuck != (b.State == inspect.HandlerStuck) {
		return stuck
	}
	return a.Pending > b.Pending
}

func (h *handler) queue(q *inspect.Queue) queueView {
	view := queueView{
		Depth: q.Depth, Limit: q.Limit, Pauses: q.Pauses, Paused: q.Paused.Seconds(), Untransformed: q.Untransformed,
		TransformErrors: q.TransformErrors, ProcessErrors: q.ProcessErrors,
	}
	if last := cmp.Or(q.LastProcessError, q.LastTransformError); last != nil {
		view.LastError = h.says(last)
	}
	return view
}

// says returns the text of an error of the program's functions, if Options permits.
func (h *handler) says(err error) string {
	if !h.options.Objects {
		return "it may name an object, and is not shown"
	}
	return clean(err.Error())
}

func requests(kind string, s *inspect.RequestStats) requestsView {
	view := requestsView{
		Kind: kind, Ended: s.Ended, Failed: s.Failed, Longest: s.Longest.Seconds(), Last: s.Last.Seconds(), Objects: s.Objects,
	}
	if s.Ended > 0 {
		view.Mean = s.Total.Seconds() / float64(s.Ended)
	}
	return view
}

// clean returns a text on one line, shortened, without characters that change the display of other
// text.
func clean(text string) string {
	if len(text) > 4*mostText {
		text = text[:4*mostText]
	}
	characters := []rune(strings.ToValidUTF8(text, "\uFFFD"))
	for i, c := range characters {
		if !unicode.IsPrint(c) {
			characters[i] = '\uFFFD'
		}
	}
	return shortened(string(characters), mostText)
}

// shortened returns the beginning of a text of more than n characters.
func shortened(text string, n int) string {
	if characters := []rune(text); len(characters) > n {
		return string(characters[:n]) + "…"
	}
	return text
}

// shortly formats a duration with a readable precision.
func shortly(d time.Duration) string {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Millisecond:
		return d.Round(time.Millisecond).String()
	default:
		return d.Round(time.Microsecond).String()
	}
}
