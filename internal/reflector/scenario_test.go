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
// store, in order, preceded by the time since the line if it is not 0. script_test.go lists the
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
			p.begin()
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
	o.Name, o.ListerWatcher, o.ExpectedType, o.Sink = scenarioName, p, &v1.Pod{}, Foreign(p)
	o.ResyncPeriod, o.Backoff = p.resyncPeriod, testkit.Second()
	o.PageSize, o.MaxInternalErrorRetry = p.pageSize, p.internalRetry
	o.OnError = func(_ context.Context, f Failure) { p.note("error: %v", f.Err) }
	New(o).Run(ctx)
}

func theirScenarioReflector(ctx context.Context, p *scenarioPlay) {
	r := clientgo.NewReflectorWithOptions(p, &v1.Pod{}, p, clientgo.ReflectorOptions{
		Name: scenarioName, ResyncPeriod: p.resyncPeriod, Backoff: testkit.Second(),
	})
	r.WatchListPageSize, r.MaxInternalErrorRetryDuration = p.pageSize, p.internalRetry
	r.RunWithContext(ctx)
}

// scenarioPlay is the server, the store and the record of one scenario. It is the reflector's
// ListerWatcher and its store.
type scenarioPlay struct {
	*cachetest.Source
	t      *testing.T
	engine scenarioEngine
	stop   func()            // nil before start
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
	p := &scenarioPlay{t: t, engine: engine, open: map[string]func(){}}
	p.source = cachetest.Options{Example: &v1.Pod{}, NewList: func() runtime.Object { return &v1.PodList{} }}
	p.mu.objects, p.mu.failing = map[string]string{}, map[string]int{}
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

func (p *scenarioPlay) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.began = time.Now()
}

func (p *scenarioPlay) take() (lines []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines, p.mu.lines = p.mu.lines, nil
	return lines
}

// end stops the reflector and waits until all goroutines have ended.
func (p *scenarioPlay) end() {
	for _, end := range p.open {
		end()
	}
	if p.stop != nil {
		p.stop()
	}
	p.take()
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

// called records a call of the store, and returns an error if the call is to fail.
func (p *scenarioPlay) called(call, text string, apply func(objects map[string]string)) error {
	p.note("%s", strings.TrimSpace(call+" "+text))
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.failing[call] > 0 {
		p.mu.failing[call]--
		return fmt.Errorf("the store cannot %s", call)
	}
	apply(p.mu.objects)
	return nil
}

func (p *scenarioPlay) Add(obj any) error { return p.set("add", obj) }

func (p *scenarioPlay) Update(obj any) error { return p.set("update", obj) }

func (p *scenarioPlay) set(call string, obj any) error {
	return p.called(call, testkit.NameAt(obj), func(objects map[string]string) {
		pod := obj.(*v1.Pod)
		objects[pod.Namespace+"/"+pod.Name] = pod.ResourceVersion
	})
}

func (p *scenarioPlay) Delete(obj any) error {
	return p.called("delete", testkit.NameAt(obj), func(objects map[string]string) {
		pod := obj.(*v1.Pod)
		delete(objects, pod.Namespace+"/"+pod.Name)
	})
}

func (p *scenarioPlay) Replace(list []any, version string) error {
	var names []string
	listed := map[string]string{}
	for _, obj := range list {
		pod := obj.(*v1.Pod)
		names = append(names, testkit.NameAt(obj))
		listed[pod.Namespace+"/"+pod.Name] = pod.ResourceVersion
	}
	slices.Sort(names) // client-go's watch-list iterates over a map
	return p.called("replace", version+": "+strings.Join(names, " "), func(objects map[string]string) {
		clear(objects)
		maps.Copy(objects, listed)
	})
}

func (p *scenarioPlay) Resync() error { return p.called("resync", "", func(map[string]string) {}) }

func (p *scenarioPlay) Bookmark(version string) error {
	return p.called("bookmark", version, func(map[string]string) {})
}
