// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/e2e/follow"
)

func pod(name, rv string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, ResourceVersion: rv}}
}

func TestReplicaReportsWhatNoHandlerMustBeTold(t *testing.T) {
	tombstone := cache.DeletedFinalStateUnknown{Key: "ns/a", Obj: pod("a", "5")}
	for want, tell := range map[string]func(*follow.Replica){
		"": func(r *follow.Replica) {
			r.OnAdd(pod("a", "5"), true)
			r.OnUpdate(pod("a", "5"), pod("a", "6"))
			r.OnDelete(pod("a", "7"))
			r.OnAdd(pod("a", "8"), false)
		},
		"Add of ns/a":              func(r *follow.Replica) { r.OnAdd(pod("a", "5"), true); r.OnAdd(pod("a", "6"), true) },
		"Update of unknown ns/a":   func(r *follow.Replica) { r.OnUpdate(pod("a", "5"), pod("a", "6")) },
		"Update of ns/a from":      func(r *follow.Replica) { r.OnAdd(pod("a", "5"), true); r.OnUpdate(pod("a", "4"), pod("a", "6")) },
		"Update of ns/a goes back": func(r *follow.Replica) { r.OnAdd(pod("a", "5"), true); r.OnUpdate(pod("a", "5"), pod("a", "4")) },
		"Delete of unknown ns/a":   func(r *follow.Replica) { r.OnDelete(pod("a", "5")) },
		"Delete of ns/a at 4":      func(r *follow.Replica) { r.OnAdd(pod("a", "5"), true); r.OnDelete(pod("a", "4")) },
		"deleted at 5": func(r *follow.Replica) {
			r.OnAdd(pod("a", "5"), true)
			r.OnDelete(tombstone)
			r.OnAdd(pod("a", "5"), false)
		},
		"of the initial list, after": func(r *follow.Replica) { r.OnAdd(pod("a", "5"), false); r.OnAdd(pod("b", "6"), true) },
		"after the end":              func(r *follow.Replica) { r.Close(); r.OnAdd(pod("a", "5"), false) },
	} {
		var faults []string
		tell(follow.NewReplica(func(fault string) { faults = append(faults, fault) }))
		if want == "" {
			assert.Empty(t, faults)
		} else if assert.Len(t, faults, 1, want) {
			assert.True(t, strings.Contains(faults[0], want), "%q in %q", want, faults[0])
		}
	}
}

func TestReplicaAwaitsAState(t *testing.T) {
	r := follow.NewReplica(func(fault string) { t.Error(fault) })
	want := follow.ContentsOf([]any{pod("a", "5"), pod("b", "6")})
	go func() { r.OnAdd(pod("a", "5"), true); r.OnAdd(pod("b", "6"), true) }()
	require.NoError(t, r.AwaitEqual(t.Context(), want))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorContains(t, r.AwaitEqual(ctx, follow.Contents{}), "2 of 0 objects differ")
}
