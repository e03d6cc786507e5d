// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/testkit/workload"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/test/e2e/apiserver"
	"github.com/kinformer/cache/test/e2e/follow"
	"github.com/kinformer/cache/test/e2e/transport"
)

// together is the number of cases that follow one server at a time.
const together = 20

// Compare compares the combinations of these clients: a subset with all pairs of values, or all of them.
// Pages need a server without a watch cache: a watch cache answers the first list completely.
func Compare(t *testing.T, ctx context.Context, clients ...Client) {
	t.Helper()
	cases := chosen(all(clients))
	t.Logf("%d combinations", len(cases))
	for _, cached := range []bool{true, false} {
		some := slices.DeleteFunc(slices.Clone(cases), func(c Case) bool { return cached == (c.Mode == Pages) })
		for chunk := range slices.Chunk(some, together) {
			compareAt(t, ctx, chunk, apiserver.Options{DisableWatchCache: !cached})
		}
	}
	assert.NoError(t, transport.Verify())
}

// twins are two followers of one case.
type twins struct {
	Case
	plain, direct *follower
}

func compareAt(t *testing.T, ctx context.Context, cases []Case, options apiserver.Options) {
	t.Helper()
	srv, err := apiserver.StartChild(ctx, options)
	require.NoError(t, err)
	defer func() { assert.NoError(t, srv.Stop(context.WithoutCancel(ctx))) }()
	running := goleak.IgnoreCurrent()

	writer, err := rest.HTTPClientFor(srv.ProtobufConfig())
	require.NoError(t, err)
	client, err := kubernetes.NewForConfigAndClient(srv.ProtobufConfig(), writer)
	require.NoError(t, err)
	pods := client.CoreV1().Pods(Namespace)
	require.NoError(t, populate(ctx, pods))

	var all []*twins
	for _, c := range cases {
		pair := &twins{Case: c}
		pair.plain, err = c.start(ctx, srv.Config(), false)
		require.NoError(t, err, c)
		pair.direct, err = c.start(ctx, srv.Config(), true)
		require.NoError(t, err, c)
		all = append(all, pair)
	}
	for _, pair := range all {
		require.NoError(t, kinformer.WaitForSync(ctx, pair.plain.informer.GetController()), pair.Case)
		require.NoError(t, kinformer.WaitForSync(ctx, pair.direct.informer.GetController()), pair.Case)
	}
	require.NoError(t, play(ctx, pods))
	for _, pair := range all {
		t.Run(pair.String(), func(t *testing.T) { pair.compare(t, ctx) })
	}
	for _, pair := range all {
		assert.NoError(t, pair.plain.end(), pair.Case)
		assert.NoError(t, pair.direct.end(), pair.Case)
	}
	left := errors.New("bodies are open")
	for left != nil && ctx.Err() == nil {
		follow.CloseIdle(writer)() // closes connections shared with the informers' clients; streams may end after their informers
		if transport.Open() == 0 {
			left = goleak.Find(running)
		}
	}
	assert.NoError(t, left)
}

// compare reports differences between the twins and deviations from the case.
func (p *twins) compare(t *testing.T, ctx context.Context) {
	var calls [2][]call
	var contents [2]map[string]any
	states := 0
	for i, f := range []*follower{p.plain, p.direct} {
		for exists := false; !exists; {
			require.NoError(t, context.Cause(ctx))
			time.Sleep(10 * time.Millisecond)
			calls[i] = f.told()
			exists = slices.ContainsFunc(calls[i], func(c call) bool {
				return strings.HasPrefix(c.String(), "add "+last+"@") || strings.HasPrefix(c.String(), "initial "+last+"@")
			})
		}
		contents[i] = map[string]any{}
		for _, obj := range f.informer.GetStore().List() {
			contents[i][call{New: obj}.String()] = obj
		}
		f.mu.Lock()
		assert.Equal(t, p.expected(), f.wire)
		states += f.states
		f.mu.Unlock()
	}
	assert.Equal(t, contents[0], contents[1])
	if states == 2 {
		require.Greater(t, len(calls[0]), population+6*8)
		require.Equal(t, len(calls[0]), len(calls[1]))
		for i := range calls[0] {
			require.Equal(t, calls[0][i], calls[1][i], "%v, %v", calls[0][i], calls[1][i])
		}
	} else {
		t.Log("a server that was too busy has ended a watch: only what is there in the end is compared")
	}

	status, err := inspect.StatusOf(p.direct.informer)
	require.NoError(t, err)
	d := status.Decoding
	assert.True(t, d.On, d.Why)
	assert.Equal(t, p.Encoding, d.Encoding)
	assert.Empty(t, d.GivenUp)
	assert.Zero(t, d.Verified.Differences)
	assert.Equal(t, p.Share, d.Shared.On, d.Shared.Why)
	assert.Equal(t, p.Share, d.Shared.Parts.Hits > 0)
	assert.Greater(t, d.Direct, int64(population))
	if p.Mode == Pages {
		assert.GreaterOrEqual(t, status.Lists, int64(2))
	}
	status, err = inspect.StatusOf(p.plain.informer)
	require.NoError(t, err)
	assert.False(t, status.Decoding.On)
}

const (
	// population is the number of initial pods, bulk the size of an annotation of each, in bytes: a page
	// of the metadata of half of the pods exceeds 128 KiB, from which on servers compress.
	population = 100
	bulk       = 4 << 10

	last = "last" // the name of the pod created at the end
)

// pod has fields of most kinds, and texts with more than one encoding.
func pod(i int) *corev1.Pod {
	p := workload.Pod(workload.Config{N: 2 * population}, i)
	p.Name, p.Namespace, p.ResourceVersion, p.UID = fmt.Sprintf("pod-%03d", i), Namespace, "", ""
	p.Labels["empty"] = ""
	p.Annotations["bulk"] = strings.Repeat(fmt.Sprint(i%10), bulk)
	p.Annotations["odd"] = "\"\\\n\t <é>&\u2028 \U0001F600 \x00"
	return p
}

// populate creates the initial pods and returns once the watch cache has all of them. Before that the first
// lists of twins may differ, because a list at resourceVersion 0 may be old.
func populate(ctx context.Context, pods typed.PodInterface) error {
	all := metav1.ListOptions{ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}
	for i := range population {
		created, err := pods.Create(ctx, pod(i), metav1.CreateOptions{})
		if err != nil {
			return err
		}
		all.ResourceVersion = created.ResourceVersion
	}
	_, err := pods.List(ctx, all)
	return err
}

// play creates pods, changes them in several ways, deletes them and creates them again.
func play(ctx context.Context, pods typed.PodInterface) error {
	steps := []func(i int) error{
		func(i int) error { _, err := pods.Create(ctx, pod(population+i), metav1.CreateOptions{}); return err },
		func(i int) error {
			patch := fmt.Sprintf(`{"metadata":{"labels":{"round":"%d","empty":null}},"spec":{"nodeSelector":null}}`, i)
			_, err := pods.Patch(ctx, pod(i).Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			return err
		},
		func(i int) error {
			now, err := pods.Get(ctx, pod(i).Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			now.Status.Message, now.Status.Conditions = "changed", nil
			_, err = pods.UpdateStatus(ctx, now, metav1.UpdateOptions{})
			return err
		},
		func(i int) error { return pods.Delete(ctx, pod(population+i).Name, metav1.DeleteOptions{}) },
		func(i int) error { _, err := pods.Create(ctx, pod(population+i), metav1.CreateOptions{}); return err },
		func(i int) error { return pods.Delete(ctx, pod(20+i).Name, metav1.DeleteOptions{}) },
	}
	for n, step := range steps {
		for i := range 8 {
			if err := step(i); err != nil {
				return fmt.Errorf("step %d of pod %d: %w", n, i, err)
			}
		}
	}
	end := pod(0)
	end.Name = last
	_, err := pods.Create(ctx, end, metav1.CreateOptions{})
	return err
}
