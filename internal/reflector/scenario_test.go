// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/internal/testkit"
)

var updateScenarios = flag.Bool("scenarios.update", false, "write what the scenarios in testdata/scenarios lead to into their files")

// TestReflectorScenarios plays the scenarios of testdata/scenarios. A scenario has the server's
// actions, one a line, and indented below each line the reflector's requests and calls of its
// store, in order, preceded by the time since the line if it is not 0. The method do lists the
// commands.
//
// Each scenario is also played on client-go's reflector and must have the same output, except for
// lines that begin with "error:" (the calls of the watch-error handler, which client-go does not
// expose) and for scenarios with "(ours)" in the title: a comment below the title says how
// client-go differs.
func TestReflectorScenarios(t *testing.T) {
	testkit.Reports(t)
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	require.NoError(t, err)
	count := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var rewritten strings.Builder
		for _, s := range parseScenarios(string(text)) {
			count++
			played := s.play(t, ourScenarioReflector)
			rewritten.WriteString(s.text(played))
			t.Run(filepath.Base(file)+"/"+s.title, func(t *testing.T) {
				if !*updateScenarios {
					require.Equal(t, s.text(s.outputs), s.text(played))
				}
				if !s.oursOnly() {
					require.Equal(t, s.text(withoutErrors(played)), s.text(s.play(t, theirScenarioReflector)), "client-go")
				}
			})
		}
		if *updateScenarios {
			require.NoError(t, os.WriteFile(file, []byte(rewritten.String()), 0o644))
		}
	}
	require.GreaterOrEqual(t, count, 40)
}

// scenario is the text from one "===" line to the next.
type scenario struct {
	title    string
	commands []string   // with comments and empty lines
	outputs  [][]string // by command
}

func parseScenarios(text string) (all []*scenario) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if title, begins := strings.CutPrefix(line, "=== "); begins {
			all = append(all, &scenario{title: title})
			continue
		}
		s := all[len(all)-1]
		if output, indented := strings.CutPrefix(line, "  "); indented {
			last := len(s.outputs) - 1
			s.outputs[last] = append(s.outputs[last], output)
			continue
		}
		s.commands, s.outputs = append(s.commands, line), append(s.outputs, nil)
	}
	return all
}

func (s *scenario) oursOnly() bool { return strings.Contains(s.title, "(ours)") }

// text returns the scenario with the given outputs.
func (s *scenario) text(outputs [][]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "=== %s\n", s.title)
	for i, command := range s.commands {
		b.WriteString(command + "\n")
		for _, line := range outputs[i] {
			b.WriteString("  " + line + "\n")
		}
	}
	return b.String()
}

func withoutErrors(outputs [][]string) [][]string {
	kept := make([][]string, len(outputs))
	for i, lines := range outputs {
		kept[i] = slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return strings.Contains(line, "error: ") })
	}
	return kept
}

// play runs the scenario in fake time and returns the output of each command.
func (s *scenario) play(t *testing.T, engine scenarioEngine) (outputs [][]string) {
	synctest.Test(t, func(t *testing.T) {
		p := newScenarioPlay(t, engine)
		defer p.end()
		for _, command := range s.commands {
			if fields := strings.Fields(command); len(fields) > 0 && fields[0] != "#" {
				p.do(fields)
			}
			synctest.Wait()
			outputs = append(outputs, p.take())
		}
	})
	return outputs
}

const scenarioName = "scenario"

// scenarioEngine runs a reflector until ctx ends. If it has a watch-error handler, errors are
// recorded in p.
type scenarioEngine func(ctx context.Context, p *scenarioPlay)

func ourScenarioReflector(ctx context.Context, p *scenarioPlay) {
	o := p.ours
	o.Name, o.ListerWatcher, o.ExpectedType, o.Sink = scenarioName, p, &v1.Pod{}, Foreign(&p.store)
	o.ResyncPeriod, o.Backoff = p.resyncPeriod, testkit.Second()
	o.PageSize, o.MaxInternalErrorRetry = p.pageSize, p.internalRetry
	o.OnError = func(_ context.Context, f Failure) { p.note("error: %v", f.Err) }
	New(o).Run(ctx)
}

func theirScenarioReflector(ctx context.Context, p *scenarioPlay) {
	r := clientgo.NewReflectorWithOptions(p, &v1.Pod{}, &p.store, clientgo.ReflectorOptions{
		Name: scenarioName, ResyncPeriod: p.resyncPeriod, Backoff: testkit.Second(),
	})
	r.WatchListPageSize, r.MaxInternalErrorRetryDuration = p.pageSize, p.internalRetry
	r.RunWithContext(ctx)
}

// scenarioPlay is the server, the store and the record of one scenario. It is the reflector's
// ListerWatcher.
type scenarioPlay struct {
	*cachetest.Source
	store  scenarioStore
	t      *testing.T
	engine scenarioEngine
	stop   func()            // ends the reflector, if it runs
	open   map[string]func() // functions that end partitions, outages and stalls

	source        cachetest.Options
	pageSize      int64
	resyncPeriod  time.Duration
	internalRetry time.Duration
	ours          Options // options that client-go's reflector does not have

	mu struct {
		sync.Mutex
		began   time.Time // when the current command began
		lines   []string
		objects map[string]string // key → version, as stored
		failing map[string]int    // the calls of the store that are to fail
	}
}

func newScenarioPlay(t *testing.T, engine scenarioEngine) *scenarioPlay {
	p := &scenarioPlay{t: t, engine: engine, stop: func() {}, open: map[string]func(){}}
	p.source = cachetest.Options{Example: &v1.Pod{}, NewList: func() runtime.Object { return &v1.PodList{} }}
	p.store.Fail = p.called
	p.mu.began, p.mu.objects, p.mu.failing = time.Now(), map[string]string{}, map[string]int{}
	return p
}

// note adds a line to the output of the current command.
func (p *scenarioPlay) note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := fmt.Sprintf(format, args...)
	if passed := time.Since(p.mu.began); passed > 0 {
		line = fmt.Sprintf("[%v] %s", passed, line)
	}
	p.mu.lines = append(p.mu.lines, line)
}

// take returns the output of the current command. The next one begins.
func (p *scenarioPlay) take() (lines []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines, p.mu.lines, p.mu.began = p.mu.lines, nil, time.Now()
	return lines
}

// end stops the reflector and waits until all goroutines have ended.
func (p *scenarioPlay) end() {
	for _, end := range p.open {
		end()
	}
	p.stop()
}

func (p *scenarioPlay) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	p.note("%v", cachetest.Request{Verb: cachetest.VerbList, Options: o})
	return p.Source.ListWithContext(ctx, o)
}

func (p *scenarioPlay) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	verb := cachetest.VerbWatch
	if o.SendInitialEvents != nil {
		verb = cachetest.VerbWatchList
	}
	p.note("%v", cachetest.Request{Verb: verb, Options: o})
	return p.Source.WatchWithContext(ctx, o)
}

// scenarioStore is a store that also takes bookmarks.
type scenarioStore struct{ testkit.StoreLog }

func (s *scenarioStore) Bookmark(version string) error {
	return s.Note(strings.TrimSpace("bookmark " + version))
}

// called records a call of the store, and returns an error if the call is to fail.
func (p *scenarioPlay) called(entry string) error {
	call, objects, _ := strings.Cut(entry, " ")
	names := strings.Fields(objects)
	if call == "replace" {
		slices.Sort(names[1:]) // client-go's watch-list iterates over a map
	}
	p.note("%s", strings.Join(append([]string{call}, names...), " "))
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.failing[call] > 0 {
		p.mu.failing[call]--
		return fmt.Errorf("the store cannot %s", call)
	}
	if call == "replace" {
		clear(p.mu.objects)
	}
	for _, object := range names {
		name, version, named := strings.Cut(object, "@")
		switch {
		case call == "delete":
			delete(p.mu.objects, "ns/"+name)
		case named:
			p.mu.objects["ns/"+name] = version
		}
	}
	return nil
}

// do performs a command of a scenario.
//
// Before start:
//
//	server list|watch-list|refused|ignored [no-watch-cache] [fail-at-start]    how the server answers; a line like this is first
//	objects NAME...                 its state
//	pages N, resync D, internal-retry D, idle D, silence D, mode M             of the reflector; idle, silence and mode are ours
//	setup                           makes the server, for commands to it before start
//	start                           runs the reflector
//
// At any time:
//
//	create|update|delete NAME...    tick, bookmark, compact, rewind RV, resend RV...
//	cut                             ends the streams as a timeout does; break: as a broken connection
//	fail VERB ERR...                the next requests, of list, watch or watch-list
//	script VERB WHAT                the next one: delay D, deaf D (even if its context ends), omit-end, cut-after N
//	inject WHAT                     on open streams: error ERR, garbage, strange-error, service,
//	                                added|modified|deleted|bookmark|end-mark|false-mark NAME@RV
//	partition, outage ERR, stall    until: heal, recover, release
//	refuse CALL                     the store's next call of that kind fails
//	wait D                          lets time pass
//	stop                            ends the reflector's context
//	compare                         reports whether the store equals the server's state
func (p *scenarioPlay) do(fields []string) {
	command, known := scenarioCommands[fields[0]]
	require.True(p.t, known, "no command %q", fields[0])
	command(p, fields[1:])
}

type scenarioCommand = func(p *scenarioPlay, args []string)

var scenarioCommands = map[string]scenarioCommand{
	"server": func(p *scenarioPlay, args []string) {
		p.source.WatchList = map[string]cachetest.WatchListMode{
			"list": cachetest.WatchListUnsupported, "watch-list": cachetest.WatchListServed, "refused": cachetest.WatchListRefused,
			"ignored": cachetest.WatchListIgnored,
		}[args[0]]
		for _, more := range args[1:] {
			p.source.NoWatchCache = p.source.NoWatchCache || more == "no-watch-cache"
			p.source.FailAtStart = p.source.FailAtStart || more == "fail-at-start"
		}
	},
	"objects": func(p *scenarioPlay, args []string) {
		for _, name := range args {
			p.source.Objects = append(p.source.Objects, testkit.PodAt(name, ""))
		}
	},
	"pages":          func(p *scenarioPlay, args []string) { p.pageSize = int64(p.number(args[0])) },
	"resync":         func(p *scenarioPlay, args []string) { p.resyncPeriod = p.duration(args[0]) },
	"internal-retry": func(p *scenarioPlay, args []string) { p.internalRetry = p.duration(args[0]) },
	"idle":           func(p *scenarioPlay, args []string) { p.ours.IdleTimeout = p.duration(args[0]) },
	"silence":        func(p *scenarioPlay, args []string) { p.ours.StreamSilence = p.duration(args[0]) },
	"mode":           func(p *scenarioPlay, args []string) { p.ours.Mode = Mode(args[0]) },

	"setup": func(p *scenarioPlay, _ []string) { p.Source = cachetest.New(p.source) },
	"start": func(p *scenarioPlay, _ []string) {
		if p.Source == nil {
			p.Source = cachetest.New(p.source)
		}
		p.stop = testkit.InBackground(p.t, func(ctx context.Context) { p.engine(ctx, p) })
	},
	"create": each(func(p *scenarioPlay, name string) { p.Create(testkit.PodAt(name, "")) }),
	"update": each(func(p *scenarioPlay, name string) {
		pod := testkit.PodAt(name, "")
		pod.Labels = map[string]string{"since": strconv.FormatUint(p.ResourceVersion(), 10)} // the same again would be no write
		p.Update(pod)
	}),
	"delete":   each(func(p *scenarioPlay, name string) { p.Delete("ns", name) }),
	"tick":     func(p *scenarioPlay, _ []string) { p.Tick() },
	"compact":  func(p *scenarioPlay, _ []string) { p.Compact(p.ResourceVersion()) },
	"rewind":   each(func(p *scenarioPlay, rv string) { p.Rewind(uint64(p.number(rv))) }),
	"resend":   each(func(p *scenarioPlay, rv string) { p.Resend(uint64(p.number(rv))) }),
	"bookmark": func(p *scenarioPlay, _ []string) { p.Bookmark() },
	"cut":      func(p *scenarioPlay, _ []string) { p.Cut() },
	"break":    func(p *scenarioPlay, _ []string) { p.Break() },
	"fail": func(p *scenarioPlay, args []string) {
		for _, name := range args[1:] {
			p.FailNext(cachetest.Verb(args[0]), testkit.FailureNamed(p.t, name))
		}
	},
	"script":    func(p *scenarioPlay, args []string) { p.Script(cachetest.Verb(args[0]), p.fault(args[1:])) },
	"inject":    func(p *scenarioPlay, args []string) { p.Inject(p.events(args)...) },
	"partition": func(p *scenarioPlay, _ []string) { p.open["partition"] = p.Partition() },
	"heal":      func(p *scenarioPlay, _ []string) { p.close("partition") },
	"outage":    func(p *scenarioPlay, args []string) { p.open["outage"] = p.Outage(testkit.FailureNamed(p.t, args[0])) },
	"recover":   func(p *scenarioPlay, _ []string) { p.close("outage") },
	"stall":     func(p *scenarioPlay, _ []string) { p.open["stall"] = p.Stall() },
	"release":   func(p *scenarioPlay, _ []string) { p.close("stall") },
	"refuse": each(func(p *scenarioPlay, call string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.mu.failing[call]++
	}),
	"wait": func(p *scenarioPlay, args []string) { time.Sleep(p.duration(args[0])) },
	"stop": func(p *scenarioPlay, _ []string) {
		p.stop()
		p.note("stopped, %d watches open", p.Watching())
	},
	"compare": func(p *scenarioPlay, _ []string) {
		p.mu.Lock()
		same := maps.Equal(p.mu.objects, p.Versions())
		has := fmt.Sprint(p.mu.objects)
		p.mu.Unlock()
		if same {
			p.note("the store is what the server has")
		} else {
			p.note("the store has %s, the server %s", has, fmt.Sprint(p.Versions()))
		}
	},
}

// each returns a command that calls do with each argument.
func each(do func(p *scenarioPlay, arg string)) scenarioCommand {
	return func(p *scenarioPlay, args []string) {
		for _, arg := range args {
			do(p, arg)
		}
	}
}

// close ends a partition, outage or stall.
func (p *scenarioPlay) close(what string) {
	p.open[what]()
	delete(p.open, what)
}

func (p *scenarioPlay) number(text string) int {
	n, err := strconv.Atoi(text)
	require.NoError(p.t, err)
	return n
}

func (p *scenarioPlay) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	require.NoError(p.t, err)
	return d
}

// fault returns the fault of a script command.
func (p *scenarioPlay) fault(args []string) (f cachetest.Fault) {
	switch args[0] {
	case "delay", "deaf":
		f.Delay, f.IgnoreContext = p.duration(args[1]), args[0] == "deaf"
	case "omit-end":
		f.Stream.OmitInitialEventsEnd = true
	case "cut-after":
		f.Stream.Cut, f.Stream.CutAfter = true, p.number(args[1])
	default:
		require.Fail(p.t, "no script", args[0])
	}
	return f
}

// events returns the events of an inject command.
func (p *scenarioPlay) events(args []string) []watch.Event {
	switch args[0] {
	case "error":
		return []watch.Event{cachetest.ErrorEvent(testkit.FailureNamed(p.t, args[1]))}
	case "garbage":
		return cachetest.Garbage(testkit.PodAt("garbage", "1"))
	case "strange-error":
		return []watch.Event{{Type: watch.Error, Object: testkit.PodAt("a", "1")}}
	case "service":
		return []watch.Event{{Type: watch.Added, Object: &v1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s", ResourceVersion: "3"}}}}
	}
	name, version, _ := strings.Cut(args[1], "@")
	mark := testkit.EndMark(version)
	switch args[0] {
	case "false-mark":
		mark.Object.(*v1.Pod).Annotations[metav1.InitialEventsAnnotationKey] = "false"
		fallthrough
	case "end-mark":
		return []watch.Event{mark}
	}
	return []watch.Event{{Type: watch.EventType(strings.ToUpper(args[0])), Object: testkit.PodAt(name, version)}}
}
