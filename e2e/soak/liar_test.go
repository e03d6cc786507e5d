// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/e2e/follow"
	"github.com/kinformer/cache/e2e/transport"
	"github.com/kinformer/cache/internal/tap/taptest"
)

var bothMedia = []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf}

// eventsIn reads the events of a watch, a line each.
func eventsIn(t *testing.T, media string, data []byte) (lines []string) {
	t.Helper()
	for {
		whole, frame := transport.Cut(media, data)
		if whole == 0 {
			require.Empty(t, data)
			return lines
		}
		event, of, err := follow.EventOf(media, frame)
		require.NoError(t, err)
		lines = append(lines, fmt.Sprintln(event, of.Name, of.ResourceVersion, of.UID, of.Labels[follow.ValueLabel]))
		data = data[whole:]
	}
}

func line(event watch.EventType, of ...any) string {
	return fmt.Sprintln(append([]any{event}, of...)...)
}

// TestLies: what is told is a watch, with the lies that are meant in it, and what is not lied about
// is told as it is.
func TestLies(t *testing.T) {
	pod := podOf("w1-23", "77", 9)
	pod.UID = "0b1c"
	pod.Spec.NodeName = "node"
	bare := podOf("w1-24", "78", 1)
	bare.Labels = nil
	as, other := line(watch.Modified, "w1-23", 77, "0b1c", "w1-23.9"), line(watch.Modified, "w1-23", 77, "0b1c", "w1-23.0")
	madeUp := line(watch.Modified, "x1-23", 77, "0b1c", "x1-23.9")
	for _, media := range bothMedia {
		for how, want := range map[lie][]string{truth: {as}, lose: nil, alter: {other}, invent: {as, madeUp}} {
			frame := taptest.Frame(watch.Modified, pod, media)
			got, what := retold(frame, watch.Modified, pod.ObjectMeta, how)
			assert.Equal(t, want, eventsIn(t, media, got))
			assert.Equal(t, how == truth, what == "")
			for _, of := range []struct {
				event watch.EventType
				pod   *corev1.Pod
			}{{watch.Deleted, pod}, {watch.Added, bare}} {
				frame := taptest.Frame(of.event, of.pod, media)
				if got, what = retold(frame, of.event, of.pod.ObjectMeta, how); how == lose {
					assert.Empty(t, got)
				} else {
					assert.Equal(t, frame, got)
					assert.Empty(t, what)
				}
			}
		}
	}
}

// lyingAlways is a liar that lies, on a server without a network.
func lyingAlways(r *report, media string, pieces ...[]byte) (*liar, http.RoundTripper) {
	l := newLiar(rand.New(rand.NewPCG(1, 1)), r)
	l.lie(true)
	return l, l.wrap(&taptest.Wire{Media: media, Answer: func(*http.Request) ([][]byte, bool) { return pieces, false }})
}

func get(t *testing.T, ctx context.Context, rt http.RoundTripper, query string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:1/api/v1/pods?"+query, nil)
	require.NoError(t, err)
	response, err := rt.RoundTrip(request)
	require.NoError(t, err)
	return response
}

// someWatch is a watch with n events and bookmarks, and an error.
func someWatch(n int, media string) (sent []byte) {
	for i := range n {
		mark := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: fmt.Sprint(i)}}
		sent = append(sent, taptest.Frame(watch.Modified, podOf(fmt.Sprint("w1-", i), fmt.Sprint(i), 3), media)...)
		sent = append(sent, taptest.Frame(watch.Bookmark, mark, media)...)
	}
	return append(sent, taptest.Frame(watch.Error, &metav1.Status{Code: 410}, media)...)
}

// TestLiar: of many events of a watch some are lost, altered or followed by one that is made up,
// and the counts say how many; bookmarks and errors, and what is broken off, are told as they are.
func TestLiar(t *testing.T) {
	const n = 300
	for _, media := range bothMedia {
		r := silentReport()
		_, rt := lyingAlways(r, media, someWatch(n, media), []byte{0})
		response := get(t, t.Context(), rt, "watch=true")
		got, err := io.ReadAll(iotest.OneByteReader(response.Body))
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.Zero(t, got[len(got)-1], "what was broken off")
		lines := eventsIn(t, media, got[:len(got)-1])
		told := map[string]int{}
		for i, line := range lines {
			fields := strings.Fields(line)
			if fields[0] != "MODIFIED" {
				told[fields[0]]++
				continue
			}
			require.Len(t, fields, 4, "there is no UID")
			switch name, value := fields[1], fields[3]; {
			case strings.HasPrefix(name, "x"):
				told["made up"]++
				assert.Equal(t, name+".3", value)
				assert.Contains(t, lines[i-1], " w"+name[1:]+" ")
			case value == name+".4":
				told["altered"]++
			default:
				told["as it is"]++
				assert.Equal(t, name+".3", value)
			}
		}
		counts := r.end().Counts
		assert.Equal(t, map[string]int{
			"BOOKMARK": n, "ERROR": 1, "made up": int(counts["lies: objects made up"]), "altered": int(counts["lies: objects altered"]),
			"as it is": n - int(counts["lies: events lost"]+counts["lies: objects altered"]),
		}, told)
		assert.Len(t, counts, 3)
		for what, count := range counts {
			assert.InDelta(t, n/lieEvery, count, n/lieEvery/2, what)
		}
	}
}

// TestTruth: without lies, all is told as it is, and lists always are. What may bring another state
// is counted.
func TestTruth(t *testing.T) {
	for _, media := range bothMedia {
		sent := someWatch(3, media)
		l, rt := lyingAlways(silentReport(), media, sent, []byte{0})
		l.lie(false)
		response := get(t, t.Context(), rt, "watch=true")
		got, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		assert.Equal(t, append(sent, 0), got)
		assert.EqualValues(t, 1, l.asked.Load())
		for query, counts := range map[string]int64{"": 1, "resourceVersion=5&resourceVersionMatch=Exact": 0, "continue=x": 0} {
			before := l.asked.Load()
			response := get(t, t.Context(), rt, query)
			_, retold := response.Body.(*hearsay)
			assert.False(t, retold)
			require.NoError(t, response.Body.Close())
			assert.Equal(t, before+counts, l.asked.Load(), query)
		}
	}
}

// TestHeldBack: nothing is told while it is held back, not even the end, and who does not read any
// more does not wait.
func TestHeldBack(t *testing.T) {
	frame := taptest.Frame(watch.Added, podOf("w1-1", "5", 1), runtime.ContentTypeJSON)
	for how, want := range map[string]error{"released": nil, "closed": errClosed, "ended": errClosed} {
		synctest.Test(t, func(t *testing.T) {
			l, rt := lyingAlways(silentReport(), runtime.ContentTypeJSON, frame)
			l.lie(false)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			response := get(t, ctx, rt, "watch=1")
			release := l.hold()
			read := make(chan error, 1)
			var got []byte
			go func() {
				var err error
				got, err = io.ReadAll(response.Body)
				read <- err
			}()
			time.Sleep(time.Hour)
			synctest.Wait()
			assert.Empty(t, read)
			switch how {
			case "released":
				release()
			case "closed":
				assert.NoError(t, response.Body.Close())
			case "ended":
				cancel()
			}
			assert.Equal(t, want, <-read)
			if want == nil {
				assert.Equal(t, frame, got)
			}
			require.NoError(t, response.Body.Close())
		})
	}
}

// TestDifferences: what differs is found, by its kind.
func TestDifferences(t *testing.T) {
	state := func(uid types.UID, rv uint64, value string) follow.State {
		return follow.State{UID: uid, RV: rv, Value: value}
	}
	server := follow.Contents{
		"same": state("a", 1, "x"), "lost": state("b", 2, "x"), "older": state("c", 3, "x"), "another": state("d", 4, "x"), "altered": state("e", 5, "x"),
	}
	ours := follow.Contents{
		"same": state("a", 1, "x"), "older": state("c", 2, "x"), "another": state("z", 4, "x"), "altered": state("e", 5, "y"), "made up": state("e", 5, "x"),
	}
	want := map[string]audit.Kind{"lost": audit.Missing, "older": audit.Stale, "another": audit.Stale, "made up": audit.Extra}
	assert.Equal(t, want, differences(ours, server, audit.Versions))
	want["altered"] = audit.Different
	assert.Equal(t, want, differences(ours, server, audit.Content))
	assert.Empty(t, differences(server, server, audit.Content))
}

// TestContradiction: an audit that has found less, more, or something else, or has not confirmed
// it, is wrong.
func TestContradiction(t *testing.T) {
	a, b := audit.Finding{Key: "a", Kind: audit.Missing, Confirmed: true}, audit.Finding{Key: "b", Kind: audit.Stale, Confirmed: true}
	unconfirmed, other := b, b
	unconfirmed.Confirmed, other.Kind = false, audit.Extra
	want := map[string]audit.Kind{"a": audit.Missing, "b": audit.Stale}
	for what, c := range map[string]struct {
		found []audit.Finding
		want  map[string]audit.Kind
		right bool
	}{
		"right":           {[]audit.Finding{a, b}, want, true},
		"nothing":         {nil, nil, true},
		"found nothing":   {nil, want, false},
		"less":            {[]audit.Finding{a}, want, false},
		"a false alarm":   {[]audit.Finding{a}, nil, false},
		"not confirmed":   {[]audit.Finding{a, unconfirmed}, want, false},
		"of another kind": {[]audit.Finding{a, other}, want, false},
	} {
		report := audit.Report{Findings: c.found}
		for _, f := range c.found {
			if f.Confirmed {
				report.Confirmed = map[audit.Kind]int{f.Kind: 1}
			}
		}
		assert.Equal(t, c.right, contradiction(report, c.want) == "", what)
	}
}

// TestMisledHandler: a handler of an informer that is lied to may hear of the end of what it does
// not know, and of nothing else that is wrong.
func TestMisledHandler(t *testing.T) {
	for _, kind := range []handlerKind{handlerKinds[0], misledKinds[0]} {
		h := newHandler(kind, "informer", silentReport())
		h.OnDelete(podOf("a", "5", 1))
		assert.Equal(t, kind.misled, len(violations(h.report)) == 0)
	}
	h := newHandler(misledKinds[0], "informer", silentReport())
	h.OnUpdate(podOf("a", "5", 1), podOf("a", "6", 1))
	assert.Equal(t, []string{"handler"}, violations(h.report))
}

// TestBrokenBody: the error of a body comes behind what was read of it.
func TestBrokenBody(t *testing.T) {
	broken := errors.New("broken")
	l := newLiar(rand.New(rand.NewPCG(1, 1)), silentReport())
	frame := taptest.Frame(watch.Added, podOf("w1-1", "5", 1), runtime.ContentTypeJSON)
	body := &hearsay{
		ReadCloser: io.NopCloser(io.MultiReader(strings.NewReader(string(frame)+"{"), iotest.ErrReader(broken))),
		liar:       l, ctx: t.Context(), media: runtime.ContentTypeJSON, closed: make(chan struct{}),
	}
	got, err := io.ReadAll(body)
	assert.Equal(t, broken, err)
	assert.Equal(t, string(frame)+"{", string(got))
}
