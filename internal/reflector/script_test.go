// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/internal/testkit"
)

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
//	script VERB WHAT                the next one: delay D, omit-end, cut-after N
//	inject WHAT                     on open streams: error ERR, garbage, strange-error, service,
//	                                added|modified|deleted|bookmark|end-mark NAME@RV
//	partition, outage ERR, stall    until: heal, recover, release
//	refuse CALL                     the store's next call of that kind fails
//	wait D                          lets time pass
//	stop                            ends the reflector's context
//	compare                         reports whether the store equals the server's state
func (p *scenarioPlay) do(fields []string) {
	verb, args := fields[0], fields[1:]
	if command, known := settings[verb]; known {
		command(p, args)
		return
	}
	command, known := happenings[verb]
	require.True(p.t, known, "no command %q", verb)
	command(p, args)
}

type scenarioCommand = func(p *scenarioPlay, args []string)

// settings are the commands that come before start.
var settings = map[string]scenarioCommand{
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
}

// happenings are the commands that are valid while the reflector runs.
var happenings = map[string]scenarioCommand{
	"setup": func(p *scenarioPlay, _ []string) { p.Source = cachetest.New(p.source) },
	"start": func(p *scenarioPlay, _ []string) {
		if p.Source == nil {
			p.Source = cachetest.New(p.source)
		}
		ctx, cancel := context.WithCancel(p.t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			p.engine(ctx, p)
		}()
		p.stop = func() {
			cancel()
			<-ended
		}
	},
	"create": each(func(p *scenarioPlay, name string) { p.Create(testkit.PodAt(name, "")) }),
	"update": each(func(p *scenarioPlay, name string) {
		pod := testkit.PodAt(name, "")
		pod.Labels = map[string]string{"since": strconv.FormatUint(p.ResourceVersion(), 10)} // the same again would be no write
		p.Source.Update(pod)
	}),
	"delete":  each(func(p *scenarioPlay, name string) { p.Source.Delete("ns", name) }),
	"tick":    func(p *scenarioPlay, _ []string) { p.Tick() },
	"compact": func(p *scenarioPlay, _ []string) { p.Compact(p.ResourceVersion()) },
	"rewind":  each(func(p *scenarioPlay, rv string) { p.Rewind(uint64(p.number(rv))) }),
	"resend":  each(func(p *scenarioPlay, rv string) { p.Resend(uint64(p.number(rv))) }),
	"bookmark": func(p *scenarioPlay, _ []string) {
		p.Source.Bookmark()
	},
	"cut":   func(p *scenarioPlay, _ []string) { p.Cut() },
	"break": func(p *scenarioPlay, _ []string) { p.Break() },
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
		p.stop = nil
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
	case "delay":
		f.Delay = p.duration(args[1])
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
	if args[0] == "end-mark" {
		return []watch.Event{testkit.EndMark(version)}
	}
	var obj runtime.Object = testkit.PodAt(name, version)
	return []watch.Event{{Type: watch.EventType(strings.ToUpper(args[0])), Object: obj}}
}
