// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/internal/decode"
	"github.com/kinformer/cache/internal/keep"
	"github.com/kinformer/cache/internal/shard"
	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/draw"
)

var podForm = form{objects: reflect.TypeFor[*v1.Pod]()}

// bytesOf returns the bytes of an object of the given size, which differ by n.
func bytesOf(n, size int) []byte {
	b := bytes.Repeat([]byte("x"), size)
	copy(b, fmt.Sprint(n, " "))
	return b
}

// seen returns the object with these bytes, or nil.
func (r *rows) seen(f form, data []byte) kruntime.Object {
	found := r.find(f, data)
	if !found.same {
		return nil
	}
	return found.Object.(kruntime.Object)
}

// entered adds an object with these bytes.
func (r *rows) entered(f form, data []byte) kruntime.Object {
	obj := reflect.New(f.objects.Elem()).Interface().(kruntime.Object)
	r.add(r.find(f, data), obj, nil)
	return obj
}

// TestLeastRow checks the threshold, and bytes that differ in the last one or in length.
func TestLeastRow(t *testing.T) {
	r := newRows(nil)
	for _, size := range []int{0, 1, leastRow - 1, leastRow, leastRow + 1} {
		data := bytesOf(size, size)
		obj := r.entered(podForm, data)
		assert.Equal(t, size >= leastRow, r.seen(podForm, data) != nil, "%d", size)
		if size == 0 {
			continue
		}
		data[size-1]++
		assert.Nil(t, r.seen(podForm, data))
		data[size-1]--
		assert.Nil(t, r.seen(podForm, append(data, 0)))
		runtime.KeepAlive(obj)
	}
}

// TestItemsOfErrors checks that an item that cannot be decoded gets no row.
func TestItemsOfErrors(t *testing.T) {
	r, long := newRows(nil), strings.Repeat("x", leastRow)
	body := `{"kind":"PodList","items":[{"metadata":{"name":1,"uid":"` + long + `"}},{"metadata":{"name":"a","uid":"` + long + `"}}]}`
	for known, many := range map[*rows]int{r: 1, nil: 0} {
		list := (&trust{rows: known}).decoder(podForm.objects, JSON, false).list(strings.NewReader(body), false)
		broken, err := list.next()
		require.NoError(t, err)
		assert.Nil(t, broken.Object)
		assert.Error(t, broken.Why)
		whole, err := list.next()
		require.NoError(t, err)
		assert.Equal(t, "a", whole.Object.(*v1.Pod).Name)
		if known != nil {
			assert.Len(t, known.mu.objects, many)
		}
		known.forget()
	}
}

// TestRowsModel checks that find returns the object that was last added for the same bytes and form, as long as it is
// referenced. The same bytes in another form, such as another decoder or location, are another object.
func TestRowsModel(t *testing.T) {
	forms := []form{
		podForm,
		{objects: podForm.objects, in: inCleared},
		{objects: podForm.objects, in: inItem},
		{objects: podForm.objects, in: inMessage},
		{objects: podForm.objects, in: inItem, list: metav1.TypeMeta{Kind: "PodList"}},
		{objects: podForm.objects, in: inItem, list: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}},
		{objects: podForm.objects, in: inMessage, kind: schema.GroupVersionKind{Kind: "Pod"}},
		{objects: reflect.TypeFor[*v1.Node]()},
		{objects: reflect.TypeFor[*unstructured.Unstructured]()},
	}
	dataOf := func(f, n int) []byte {
		if forms[f].in != inMessage {
			return bytesOf(n, leastRow)
		}
		data, _ := (&v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint(n)), GenerateName: strings.Repeat("x", leastRow)}}).Marshal()
		return data
	}
	draw.Check(t, func(t *draw.T) {
		r := newRows(nil)
		type place struct{ form, n int }
		alive, last := map[place]kruntime.Object{}, map[place]string{}
		n := 0
		at := func() place { return place{draw.Int(t, 0, len(forms)-1), draw.Int(t, 0, 8)} }
		t.Repeat(map[string]func(*draw.T){
			"add": func(t *draw.T) {
				p := at()
				n++
				alive[p], last[p] = r.entered(forms[p.form], dataOf(p.form, p.n)), fmt.Sprint(n)
				alive[p].(metav1.Object).SetName(last[p])
			},
			"drop": func(t *draw.T) { delete(alive, at()) },
			"collect": func(t *draw.T) {
				if draw.Int(t, 0, 7) == 0 {
					runtime.GC()
				}
			},
			"forget": func(t *draw.T) {
				if draw.Int(t, 0, 7) == 0 {
					r.forget()
					clear(alive)
					clear(last)
				}
			},
			"": func(t *draw.T) {
				p := at()
				obj := r.seen(forms[p.form], dataOf(p.form, p.n))
				if kept := alive[p]; kept != nil {
					require.Same(t, kept, obj)
				}
				if obj != nil {
					require.Equal(t, last[p], obj.(metav1.Object).GetName())
				}
			},
		})
	})
}

// TestRowsTogether checks concurrent use, together with the garbage collector.
func TestRowsTogether(t *testing.T) {
	r := newRows(nil)
	var running sync.WaitGroup
	for g := range 4 {
		running.Go(func() {
			var kept [500]kruntime.Object
			for i := range 2000 {
				data := bytesOf(i%100, leastRow)
				found := r.find(podForm, data)
				obj, _ := found.Object.(kruntime.Object)
				if !found.same {
					obj = &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i % 100)}}
					r.add(found, obj, nil)
				}
				assert.Equal(t, fmt.Sprint(i%100), obj.(*v1.Pod).Name)
				if kept[i%len(kept)] = obj; i%len(kept) == len(kept)-1 {
					clear(kept[:])
					runtime.GC()
					if g == 0 {
						r.forget()
					}
				}
			}
			runtime.KeepAlive(kept)
		})
	}
	running.Wait()
}

// TestFormsAreFew checks that a server whose lists have many kinds, or kinds with long names, does
// not fill memory, and that objects in the most recent forms are found.
func TestFormsAreFew(t *testing.T) {
	r, data := newRows(nil), bytesOf(1, leastRow)
	formOf := func(kind string) form {
		return form{objects: podForm.objects, in: inItem, list: metav1.TypeMeta{Kind: kind, APIVersion: "v1"}}
	}
	var kept []kruntime.Object
	for i := range 10 * mostForms {
		obj := r.entered(formOf(fmt.Sprint(i)), data)
		require.Same(t, obj, r.seen(formOf(fmt.Sprint(i)), data))
		require.LessOrEqual(t, len(r.mu.forms), mostForms)
		kept = append(kept, obj)
	}
	for i := range 10*mostForms - mostForms {
		require.Nil(t, r.seen(formOf(fmt.Sprint(i)), data), "forgotten, and not another's")
	}
	long := formOf(strings.Repeat("x", longestForm+1))
	r.entered(long, data)
	assert.NotContains(t, r.mu.forms, long)
	runtime.KeepAlive(kept)
}

// TestAddedBehindForget checks that an object which was looked up before forget and added after it
// is not found, whatever forms follow.
func TestAddedBehindForget(t *testing.T) {
	r, data := newRows(nil), bytesOf(1, leastRow)
	before := r.find(podForm, data)
	r.forget()
	other := podForm
	other.in = inItem
	require.Nil(t, r.seen(other, data))
	require.Nil(t, r.seen(podForm, data))
	obj := &v1.Pod{}
	r.add(before, obj, nil)
	assert.Nil(t, r.seen(other, data))
	assert.Nil(t, r.seen(podForm, data))
	runtime.KeepAlive(obj)
}

// TestRowsShrinks checks that little memory of the map remains when most objects are deleted, and
// that later objects are handled quickly.
func TestRowsShrinks(t *testing.T) {
	const many = 20_000
	r := newRows(nil)
	alive := make([]kruntime.Object, many)
	for i := range alive {
		alive[i] = r.entered(podForm, bytesOf(i, leastRow))
	}
	require.Len(t, r.mu.objects, many)
	alive = alive[:10:10]
	for i := range many {
		if i%(many/4) == 0 {
			alive = append([]kruntime.Object(nil), alive...)
			runtime.GC()
		}
		r.find(podForm, bytesOf(many, leastRow))
	}
	assert.Less(t, len(r.mu.objects), many/10)
	assert.Less(t, r.mu.most, many/2, "it was made anew")
	for i := range alive {
		assert.Same(t, alive[i], r.seen(podForm, bytesOf(i, leastRow)))
	}
}

// written is the report of a modified part.
var written = decode.Written{Is: reflect.ValueOf([]string{"a"}), Was: reflect.ValueOf([]string{"b"})}

// TestWrittenPartForgets checks that, when a modified part is found, no informer returns former
// objects, which may contain that part.
func TestWrittenPartForgets(t *testing.T) {
	testkit.Reports(t)
	one, another, data := newRows(nil), newRows(nil), bytesOf(1, leastRow)
	kept := []kruntime.Object{one.entered(podForm, data), another.entered(podForm, data)}
	checkedPart(&tap.Ledger{})(nil)
	for i, r := range []*rows{one, another} {
		require.Same(t, kept[i], r.seen(podForm, data))
	}
	checkedPart(&tap.Ledger{})(&written)
	for _, r := range []*rows{one, another} {
		assert.Nil(t, r.seen(podForm, data))
		obj := r.entered(podForm, data)
		assert.Same(t, obj, r.seen(podForm, data))
	}
	runtime.KeepAlive(kept)
}

// TestWrittenPartInABubble checks that the report of a modified part does not block in a synctest bubble,
// whose clock is years behind that of the last reported error.
func TestWrittenPartInABubble(t *testing.T) {
	utilruntime.HandleError(errors.New("the last error, of the real clock"))
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		checkedPart(&tap.Ledger{})(&written)
		assert.Zero(t, time.Since(began))
	})
}

// TestOffForgets checks that an informer whose client decodes everything has no table.
func TestOffForgets(t *testing.T) {
	s := New(nil, &v1.Pod{}, Options{Options: tap.Options{Share: true, Remember: true}})
	obj := s.rows.entered(podForm, bytesOf(1, leastRow))
	require.Len(t, s.rows.mu.objects, 1)
	s.turnOffForGood("a test")
	assert.Empty(t, s.rows.mu.objects)
	runtime.KeepAlive(obj)
}

// frameOf returns a frame of a watch.
func frameOf(t testing.TB, kind watch.EventType, pod *v1.Pod, e Encoding) []byte {
	if e == JSON {
		data, err := json.Marshal(pod)
		require.NoError(t, err)
		return fmt.Appendf(nil, "{\"type\":\"%s\",\"object\":%s}\n", kind, data)
	}
	event := metav1.WatchEvent{Type: string(kind), Object: kruntime.RawExtension{Raw: inProtobuf(t, "Pod", pod)}}
	frame, err := event.Marshal()
	require.NoError(t, err)
	return frame
}

// inProtobuf returns an object as a server sends it.
func inProtobuf(t testing.TB, kind string, obj interface{ Marshal() ([]byte, error) }) []byte {
	raw, err := obj.Marshal()
	require.NoError(t, err)
	data, err := (&kruntime.Unknown{TypeMeta: kruntime.TypeMeta{APIVersion: "v1", Kind: kind}, Raw: raw}).Marshal()
	require.NoError(t, err)
	return append([]byte("k8s\x00"), data...)
}

// followingPods returns a watch that has learned the stream type of pods.
func followingPods(r *rows, e Encoding, cleared bool) *following {
	by := &trust{rows: r, options: Options{Options: tap.Options{Ledger: &tap.Ledger{}}}}
	return &following{trust: by, coding: e, streamType: &streamType{
		decoder: by.decoder(podForm.objects, e, false), objects: podForm.objects,
		kind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, cleared: cleared,
	}}
}

// sent decodes a frame, and returns its event and its size.
func (f *following) sent(t testing.TB, kind watch.EventType, pod *v1.Pod) (watch.Event, int64) {
	t.Helper()
	data := frameOf(t, kind, pod, f.coding)
	_, got, err := f.decode(data)
	require.NoError(t, err)
	require.Equal(t, kind, got.Type)
	return got, int64(len(data))
}

// podOf returns a pod that is large enough for a row.
func podOf(n int) *v1.Pod {
	pod := &v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	pod.Name, pod.Annotations = fmt.Sprint(n), map[string]string{"large": strings.Repeat("x", leastRow)}
	return pod
}

// TestStreamTypesAreApart checks that watches whose client clears the kind and other watches do not exchange objects.
func TestStreamTypesAreApart(t *testing.T) {
	for _, e := range []Encoding{JSON, Protobuf} {
		r, made := newRows(nil), map[bool]kruntime.Object{}
		for range 2 {
			for _, cleared := range []bool{false, true} {
				got, _ := followingPods(r, e, cleared).sent(t, watch.Added, podOf(1))
				assert.Equal(t, cleared, kindOf(got.Object).Empty(), "%s", e)
				if before := made[cleared]; before != nil {
					assert.Same(t, before, got.Object, "%s", e)
				}
				made[cleared] = got.Object
			}
		}
	}
}

// TestDeletionsMakeRoom checks that no row remains when all objects have been deleted.
func TestDeletionsMakeRoom(t *testing.T) {
	for _, e := range []Encoding{JSON, Protobuf} {
		f := followingPods(newRows(nil), e, false)
		var cached []watch.Event
		for i := range 40 {
			added, _ := f.sent(t, watch.Added, podOf(i))
			cached = append(cached, added)
		}
		require.Len(t, f.trust.rows.mu.objects, 40)
		runtime.KeepAlive(cached)
		for i := range 40 {
			f.sent(t, watch.Deleted, podOf(i))
		}
		require.Eventually(t, func() bool {
			runtime.GC() // cleanups run later
			f.trust.rows.mu.Lock()
			defer f.trust.rows.mu.Unlock()
			return len(f.trust.rows.mu.objects) == 0
		}, time.Minute, time.Millisecond, e)
	}
}

// TestAheadReadsAll checks that Read returns the whole body, or the beginning of it and its error.
func TestAheadReadsAll(t *testing.T) {
	broken := errors.New("broken")
	draw.Check(t, func(t *draw.T) {
		data := bytes.Repeat([]byte("0123456789abcdef"), draw.Int(t, 0, 40000))
		fails := draw.Of[error](t, nil, broken)
		body := io.MultiReader(append(cut(t, data), iotest.ErrReader(cmp.Or(fails, io.EOF)))...)
		limited := draw.Of[time.Duration](t, 0, longList)
		a := readAhead(body, draw.Int[int64](t, 1, 300000), limited)
		defer a.close()
		got, err := io.ReadAll(a)
		assert.Equal(t, fails, err)
		assert.Equal(t, fails, a.failed())
		assert.True(t, bytes.HasPrefix(data, got))
		assert.True(t, fails != nil || len(data) == len(got))
	})
}

// TestAheadIsBounded checks that no more bytes wait than the limit and one read.
func TestAheadIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		taken := 0
		a := readAhead(reads(func(p []byte) (int, error) { taken += len(p); return len(p), nil }), 1<<20, longList)
		synctest.Wait()
		assert.Greater(t, taken, 1<<20-1)
		assert.LessOrEqual(t, taken, 1<<20+lastChunk)
		_, _ = io.CopyN(io.Discard, a, 1<<20)
		synctest.Wait()
		assert.Greater(t, taken, 2<<20-1)
		assert.LessOrEqual(t, taken, 2<<20+lastChunk)
		a.close()
		_, err := a.Read(make([]byte, 1))
		assert.Equal(t, errClosed, err)
	})
}

// TestAheadByDefault checks that the limit is the documented one unless the options have another.
func TestAheadByDefault(t *testing.T) {
	assert.EqualValues(t, 32<<20, New(nil, nil, Options{}).options.Ahead)
	assert.EqualValues(t, 5, New(nil, nil, Options{Options: tap.Options{Ahead: 5}}).options.Ahead)
	assert.EqualValues(t, -1, New(nil, nil, Options{Options: tap.Options{Ahead: -1}}).options.Ahead, "none")
}

type reads func([]byte) (int, error)

func (f reads) Read(p []byte) (int, error) { return f(p) }

// parcels is a body whose pieces arrive one after another, each after a pause.
type parcels struct {
	every time.Duration
	left  int
}

func (p *parcels) Read(into []byte) (int, error) {
	if p.left == 0 {
		return 0, io.EOF
	}
	time.Sleep(p.every)
	n := min(len(into), p.left, 1000)
	p.left -= n
	return n, nil
}

// TestAheadLetsTheBodyComeFirst checks that data that arrives without a long pause is not returned
// before the end of the body or the limit.
func TestAheadLetsTheBodyComeFirst(t *testing.T) {
	for _, c := range []struct {
		what  string
		every time.Duration
		limit int64
		taken int64 // bytes received when the first ones are returned
	}{
		{"all at once", 0, 1 << 20, 100_000},
		{"without a pause", longPause - 1, 1 << 20, 100_000},
		{"slowly", longPause + 1, 1 << 20, 1000},
		{"more than the limit", longPause - 1, 10_000, 10_000},
		{"as much as the limit", 0, 100_000, 100_000},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := readAhead(&parcels{every: c.every, left: 100_000}, c.limit, longList)
			n, err := a.Read(make([]byte, 10))
			assert.NoError(t, err, c.what)
			if c.every > 0 {
				assert.InDelta(t, c.taken, a.read(), 1000, c.what)
			} else {
				assert.Equal(t, c.taken, a.read(), c.what)
			}
			rest, err := io.ReadAll(a)
			assert.NoError(t, err, c.what)
			assert.Equal(t, 100_000, n+len(rest), c.what)
		})
	}
}

// TestAheadDoesNotWaitTwice checks that, once the limit was reached, data is returned as it arrives.
func TestAheadDoesNotWaitTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := readAhead(&parcels{every: longPause - 1, left: 100_000}, 10_000, longList)
		for got := 0; got < 100_000; {
			n, err := a.Read(make([]byte, 4000))
			got += n
			if assert.NoError(t, err); got > 10_000 {
				assert.LessOrEqual(t, a.read(), int64(got+1000))
			}
		}
		_, err := a.Read(make([]byte, 1))
		assert.Equal(t, io.EOF, err)
	})
}

// cut returns readers of random pieces of data.
func cut(t *draw.T, data []byte) (pieces []io.Reader) {
	for len(data) > 0 {
		n := draw.Int(t, 1, len(data))
		pieces = append(pieces, bytes.NewReader(data[:n]))
		data = data[n:]
	}
	return pieces
}

// TestWatchBodyWaits checks that a claimed body returns only frames passed by hand, and everything after its release.
func TestWatchBodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newWatchBody(io.NopCloser(strings.NewReader(" real")))
		got := make(chan string)
		go func() {
			for p := make([]byte, 4); ; {
				n, err := b.Read(p)
				if err != nil {
					got <- err.Error()
					return
				}
				got <- string(p[:n])
			}
		}()
		require.True(t, b.claim())
		time.Sleep(time.Hour)
		select {
		case early := <-got:
			t.Fatalf("a claimed body brought %q", early)
		default:
		}
		b.hand([]byte("handed"))
		assert.Equal(t, "hand", <-got)
		assert.Equal(t, "ed", <-got)
		<-b.starved
		b.takeBack()
		b.release([]byte("rest"), nil)
		assert.Equal(t, "rest", <-got)
		assert.Equal(t, " rea", <-got)
		assert.Equal(t, "l", <-got)
		assert.Equal(t, "EOF", <-got)
	})
}

// TestWatchBodyPatience checks that a body which is read but not claimed is given back after a
// while, and cannot be claimed any more, and that one which is not read waits.
func TestWatchBodyPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read, unread := newWatchBody(io.NopCloser(strings.NewReader("real"))), newWatchBody(http.NoBody)
		began := time.Now()
		got, err := io.ReadAll(read)
		require.NoError(t, err)
		assert.Equal(t, "real", string(got))
		assert.Equal(t, patience, time.Since(began))
		assert.False(t, read.claim())
		time.Sleep(time.Hour)
		assert.True(t, unread.claim())
	})
}

// TestWatchBodyClose checks that Close ends a waiting Read, closes the real body, and leaves no timer.
func TestWatchBodyClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		real := &closes{}
		b := newWatchBody(real)
		done := make(chan error)
		go func() {
			_, err := b.Read(make([]byte, 1))
			done <- err
		}()
		synctest.Wait()
		require.NoError(t, b.Close())
		assert.Equal(t, io.EOF, <-done)
		assert.Equal(t, 1, real.n)
		b.giveBack()
		_, err := b.Read(make([]byte, 1))
		assert.Equal(t, io.EOF, err, "the end, whoever comes first")
		b.release(nil, nil)
		_, err = b.Read(make([]byte, 1))
		assert.Equal(t, http.ErrBodyReadAfterClose, err)
	})
}

type closes struct{ n int }

func (c *closes) Read([]byte) (int, error) { return 0, io.EOF }

func (c *closes) Close() error { c.n++; return nil }

// versionOf returns a version of a pod with a container.
func versionOf(n, version int) *v1.Pod {
	pod := podOf(n)
	pod.UID, pod.ResourceVersion = types.UID(fmt.Sprint("uid", n)), fmt.Sprint(version)
	pod.Spec.Containers = []v1.Container{{Name: fmt.Sprint("c", n), Command: []string{fmt.Sprint("command", n)}}}
	return pod
}

// TestFormerIsFound checks that a version shares unchanged parts with the former one, whether that
// is from a list, a watch or a deletion, and without a table of parts. It does not while all parts
// are checked, nor after a deletion, even if the object is still referenced.
func TestFormerIsFound(t *testing.T) {
	f := followingPods(newRows(nil), Protobuf, true)
	version, kept := 0, []*v1.Pod(nil)
	watched := func(event watch.EventType) *v1.Pod {
		version++
		got, _ := f.sent(t, event, versionOf(1, version))
		kept = append(kept, got.Object.(*v1.Pod))
		return kept[len(kept)-1]
	}
	listed := func() *v1.Pod {
		version++
		list := inProtobuf(t, "PodList", &v1.PodList{Items: []v1.Pod{*versionOf(1, version)}})
		item, err := f.streamType.decoder.list(bytes.NewReader(list), f.trust.checks.Load()).next()
		require.NoError(t, err)
		require.NoError(t, item.Why)
		kept = append(kept, item.Object.(*v1.Pod))
		return kept[len(kept)-1]
	}
	added := func() *v1.Pod { return watched(watch.Added) }
	modified := func() *v1.Pod { return watched(watch.Modified) }
	for i, step := range []struct {
		next  func() *v1.Pod
		takes bool
	}{{added, false}, {modified, true}, {listed, true}, {listed, true}, {added, true}} {
		got := step.next()
		require.Equal(t, fmt.Sprint(version), got.ResourceVersion)
		if i > 0 {
			is := &got.Spec.Containers[0] == &kept[len(kept)-2].Spec.Containers[0]
			assert.Equal(t, step.takes, is, "step %d", i)
		}
	}
	f.trust.checks.Store(true)
	for _, next := range []func() *v1.Pod{modified, modified, listed, listed, modified} {
		got := next()
		assert.NotSame(t, &kept[len(kept)-2].Spec.Containers[0], &got.Spec.Containers[0])
	}
	f.trust.checks.Store(false)
	before := modified()
	assert.Same(t, &kept[len(kept)-2].Spec.Containers[0], &before.Spec.Containers[0])
	last := watched(watch.Deleted)
	assert.Same(t, &before.Spec.Containers[0], &last.Spec.Containers[0])
	assert.Empty(t, f.trust.rows.mu.objects)
	assert.NotSame(t, &before.Spec.Containers[0], &added().Spec.Containers[0])
	runtime.KeepAlive(kept)
}

// TestOtherKindsAreGivenUp checks that an object of another kind than the stream type is left to the client.
func TestOtherKindsAreGivenUp(t *testing.T) {
	for _, e := range []Encoding{JSON, Protobuf} {
		for _, cleared := range []bool{false, true} {
			for _, event := range []watch.EventType{watch.Added, watch.Deleted, watch.Bookmark} {
				f := followingPods(newRows(nil), e, cleared)
				f.streamType.kind.Kind = "Other"
				_, _, err := f.decode(frameOf(t, event, versionOf(1, 1), e))
				assert.ErrorIs(t, err, errOtherKind, "%s, %s", e, event)
				assert.Empty(t, f.trust.rows.mu.objects)
			}
		}
	}
}

// TestLimitFor checks that a limit is the cached size, rounded up to a power of two, and decreases
// only when that is a quarter.
func TestLimitFor(t *testing.T) {
	for _, c := range []struct{ cached, limit, is int64 }{
		{0, 0, maxParts / smallTable}, {0, maxParts, maxParts / smallTable}, {maxParts / smallTable, 0, maxParts / smallTable},
		{2 << 20, 0, 2 << 20}, {2<<20 + 1, 0, 4 << 20}, {2<<20 + 1, 2 << 20, 4 << 20}, {2 << 20, 2 << 20, 2 << 20},
		{2 << 20, 8 << 20, 2 << 20}, {2<<20 + 1, 8 << 20, 8 << 20}, {8 << 20, 8 << 20, 8 << 20},
		{maxParts, maxParts / 2, maxParts}, {maxParts + 1, maxParts, maxParts}, {1 << 40, 0, maxParts},
	} {
		assert.Equal(t, c.is, parts.limitFor(c.cached, c.limit), "%+v", c)
		assert.Equal(t, c.is, parts.limitFor(c.cached, c.is), "and that stays: %+v", c)
	}
	assert.EqualValues(t, 2<<20, texts.limitFor(32<<20, 0), "a sixteenth")
	assert.EqualValues(t, 2<<20, texts.limitFor(8<<20+16, 2<<20))
	assert.EqualValues(t, 512<<10, texts.limitFor(8<<20, 2<<20))
}

// TestCountOfGrownObjects checks that the count does not drift when objects are added small, grow, and are deleted.
func TestCountOfGrownObjects(t *testing.T) {
	for _, e := range []Encoding{JSON, Protobuf} {
		f := followingPods(newRows(nil), e, false)
		f.trust.cached.begin()
		sent := func(event watch.EventType, n, size int) int64 {
			pod := versionOf(n, 1)
			pod.Annotations["large"] = strings.Repeat("x", size)
			_, whole := f.sent(t, event, pod)
			return whole
		}
		const alive = 50
		var each int64
		for n := range 20 * alive {
			if n >= alive {
				sent(watch.Deleted, n-alive, 6000)
			}
			sent(watch.Added, n, 3000)
			each = sent(watch.Modified, n, 6000)
		}
		assert.EqualValues(t, alive, f.trust.cached.mu.now.objects)
		assert.InDelta(t, each*alive, f.trust.cached.mu.now.bytes, float64(each*alive)*0.6)
		f.trust.cached.end()
	}
}

// TestCountEnds checks that objects after the end, and those of a list begun before the next begin,
// do not count, and that more deletions than additions do no harm.
func TestCountEnds(t *testing.T) {
	before := cachedBytes.Load()
	var c cached
	count := func() int64 { return cachedBytes.Load() - before }
	c.begin()
	c.list()
	c.received(50 << 20)
	assert.EqualValues(t, 50<<20, count())
	c.end()
	c.received(1 << 20)
	assert.Zero(t, count())
	c.begin()
	c.received(1000)
	assert.EqualValues(t, 1000, count())
	c.listed() // a bookmark
	assert.EqualValues(t, 1000, count())
	c.list()
	c.received(10)
	assert.EqualValues(t, 1000, count(), "the state before counts until the list has come")
	c.unlisted()
	c.listed()
	assert.EqualValues(t, 1000, count(), "it did not come")
	c.deleted()
	c.deleted()
	assert.Zero(t, count())
	c.received(500)
	assert.EqualValues(t, 500, count())
	c.end()
	assert.Zero(t, count())
}

// TestCountsTogether checks that the limits are correct in the end when informers begin, end and count concurrently.
func TestCountsTogether(t *testing.T) {
	a, b := new(cached), new(cached)
	for range 100 {
		a.begin()
		b.begin()
		a.received(64 << 20)
		var both sync.WaitGroup
		both.Go(a.end)
		both.Go(func() { b.received(2 << 20) })
		both.Wait()
		require.Equal(t, parts.limitFor(cachedBytes.Load(), parts.limit.Load()), parts.limit.Load())
		b.end()
		require.Equal(t, parts.limitFor(cachedBytes.Load(), parts.limit.Load()), parts.limit.Load())
	}
	assert.Zero(t, cachedBytes.Load())
}

// TestTableMadeLate checks that a table created when much is cached has the correct limit.
func TestTableMadeLate(t *testing.T) {
	var c cached
	c.begin()
	defer c.end()
	c.received(8 << 20)
	own := table[decode.Parts]{most: maxParts, share: 1, create: decode.NewParts, resize: (*decode.Parts).SetLimit}
	got := own.get(new(tableUse[decode.Parts]))
	assert.EqualValues(t, 8<<20, got.Status().Limit)
	assert.EqualValues(t, 8<<20, own.limit.Load())
}

// unlikePod returns a version of a pod that has nothing in common with others, of 5 to 7 KB.
func unlikePod(n, version int) *v1.Pod {
	pod := versionOf(n, version)
	for i := range 4 {
		c := v1.Container{Name: fmt.Sprint("c", n, "-", i), Image: fmt.Sprint("registry/some-repository/image-", n, "-", i)}
		for j := range 12 {
			c.Env = append(c.Env, v1.EnvVar{Name: fmt.Sprint("some-variable-", n, "-", i, "-", j), Value: fmt.Sprint("a value of variable ", n, " ", i, " ", j)})
			c.Args = append(c.Args, fmt.Sprint("--an-argument-", n, "-", i, "-", j))
		}
		pod.Spec.Containers = append(pod.Spec.Containers, c)
	}
	return pod
}

// TestUnlikeObjectsComeAndGo checks that a thousand cached objects, out of many that are added,
// changed and deleted and have nothing in common, take less than 25 MiB including the tables.
func TestUnlikeObjectsComeAndGo(t *testing.T) {
	testkit.AtNight(t)
	const alive, come = 1000, 12_000
	for _, e := range []Encoding{JSON, Protobuf} {
		f := followingPods(newRows(nil), e, false)
		f.trust.options.Share = true
		f.streamType.decoder = f.trust.decoder(podForm.objects, e, false)
		f.trust.cached.begin()
		cached := make([]*v1.Pod, alive)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for n := range come {
			if n >= alive {
				f.sent(t, watch.Deleted, unlikePod(n-alive, 3))
			}
			f.sent(t, watch.Added, unlikePod(n, 1))
			got, _ := f.sent(t, watch.Modified, unlikePod(n, 2))
			cached[n%alive] = got.Object.(*v1.Pod)
		}
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&after)
		heap := int64(after.HeapAlloc) - int64(before.HeapAlloc)
		t.Logf("%s: %.1f MiB, parts %d of %d", e, float64(heap)/(1<<20), parts.weak.Value().Status().Bytes, parts.limit.Load())
		assert.Less(t, heap, int64(25<<20))
		f.trust.cached.end()
		runtime.KeepAlive(cached)
		runtime.KeepAlive(f)
	}
}

// TestPartIsCounted checks that objects of other shards do not count, however they are decoded, but
// that bookmarks are handled.
func TestPartIsCounted(t *testing.T) {
	pod := versionOf(1, 1)
	own, err := shard.RangeOf(0, 2)
	require.NoError(t, err)
	other, err := shard.RangeOf(1, 2)
	require.NoError(t, err)
	if !own.Has(pod) {
		own, other = other, own
	}
	for _, e := range []Encoding{JSON, Protobuf} {
		for part, want := range map[*shard.Range]int64{own: 2, other: 0} {
			f := followingPods(nil, e, false)
			f.trust.options.Part = part
			f.trust.cached.begin()
			frame := frameOf(t, watch.Added, pod, e)
			assert.Equal(t, part == other, f.isOther(frame))
			if part == own {
				f.sent(t, watch.Added, pod)
			}
			require.NoError(t, f.compare(frame, watch.Event{Type: watch.Added, Object: pod}))
			assert.Equal(t, want, f.trust.cached.mu.now.objects, "%v", e)
			assert.False(t, f.isOther(frameOf(t, watch.Bookmark, pod, e)))
			f.sent(t, watch.Bookmark, pod)
			f.trust.cached.end()
		}
	}
}

// TestGuardedOnce: an informer whose source is made anew for each request, as one of client-go's is, is guarded once.
func TestGuardedOnce(t *testing.T) {
	fields, _ := keep.New([]string{})
	o := Options{Options: tap.Options{
		Keep: &keep.Rule{Fields: fields}, Ledger: &tap.Ledger{}, Stored: func(string, string) (any, bool) { return nil, false },
	}}
	before := len(guarded.ledgers)
	for range 10 {
		New(nil, &v1.Pod{}, o)
	}
	assert.LessOrEqual(t, len(guarded.ledgers), before+1)
	runtime.KeepAlive(o.Ledger)
}
