// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/internal/tap/engine/taptest"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
)

// oddServer is a server of 25 pods without a network, which answers lists with another body while it is odd.
type oddServer struct {
	media string
	mu    sync.Mutex
	odd   []byte        // nil: the list
	lost  chan struct{} // closed when the open watches expire
}

func (s *oddServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	read, write := io.Pipe()
	body, lost := s.odd, (chan struct{})(nil)
	switch {
	case r.URL.Query().Get("watch") != "":
		body, lost = taptest.Frame(watch.Error, testkit.ErrExpired.ErrStatus.DeepCopy(), s.media), s.lost
	case body == nil:
		body = taptest.Encoded(oddPods(25), s.media)
	}
	go func() {
		if lost != nil {
			select {
			case <-r.Context().Done():
			case <-lost:
			}
		}
		_, _ = write.Write(body)
		_ = write.Close()
	}()
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {s.media}}, Request: r, Body: read}, nil
}

// set sets the answer to lists, and makes the open watches expire.
func (s *oddServer) set(odd []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.odd = odd
	close(s.lost)
	s.lost = make(chan struct{})
}

func oddPods(n int) *v1.PodList {
	list := &v1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "50"}}
	for i := range n {
		list.Items = append(list.Items, *informers.WirePod(i, "10"))
	}
	return list
}

// oddAnswer is an answer with status 200, and what it does to a cache of 25 pods.
type oddAnswer struct {
	name   string
	media  string
	body   []byte
	direct bool
	err    string // of ours; "": the answer is a list, which counts
	ours   int    // the number of pods that ours has then
	theirs int    // the number of pods that client-go's has
}

func oddAnswers() []oddAnswer {
	const inJSON, inProtobuf = runtime.ContentTypeJSON, runtime.ContentTypeProtobuf
	text := func(s string) []byte { return []byte(s) }
	status := &metav1.Status{Status: metav1.StatusFailure, Code: 500, Message: "some message"}
	nodes := &v1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: "50"}}
	list := taptest.Encoded(oddPods(25), inJSON)
	const noList = "the answer has no items and no version: an error of a gateway with status 200?"
	const noKind, isStatus = "the answer is an object without a kind that is known, not a PodList", "the answer is a Status, not a PodList"
	return []oddAnswer{
		{"an error of a gateway", inJSON, text(`{"error":"upstream unavailable"}`), true, noKind, 25, 0},
		{"an empty object", inJSON, text(`{}`), true, noKind, 25, 0},
		{"a list of another kind", inProtobuf, taptest.Encoded(nodes, inProtobuf), true, "the answer is a NodeList, not a PodList", 25, 0},
		{"null", inJSON, text(`null`), true, "the answer is no JSON object, not a PodList", 25, 0},
		{"a single object", inJSON, taptest.Encoded(informers.WirePod(1, "10"), inJSON), true, "the answer is a Pod, not a PodList", 25, 0},
		{"a Status", inJSON, taptest.Encoded(status, inJSON), true, isStatus, 25, 25},
		{"nothing", inJSON, text(""), true, "0-length response", 25, 25},
		{"a Table", inJSON, text(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"50"},"rows":[]}`), true, "the answer is a Table, not a PodList", 25, 25},
		{"HTML", inJSON, text(`<html>wait</html>`), true, "the answer is no JSON object, not a PodList", 25, 25},
		{"a Status in protobuf", inProtobuf, taptest.Encoded(status, inProtobuf), true, isStatus, 25, 25},
		{"half of a list", inJSON, list[:len(list)/2], true, "unexpected end of JSON input", 25, 25},
		{"an item that is none", inJSON, bytes.Replace(list, text(`"name":"p7"`), text(`"name":7`), 1), true, "item 7: metadata.name: number instead of string", 25, 25},
		{"an error of a gateway, for the client", inJSON, text(`{"error":"upstream unavailable"}`), false, noList, 25, 0},
		{"null, for the client", inJSON, text(`null`), false, noList, 25, 0},
		{"a list of another kind, for the client", inProtobuf, taptest.Encoded(nodes, inProtobuf), false, noList, 25, 0},
		{"a list without items", inJSON, taptest.Encoded(oddPods(0), inJSON), true, "", 0, 0},
	}
}

// oddRig is an informer of this library beside one of client-go, each of a server of its own.
type oddRig struct {
	servers   [2]*oddServer
	informers [2]clientgo.SharedIndexInformer
	deleted   [2]int
}

// inOdd runs a test with both informers, whose first list has the answer first, or is good if first is nil.
func inOdd(t *testing.T, a oddAnswer, first []byte, test func(r *oddRig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &oddRig{servers: [2]*oddServer{{media: a.media, odd: first, lost: make(chan struct{})}, {media: a.media, odd: first, lost: make(chan struct{})}}}
		r.informers[0] = kinformer.New(r.servers[0].client(t, a.direct), &v1.Pod{}, kinformer.Options{
			Requests: kinformer.Requests{Mode: kinformer.ListModeList},
		})
		r.informers[1] = clientgo.NewSharedIndexInformer(r.servers[1].client(t, false), &v1.Pod{}, 0, clientgo.Indexers{})
		for i, informer := range r.informers {
			_, err := informer.AddEventHandler(clientgo.ResourceEventHandlerFuncs{DeleteFunc: func(any) { r.deleted[i]++ }})
			require.NoError(t, err)
			defer testkit.InBackground(t, informer.RunWithContext)()
		}
		test(r)
	})
}

// client returns a ListerWatcher of the server with a generated client.
func (s *oddServer) client(t *testing.T, wrap bool) clientgo.ListerWatcher {
	c := &rest.Config{Host: "http://127.0.0.1:1", Transport: s, QPS: -1}
	c.ContentType = s.media
	if wrap {
		c.Wrap(direct.Transport)
	}
	set, err := kubernetes.NewForConfig(c)
	require.NoError(t, err)
	return clientgo.ToListWatcherWithWatchListSemantics(testkit.ListWatchOf(set.CoreV1().Pods("")), noStreams{})
}

// noStreams denies watch-lists.
type noStreams struct{}

func (noStreams) IsWatchListSemanticsUnSupported() bool { return true }

// has returns the numbers of stored pods and of deletions so far, of ours and of client-go's.
func (r *oddRig) has() (has [2]string) {
	time.Sleep(2 * time.Minute)
	synctest.Wait()
	for i, informer := range r.informers {
		has[i] = fmt.Sprintf("%d pods, %d deletions", len(informer.GetStore().List()), r.deleted[i])
	}
	return has
}

func (a oddAnswer) wants() [2]string {
	return [2]string{fmt.Sprintf("%d pods, %d deletions", a.ours, 25-a.ours), fmt.Sprintf("%d pods, %d deletions", a.theirs, 25-a.theirs)}
}

// TestOddAnswersToRelists checks that no answer with status 200 that is no list empties a cache, which it does with
// client-go's informers, and that the error says what came. The next list is as ever.
func TestOddAnswersToRelists(t *testing.T) {
	testkit.Reports(t)
	for _, a := range oddAnswers() {
		t.Run(a.name, func(t *testing.T) {
			inOdd(t, a, nil, func(r *oddRig) {
				require.Equal(t, [2]string{"25 pods, 0 deletions", "25 pods, 0 deletions"}, r.has())
				r.answers(a.body)
				assert.Equal(t, a.wants(), r.has())
				status := informers.Status(t, r.informers[0])
				if a.err == "" {
					assert.Zero(t, status.Attempts)
					assert.EqualValues(t, 1, status.Confirmed)
				} else {
					assert.ErrorContains(t, status.LastError, a.err)
				}
				r.answers(nil)
				r.has()
				assert.Len(t, r.informers[0].GetStore().List(), 25)
			})
		})
	}
}

// answers sets the answer of both servers.
func (r *oddRig) answers(body []byte) {
	for _, s := range r.servers {
		s.set(body)
	}
}

// TestOddAnswersToFirstLists checks that an informer has not synced while it gets the five worst of these answers:
// client-go's has, with an empty cache.
func TestOddAnswersToFirstLists(t *testing.T) {
	testkit.Reports(t)
	for _, a := range oddAnswers()[:5] {
		t.Run(a.name, func(t *testing.T) {
			inOdd(t, a, a.body, func(r *oddRig) {
				r.has()
				assert.False(t, r.informers[0].HasSynced())
				assert.True(t, r.informers[1].HasSynced())
				assert.ErrorContains(t, informers.Status(t, r.informers[0]).LastError, a.err)
				r.answers(nil)
				assert.Equal(t, "25 pods, 0 deletions", r.has()[0])
				assert.True(t, r.informers[0].HasSynced())
			})
		})
	}
}

// TestAnswersWithoutVersion checks that an informer that ever had a version takes no answer without items and version for a
// list, whatever decodes it, also if a list without a version was taken meanwhile.
func TestAnswersWithoutVersion(t *testing.T) {
	testkit.Reports(t)
	unversioned := oddPods(25)
	unversioned.ResourceVersion = ""
	for _, body := range []string{`{"items":[]}`, `{"error":"upstream","items":null}`, `{"kind":"PodList","apiVersion":"v1","items":[]}`, `{"kind":"PodList"}`} {
		for _, direct := range []bool{true, false} {
			t.Run(fmt.Sprint(body, " direct ", direct), func(t *testing.T) {
				inOdd(t, oddAnswer{media: runtime.ContentTypeJSON, direct: direct}, nil, func(r *oddRig) {
					refused := func(is bool) {
						t.Helper()
						require.Equal(t, "25 pods, 0 deletions", r.has()[0])
						status := informers.Status(t, r.informers[0])
						require.Equal(t, is, status.Attempts > 0, status.LastError)
						if is {
							require.ErrorContains(t, status.LastError, "the answer ")
						}
					}
					refused(false)
					r.answers([]byte(body))
					refused(true)
					r.answers(taptest.Encoded(unversioned, runtime.ContentTypeJSON))
					refused(false)
					assert.Empty(t, r.informers[0].LastSyncResourceVersion())
					r.answers([]byte(body))
					refused(true)
				})
			})
		}
	}
}

// TestEndMarkWithoutVersion checks that a watch-list whose end has no version is no state of an informer that had one.
func TestEndMarkWithoutVersion(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		expire, streams := make(chan struct{}), 0
		lw := &cache.ListWatch{
			ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return oddPods(25), nil },
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				w := watch.NewFakeWithChanSize(30, false)
				if o.SendInitialEvents != nil {
					mark := testkit.EndMark("50").Object.(*v1.Pod).DeepCopy()
					if streams++; streams == 1 {
						for _, pod := range oddPods(25).Items {
							w.Add(&pod)
						}
					} else {
						mark.ResourceVersion = ""
					}
					w.Action(watch.Bookmark, mark)
				}
				ends := expire
				if streams > 1 {
					ends = nil
				}
				go func() {
					select {
					case <-ctx.Done():
					case <-ends:
						w.Error(testkit.ErrExpired.ErrStatus.DeepCopy())
					}
					w.Stop()
				}()
				return w, nil
			},
		}
		informer := kinformer.New(lw, &v1.Pod{}, kinformer.Options{Requests: kinformer.Requests{Mode: kinformer.ListModeWatchList}})
		defer testkit.InBackground(t, informer.RunWithContext)()
		time.Sleep(time.Minute)
		require.Len(t, informer.GetStore().ListKeys(), 25)
		close(expire)
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, 2, streams)
		assert.Len(t, informer.GetStore().ListKeys(), 25)
	})
}

// TestEmptyListsOfAnotherKind checks that an empty list of another kind than before is refused where the kind is known,
// also if it has a version.
func TestEmptyListsOfAnotherKind(t *testing.T) {
	testkit.Reports(t)
	for _, body := range []string{
		`{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"50"},"items":[]}`,
		`{"kind":"NodeList","apiVersion":"v1","items":[]}`,
		`{"kind":"ErrorList","apiVersion":"v1","items":null}`,
		`{"kind":"Status","apiVersion":"v1","metadata":{"resourceVersion":"50"},"items":[]}`,
		`{"error":"x","items":[]}`,
	} {
		for name, client := range map[string]func(*testing.T, *gadgetServer) cache.SharedIndexInformer{
			"typed": func(t *testing.T, s *gadgetServer) cache.SharedIndexInformer {
				return gadgetsOf(t, s, true, byLists(false))
			},
			"dynamic": func(t *testing.T, s *gadgetServer) cache.SharedIndexInformer {
				return dynamicGadgets(t, gadgetConfig(s, true), byLists(false))
			},
			"dynamic, plain": func(t *testing.T, s *gadgetServer) cache.SharedIndexInformer {
				return dynamicGadgets(t, gadgetConfig(s, false), byLists(false))
			},
			"metadata, direct": func(t *testing.T, s *gadgetServer) cache.SharedIndexInformer {
				return gadgetMetadata(t, gadgetConfig(s, true), byLists(false))
			},
		} {
			t.Run(name+body, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					list := gadgetList("10", gadget("a", "5", `{}`), gadget("c", "7", `{}`))
					if strings.HasPrefix(name, "metadata") {
						list = strings.NewReplacer("GadgetList", "PartialObjectMetadataList", "g.io/v1", "meta.k8s.io/v1", `"Gadget"`, `"PartialObjectMetadata"`).Replace(list)
					}
					s := &gadgetServer{list: list}
					informer := client(t, s)
					defer testkit.InBackground(t, informer.RunWithContext)()
					time.Sleep(time.Minute)
					require.Len(t, informer.GetStore().List(), 2)
					before := s.listed()
					s.answers(body)
					require.NoError(t, kinformer.Relist(informer))
					time.Sleep(time.Minute)
					assert.Len(t, informer.GetStore().List(), 2)
					assert.Greater(t, s.listed(), before)
					assert.ErrorContains(t, informers.Status(t, informer).LastError, "failed to list ")
					s.answers(list)
					time.Sleep(5 * time.Minute)
					assert.Empty(t, informers.Status(t, informer).Problems)
				})
			})
		}
	}
}

// TestListsThatTheClientTakes checks that odd lists that the client takes are taken with direct decoding, too: of a kind
// that is not named after the type, without a version, or with a decoder of its own.
func TestListsThatTheClientTakes(t *testing.T) {
	testkit.Reports(t)
	for name, c := range map[string]struct {
		body, kind string
		list       runtime.Object
		has        int
	}{
		"no kind, no items":     {`{"metadata":{"resourceVersion":"1"}}`, "GadgetList", &gadgetV1List{}, 0},
		"another kind":          {`{"kind":"Gadgets","apiVersion":"g.io/v1","metadata":{"resourceVersion":"1"}}`, "Gadgets", &gadgetV1List{}, 0},
		"another kind, empty":   {`{"kind":"Gadgets","apiVersion":"g.io/v1","metadata":{"resourceVersion":"1"},"items":[]}`, "Gadgets", &gadgetV1List{}, 0},
		"another kind, an item": {`{"kind":"Gadgets","apiVersion":"g.io/v1","metadata":{"resourceVersion":"1"},"items":[` + gadget("a", "1", "{}") + `]}`, "Gadgets", &gadgetV1List{}, 1},
		"no version":            {`{"apiVersion":"g.io/v1","items":[],"kind":"GadgetList","metadata":{}}`, "GadgetList", &gadgetV1List{}, 0},
		"its own decoder":       {gadgetList("10", gadget("a", "5", `{}`), gadget("b", "6", `{"replicas":"3"}`), gadget("c", "7", `{}`)), "GadgetList", &lenientList{}, 3},
	} {
		for _, tapped := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " direct ", tapped), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &gadgetServer{list: c.body}
					informer := kinformer.New(typedGadgets(t, gadgetConfig(s, tapped), c.kind, c.list), &gadgetV1{}, byLists(false))
					defer testkit.InBackground(t, informer.RunWithContext)()
					time.Sleep(10 * time.Minute)
					assert.True(t, informer.HasSynced(), "%v", informers.Status(t, informer).LastError)
					assert.Len(t, informer.GetStore().List(), c.has)
				})
			})
		}
	}
}
