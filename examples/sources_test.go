// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"fmt"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestNamespaces checks that the manager follows a namespace exactly while the namespace has the
// label.
func TestNamespaces(t *testing.T) {
	client := newClient(t)
	tenant, other := unique("tenant"), unique("other")
	label := func(name, value string) {
		patch := fmt.Sprintf(`{"metadata":{"labels":{"example.kinformer.io/tenant":%q}}}`, value)
		_, err := client.CoreV1().Namespaces().Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	for _, name := range []string{tenant, other} {
		_, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		require.NoError(t, err)
		putConfigMap(t, client, name, "one", "", "1")
	}
	p := start(t, "namespaces")
	label(tenant, "yes")
	p.awaitInAnyOrder("^namespace "+tenant+": 1 ConfigMaps$", "^"+tenant+"/one is there$")
	putConfigMap(t, client, tenant, "two", "", "1")
	p.await("^" + tenant + "/two is there$")
	label(tenant, "no")
	p.await("^" + tenant + "/(one|two) is gone$")
	p.await("^" + tenant + "/(one|two) is gone$")
	label(other, "yes")
	p.await("^" + other + "/one is there$")
	for _, line := range p.interrupt() {
		assert.NotContains(t, line, tenant+"/three")
	}
}

// TestSharded checks that each of three replicas gets one shard and each object is handled once.
// After one replica is killed, another takes over its shard when the Lease has expired, and not
// earlier.
func TestSharded(t *testing.T) {
	const replicas, objects = 3, 30
	client, namespace := newClient(t), unique("sharded")
	for i := range objects {
		putConfigMap(t, client, namespace, fmt.Sprint("c-", i), "", "1")
	}
	checkLeases := watchLeases(t)
	var all []*process
	for i := range replicas {
		all = append(all, start(t, "sharded", fmt.Sprint("-replica=", i), fmt.Sprint("-of=", replicas), "-lease=3s"))
	}
	told := &lines{}
	for i, p := range all {
		p.await(fmt.Sprintf("^replica %d has shard %d$", i, i))
		go told.take(p.lines)
	}
	has := func(times int) func() bool {
		return func() bool { return told.count("^"+namespace+"/c-") == times }
	}
	require.Eventually(t, has(objects), patience, 50*time.Millisecond, "each object once")
	require.NoError(t, all[0].cmd.Process.Kill())
	_, err := all[0].end()
	require.Error(t, err)
	require.Eventually(t, func() bool { return told.count("^replica [12] has shard 0$") == 1 }, patience, 50*time.Millisecond)
	putConfigMap(t, client, namespace, "later", "", "1")
	require.Eventually(t, func() bool { return told.count("^"+namespace+"/later$") == 1 }, patience, 50*time.Millisecond)
	require.Eventually(t, func() bool { return told.count("^"+namespace+"/c-") > objects }, patience, 50*time.Millisecond, "those of the shard are handled again by who has it now")
	for _, p := range all[1:] {
		p.interrupt()
	}
	checkLeases()
	assert.Equal(t, 1, told.count("^"+namespace+"/later$"))
}

// lines collects the output of several programs.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) take(from <-chan string) {
	for line := range from {
		l.mu.Lock()
		l.all = append(l.all, line)
		l.mu.Unlock()
	}
}

func (l *lines) count(pattern string) (n int) {
	expression := regexp.MustCompile(pattern)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.all {
		if expression.MatchString(line) {
			n++
		}
	}
	return n
}

// watchLeases records the states of each shard's Lease. check fails if a replica took a Lease that another
// replica still held.
func watchLeases(t *testing.T) (check func()) {
	w, err := newClient(t).CoordinationV1().Leases("default").Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	all := map[string][]coordinationv1.LeaseSpec{}
	var running sync.WaitGroup
	running.Go(func() {
		for e := range w.ResultChan() {
			if lease, ok := e.Object.(*coordinationv1.Lease); ok {
				all[lease.Name] = append(all[lease.Name], lease.Spec)
			}
		}
	})
	return func() {
		w.Stop()
		running.Wait()
		taken := 0
		for name, states := range all {
			for i := 1; i < len(states); i++ {
				before, after := states[i-1], states[i]
				if *before.HolderIdentity == "" || *before.HolderIdentity == *after.HolderIdentity {
					continue
				}
				taken++
				over := before.RenewTime.Add(time.Duration(*before.LeaseDurationSeconds) * time.Second)
				if *after.HolderIdentity != "" {
					assert.False(t, after.AcquireTime.Time.Before(over), "%s of %s taken by %s too early",
						name, *before.HolderIdentity, *after.HolderIdentity)
				}
			}
		}
		assert.Positive(t, taken)
	}
}
