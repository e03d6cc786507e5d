// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/cache/internal/testkit/cputime"
	"github.com/kinformer/cache/test/e2e/apiserver"
)

// createFor creates a ConfigMap, which is the operator's if own is set.
func createFor(t testing.TB, client kubernetes.Interface, name string, size int, own bool) {
	content := make([]byte, size)
	for i := range content {
		content[i] = 'a' + byte(rand.IntN(26))
	}
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Data: map[string]string{"content": string(content)}}
	if own {
		m.Labels = map[string]string{"partial.kinformer.io/checksum": "wanted"}
	}
	_, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), m, metav1.CreateOptions{})
	require.NoError(t, err)
}

// TestPartial: the operator's ConfigMaps are whole, others have no data and cannot be written, until they are got from
// the server; a ConfigMap that gets the label is whole from then on.
func TestPartial(t *testing.T) {
	client := newClient(t)
	for i := range 5 {
		createFor(t, client, fmt.Sprintf("foreign-%d", i), 20_000, false)
	}
	createFor(t, client, "own-0", 100, true)
	p := start(t, "partial")
	p.awaitInAnyOrder(`^default/own-0: checksum \w{8} written$`, `^ready: \d+ ConfigMaps, 1 of them with data$`, `^cached: 0 keys$`,
		`the update of default/stranger-\w+ of configmaps is refused: its body has no managedFields, and the informer of configmaps.v1 has only`,
		`^written after a live Get: 1 keys$`)
	createFor(t, client, "own-1", 100, true)
	p.await(`^default/own-1: checksum \w{8} written$`)
	foreign, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "foreign-0", metav1.GetOptions{})
	require.NoError(t, err)
	foreign.Labels = map[string]string{"partial.kinformer.io/checksum": "wanted"}
	_, err = client.CoreV1().ConfigMaps("default").Update(t.Context(), foreign, metav1.UpdateOptions{})
	require.NoError(t, err)
	p.await(`^default/foreign-0: checksum \w{8} written$`)
	p.interrupt()
	foreign, err = client.CoreV1().ConfigMaps("default").Get(t.Context(), "foreign-0", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Len(t, foreign.Data["content"], 20_000, "what was partial is complete")
}

// TestPartialMemory prints what the operator takes beside 700 ConfigMaps of 900 KB that strangers have filled, and kills it at 512 MiB
// of resident memory, as a limit of its container would: with its own informers, and for comparison with client-go's.
//
//	cd examples && KINFORMER_LARGE=1 go test -run PartialMemory -v .
func TestPartialMemory(t *testing.T) {
	if os.Getenv("KINFORMER_LARGE") == "" {
		t.Skip("KINFORMER_LARGE is not set: takes minutes, and several GiB for the server")
	}
	const foreign, size, limit, own = 700, 900_000, 512 << 20, 20
	server, err := apiserver.StartChild(t.Context(), apiserver.Options{})
	require.NoError(t, err)
	defer server.Stop(context.Background())
	client, err := kubernetes.NewForConfig(server.Config())
	require.NoError(t, err)
	for i := range foreign {
		createFor(t, client, fmt.Sprintf("foreign-%d", i), size, false)
	}
	for _, informers := range []string{"keep", "client-go"} {
		p := startAnywhere(t, "partial", "-kubeconfig", server.Kubeconfig(), fmt.Sprintf("-client-go=%v", informers == "client-go"))
		peak, killed, done := watchMemory(p, limit)
		written := 0
		for i := range own {
			createFor(t, client, fmt.Sprintf("own-%s-%d", informers, i), 100, true)
		}
		for line := range p.lines {
			if strings.Contains(line, "checksum") && strings.Contains(line, "own-"+informers) {
				if written++; written == own {
					time.Sleep(5 * time.Second)
					break
				}
			}
		}
		_ = p.cmd.Process.Kill()
		<-done
		t.Logf("%s: at most %d MiB, killed: %v, own ConfigMaps signed: %d of %d", informers, *peak>>20, *killed, written, own)
		if informers == "keep" {
			assert.False(t, *killed)
			assert.Equal(t, own, written)
			assert.LessOrEqual(t, *peak>>20, uint64(128))
		}
	}
}

// watchMemory kills a process that takes more than a limit of memory. done is closed when the process has ended.
func watchMemory(p *process, limit uint64) (peak *uint64, killed *bool, done chan struct{}) {
	peak, killed, done = new(uint64), new(bool), make(chan struct{})
	go func() {
		defer close(done)
		for {
			usage, err := cputime.Of(p.cmd.Process.Pid)
			if err != nil {
				return
			}
			if *peak = max(*peak, usage.Peak); usage.RSS > limit && !*killed {
				*killed = true
				_ = p.cmd.Process.Kill()
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	return peak, killed, done
}
