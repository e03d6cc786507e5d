// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/shard"
	"github.com/kinformer/cache/internal/tap/engine"
	"github.com/kinformer/cache/internal/tap/engine/taptest"
	"github.com/kinformer/cache/internal/testkit/draw"
)

// impatient is a body that is read ahead, and whose reader waits no longer than the context lasts.
type impatient struct {
	*aheadBody
	ctx context.Context
}

func (b impatient) Read(p []byte) (int, error) {
	select {
	case first, open := <-b.reads:
		if !open {
			return 0, b.err
		}
		return copy(p, first), nil
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	}
}

// TestListEndsWhileItIsDecoded checks that a list that has failed, while a transport reads it ahead, is that
// failure, and not a reason to leave later lists to the client.
func TestListEndsWhileItIsDecoded(t *testing.T) {
	for _, k := range podClients {
		ctx, cancel := context.WithCancel(t.Context())
		begun, goOn := make(chan struct{}), make(chan struct{})
		ahead := func(rt http.RoundTripper) http.RoundTripper {
			return taptest.Trip(func(req *http.Request) (*http.Response, error) {
				resp, err := rt.RoundTrip(req)
				if err == nil && ctx.Err() == nil {
					resp.Body = impatient{newAheadBody(resp.Body), req.Context()}
				}
				return resp, err
			})
		}
		waits := func(runtime.Object) bool {
			if ctx.Err() == nil {
				close(begun)
				<-goOn
			}
			return false
		}
		source := k.tapped(t, served{wraps: []wrapper{transport, ahead}}, func(o *engine.Options) { o.Make = taptest.Decoders(waits, nil) })
		go func() {
			<-begun
			cancel()
		}()
		_, err := source.ListWithContext(ctx, firstList)
		close(goOn)
		assert.ErrorIs(t, err, context.Canceled)
		assert.Empty(t, source.ledger.State().Why)
		assert.Equal(t, "direct", asked(t, source, 1))
	}
}

// TestPartOfALineOfTwo checks that an event is not lost because it shares a line with one of another shard.
func TestPartOfALineOfTwo(t *testing.T) {
	for _, field := range []shard.Field{shard.UID, shard.Namespace} {
		testPartOfALineOfTwo(t, field)
	}
}

// half returns the shard of the lower half of the hashes.
func half(t *testing.T, field shard.Field) *shard.Range {
	part, err := shard.Select(sharding.NewSelector(sharding.ShardRangeRequirement{
		Key: string(field), Start: "0x0000000000000000", End: "0x8000000000000000",
	}))
	require.NoError(t, err)
	return part
}

func testPartOfALineOfTwo(t *testing.T, field shard.Field) {
	part := half(t, field)
	var own, other [][]byte
	for i := range 40 {
		p := pod(fmt.Sprint("p", i), fmt.Sprint(10+i))
		p.UID, p.Namespace = types.UID(fmt.Sprintf("%x", sha256.Sum256([]byte(p.Name)))), fmt.Sprintf("%x", sha256.Sum256([]byte(p.Name)))
		frame := taptest.Frame(watch.Added, p, runtime.ContentTypeJSON)
		if part.Has(p) {
			own = append(own, frame)
		} else {
			other = append(other, frame)
		}
	}
	for _, space := range []string{"", " ", "\t \r"} {
		line := slices.Concat(bytes.TrimSpace(other[0]), []byte(space), own[1])
		answers := []answer{stream(false, runtime.ContentTypeJSON, own[0], other[1], line, own[2])}
		source := generatedJSON.tapped(t, served{watches: answers}, usesOwn, func(o *engine.Options) { o.Part = part })
		got := eventsOf(part, watched(t, source).Events)
		want := eventsOf(part, watched(t, generatedJSON.plain(t, served{watches: answers})).Events)
		require.Len(t, want, 3)
		assert.Equal(t, want, got)
	}
}

// TestRandomSchedules checks that a watch has the events of client-go, in order, and ends as it does, whatever
// is sent, however it is cut, delayed, read ahead and sampled, and that nothing is left of it wherever it is
// stopped.
func TestRandomSchedules(t *testing.T) {
	draw.Times(t, 10, func(d *draw.T) {
		k := draw.Of(d, kinds[0], kinds[1], kinds[4], kinds[5])
		pieces := randomPieces(d, k)
		pause := draw.Of(d, 0, time.Millisecond, 3*time.Second)
		most := draw.Of(d, 0, 1, 100, 5000)
		enough := draw.Of(d, 0, draw.Int(d, 1, 40))
		change := draw.Of(d, nil, eager(0), eager(time.Millisecond))
		verify, share, waits := draw.Of(d, 1, 2, 7, 4096), d.Bool(), draw.Of(d, 0, time.Millisecond, 5*time.Second)
		synctest.Test(d.T, func(t *testing.T) {
			plain := followSlowly(t, altered{k.make(t, inPieces(pieces, pause, most)), nil, change}, 0, 0)
			source := tappedOf(altered{k.make(t, inPieces(pieces, pause, most, transport)), nil, change}, k.example, usesOwn,
				func(o *engine.Options) { o.Verify, o.Share, o.Remember = int64(verify), share, share })
			defer source.Begin()()
			got := followSlowly(t, source, enough, waits)
			if enough > 0 {
				plain.Events = plain.Events[:min(enough, len(plain.Events))]
			}
			require.Equal(t, plain, got)
			require.Zero(t, source.ledger.State().Differences)
			require.NotContains(t, source.ledger.State().Why, "reads more")
			require.NotContains(t, source.ledger.State().Why, "off for good")
			time.Sleep(time.Minute) // until the server has noticed that it is over
		})
	})
}

// TestOtherShardsAreSeen checks that a watch of which nearly all events are those of another shard sends one of
// them each second, so that it does not seem to be silent, and decodes no others.
func TestOtherShardsAreSeen(t *testing.T) {
	for _, k := range append([]kind{kinds[4]}, podClients...) {
		part, pieces := half(t, shard.UID), [][]byte(nil)
		for i := 0; len(pieces) < 1+40; i++ {
			p := pod(fmt.Sprint("p", i), fmt.Sprint(10+i))
			p.UID = types.UID(fmt.Sprintf("%x", sha256.Sum256([]byte(p.Name))))
			if part.Has(p) == (len(pieces) == 0) {
				pieces = append(pieces, taptest.Frame(watch.Added, p, k.mediaType()))
			}
		}
		synctest.Test(t, func(t *testing.T) {
			source := tappedOf(k.make(t, inPieces(pieces, time.Second/4, 0, transport)), k.example, usesOwn, func(o *engine.Options) { o.Part = part })
			assert.Len(t, followSlowly(t, source, 0, 0).Events, 1+10)
			assert.EqualValues(t, 1+10, source.ledger.State().Verified)
			assert.Zero(t, source.ledger.State().Decoded)
		})
	}
}

// eager is a client whose decoder reads and decodes ahead, as that of client-go 0.38 does, and takes some time.
func eager(time time.Duration) watchChange {
	return func(ctx context.Context, plain clientgo.WatcherWithContext, o metav1.ListOptions) (watch.Interface, error) {
		w, err := plain.WatchWithContext(ctx, o)
		if err != nil {
			return nil, err
		}
		d := &eagerDecoder{of: w, takes: time, ready: make(chan watch.Event, 8), closed: make(chan struct{})}
		go d.run()
		return watch.NewStreamWatcher(d, nil), nil
	}
}

type eagerDecoder struct {
	of     watch.Interface
	takes  time.Duration
	ready  chan watch.Event
	closed chan struct{}
}

func (d *eagerDecoder) run() {
	defer close(d.ready)
	for e := range d.of.ResultChan() {
		select {
		case d.ready <- e:
		case <-d.closed:
			return
		}
	}
}

func (d *eagerDecoder) Decode() (watch.EventType, runtime.Object, error) {
	select {
	case e, open := <-d.ready:
		if time.Sleep(d.takes); open {
			return e.Type, e.Object, nil
		}
	case <-d.closed:
	}
	return "", nil, io.EOF
}

func (d *eagerDecoder) Close() {
	close(d.closed)
	d.of.Stop()
}

// TestDecodingTime checks that a client that has read on is waited for until it has taken too long, and that the
// event that then comes late is not lost.
func TestDecodingTime(t *testing.T) {
	for _, k := range append([]kind{kinds[4]}, podClients...) {
		for takes, on := range map[time.Duration]bool{0: true, 2*time.Second - 1: true, 2*time.Second + 1: false} {
			synctest.Test(t, func(t *testing.T) {
				pieces := frames(20, k.mediaType())
				want := followSlowly(t, k.make(t, inPieces(pieces, 0, 0)), 0, 0)
				require.Len(t, want.Events, 20)
				source := tappedOf(altered{k.make(t, inPieces(pieces, 0, 0, transport)), nil, eager(takes)}, k.example, usesOwn)
				assert.Equal(t, want, followSlowly(t, source, 0, 0))
				state := source.ledger.State()
				assert.Equal(t, on, state.On)
				assert.Equal(t, !on, state.IsTurnedOff(), state.Why)
				assert.Equal(t, !on, strings.Contains(state.Why, "reads more before it sends an event"))
			})
		}
	}
}

// randomPieces returns the pieces of the body of a watch.
func randomPieces(d *draw.T, k kind) (pieces [][]byte) {
	var body []byte
	odd := draw.Of(d, 0, 0, 30)
	frame := func(of watch.EventType, obj runtime.Object) []byte {
		if p, isPod := obj.(*v1.Pod); isPod && k.name == "metadata" {
			obj = metadataOf(p)
		}
		return taptest.Frame(of, obj, k.mediaType())
	}
	for i := range draw.Int(d, 0, 60) {
		p := pod(fmt.Sprint("p", draw.Int(d, 0, 5)), fmt.Sprint(10+i))
		if d.Bool() {
			p.Annotations["long"] = strings.Repeat("x", draw.Int(d, 0, 9000))
		}
		switch {
		case odd == 0 || draw.Int(d, 0, odd) > 0:
			body = append(body, frame(draw.Of(d, watch.Added, watch.Modified, watch.Modified, watch.Deleted), p)...)
		case d.Bool():
			body = append(body, frame(watch.Bookmark, bookmark(fmt.Sprint(10+i), d.Bool()))...)
		default:
			body = append(body, draw.Of(d, frame(watch.Error, statusOf(410, metav1.StatusReasonExpired)), frame("ODD", p),
				frame(watch.Added, &v1.Node{}), []byte("null\n"), []byte("[}\n"), []byte(" \r\n"), []byte{0, 0, 0, 0})...)
		}
	}
	if d.Bool() {
		body = body[:draw.Int(d, 0, len(body))]
	}
	for len(body) > 0 {
		n := min(len(body), draw.Of(d, 1+draw.Int(d, 0, 20), 500, 4096, 40000))
		pieces, body = append(pieces, body[:n]), body[n:]
	}
	return pieces
}

// inPieces returns the configuration of a client whose watches have pieces, each after a pause. Its outermost transport
// reads ahead, at most that many bytes at a time, unless most is 0.
func inPieces(pieces [][]byte, pause time.Duration, most int, wraps ...wrapper) *rest.Config {
	c := &rest.Config{Host: "http://127.0.0.1:1", QPS: -1, Transport: taptest.Trip(func(r *http.Request) (*http.Response, error) {
		media := mediaOf(r)
		if media == protobufType {
			media += ";stream=watch"
		}
		read, write := io.Pipe()
		go func() {
			for _, piece := range pieces {
				time.Sleep(pause)
				if _, err := write.Write(piece); err != nil {
					return
				}
			}
			_ = write.Close()
		}()
		return &http.Response{StatusCode: http.StatusOK, Request: r, Header: http.Header{"Content-Type": {media}}, Body: read}, nil
	})}
	for _, wrap := range wraps {
		c.Wrap(wrap)
	}
	if most > 0 {
		c.Wrap(reading(func(body io.Reader, p []byte) (int, error) { return body.Read(p[:min(most, len(p))]) }))
		c.Wrap(readsAhead)
	}
	return c
}

// followSlowly is follow with a pause before each event is received.
func followSlowly(t *testing.T, lw clientgo.ListerWatcherWithContext, enough int, pause time.Duration) outcome {
	w, err := lw.WatchWithContext(t.Context(), firstWatch)
	require.NoError(t, err)
	var got outcome
	for e := range w.ResultChan() {
		if got.Events = append(got.Events, e); enough == len(got.Events) {
			break
		}
		time.Sleep(pause)
	}
	w.Stop()
	for range w.ResultChan() { // until it is closed
	}
	return got
}
