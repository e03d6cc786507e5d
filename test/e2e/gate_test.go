// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/factory"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/testkit/checker"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/test/e2e/apiserver"
	"github.com/kinformer/cache/test/e2e/follow"
)

// podInformers starts an informer of pods from each factory, with the options and a backoff of 20 ms.
func podInformers(t *testing.T, ctx context.Context, config *rest.Config, options kinformer.Options) map[string]cache.SharedIndexInformer {
	t.Helper()
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	options.Requests.Backoff = wait.Backoff{Duration: 20 * time.Millisecond, Steps: 1}
	with := factory.WithInformerOptions(options)
	typed, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	unstructured, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	partial, err := metadata.NewForConfig(config)
	require.NoError(t, err)

	ctx, stop := context.WithCancel(ctx)
	wrapped, dyn, meta := factory.Wrap(informers.NewSharedInformerFactory(typed, 0), with), factory.Dynamic(unstructured, 0, with), factory.Metadata(partial, 0, with)
	all := map[string]cache.SharedIndexInformer{
		"typed": wrapped.Core().V1().Pods().Informer(), "dynamic": dyn.ForResource(pods).Informer(), "metadata": meta.ForResource(pods).Informer(),
	}
	for _, f := range []interface {
		StartWithContext(context.Context)
		Shutdown()
	}{wrapped, dyn, meta} {
		f.StartWithContext(ctx)
		t.Cleanup(f.Shutdown)
	}
	t.Cleanup(stop) // before all Shutdowns
	return all
}

// TestPermissionsLapse checks that informers of factories survive a lapse of permissions under any
// policy, and then receive the state written meanwhile.
func TestPermissionsLapse(t *testing.T) {
	t.Parallel()
	ctx, srv := follow.StartServer(t, apiserver.Options{})
	r := resourceOf(t, srv, "pods-protobuf")
	created(t, ctx, r, "before")
	for name, policy := range map[string]kinformer.ErrorPolicy{
		"stop-on-forbidden": kinformer.StopOnForbidden, "wait-for-resource": kinformer.ExpectNotFound(time.Second),
		"stop-on-anything": func(_ context.Context, failure kinformer.Failure) kinformer.ErrorDecision {
			return kinformer.ErrorDecision{Stop: !failure.Synced}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var permission follow.Gate
			config := srv.ProtobufConfig()
			config.Wrap(permission.Wrap)
			all := podInformers(t, ctx, config, kinformer.Options{Errors: kinformer.Errors{Policy: policy, OnStop: func(_ context.Context, stopped kinformer.Stopped) { t.Error(stopped.Err) }}})
			for _, informer := range all {
				require.NoError(t, kinformer.WaitForSync(ctx, informer.GetController()))
			}
			permission.Withdraw()
			for kind, informer := range all {
				require.NoError(t, until(ctx, func() bool { return forbidden(t, informer) }), kind)
			}
			created(t, ctx, r, "meanwhile-"+name)
			want := listed(t, ctx, r)
			permission.Restore()
			for kind, informer := range all {
				require.NoError(t, awaitVersions(ctx, informer, want), kind)
				checkDecoding(t, informer)
				assert.False(t, informer.IsStopped(), kind)
			}
		})
	}
}

func forbidden(t *testing.T, informer inspect.Syncer) bool {
	status, err := inspect.StatusOf(informer)
	require.NoError(t, err)
	return status.Attempts > 0 && apierrors.IsForbidden(status.LastError)
}

// awaitVersions waits until a new handler has received the wanted names and versions.
func awaitVersions(ctx context.Context, informer cache.SharedIndexInformer, want checker.Contents) error {
	r := checker.NewReplica(func(string, string) {})
	defer r.Close()
	if _, err := informer.AddEventHandler(r); err != nil {
		return err
	}
	return r.AwaitEqual(ctx, want)
}

// TestRoleIsBoundLater checks that informers of a user without a role are forbidden, and sync once a
// role is bound to the user.
func TestRoleIsBoundLater(t *testing.T) {
	t.Parallel()
	ctx, srv := follow.StartServer(t, apiserver.Options{RBAC: true})
	r := resourceOf(t, srv, "pods-protobuf")
	created(t, ctx, r, "one")
	want := listed(t, ctx, r)
	config := srv.ProtobufConfig()
	config.Impersonate = rest.ImpersonationConfig{UserName: "bob"}
	all := podInformers(t, ctx, config, kinformer.Options{})
	for kind, informer := range all {
		require.NoError(t, until(ctx, func() bool { return forbidden(t, informer) }), kind)
		assert.False(t, informer.HasSynced(), kind)
	}

	admin, err := kubernetes.NewForConfig(srv.Config())
	require.NoError(t, err)
	name := metav1.ObjectMeta{Name: "follow-pods"}
	_, err = admin.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: name, Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"list", "watch"}, APIGroups: []string{""}, Resources: []string{"pods"}},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = admin.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: name, Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: "bob"}}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: name.Name},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	for kind, informer := range all {
		require.NoError(t, kinformer.WaitForSync(ctx, informer.GetController()), kind)
		require.NoError(t, awaitVersions(ctx, informer, want), kind)
	}
}

// refusals refuses the first request of each kind and records the times of requests.
type refusals struct {
	after int // seconds

	mu   sync.Mutex
	came map[string][]time.Time
}

func (s *refusals) refuse(r *http.Request) (seconds int) {
	query := r.URL.Query()
	kind := "list"
	switch {
	case query.Get("sendInitialEvents") == "true":
		kind = "stream"
	case query.Get("watch") != "":
		kind = "watch"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.came[kind] = append(s.came[kind], time.Now())
	if len(s.came[kind]) == 1 {
		return s.after
	}
	return 0
}

// check waits for the second request of the kind, and reports an error if it arrived too early.
func (s *refusals) check(t *testing.T, ctx context.Context, kind string) {
	t.Helper()
	var came []time.Time
	require.NoError(t, until(ctx, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		came = s.came[kind]
		return len(came) >= 2
	}), kind)
	assert.GreaterOrEqual(t, came[1].Sub(came[0]), time.Duration(s.after)*time.Second, kind)
}

// TestInformersHonorRetryAfter checks that after a refusal with 429 the next request waits for the time
// given by the server, which exceeds the first backoff, and that the informer catches up.
func TestInformersHonorRetryAfter(t *testing.T) {
	t.Parallel()
	const after = 2
	ctx, srv := follow.StartServer(t, apiserver.Options{})
	type refused struct {
		*followed
		refusals
		resource *follow.Resource
		first    string // the kind of the first request
	}
	var all []*refused
	for kind := range follow.Kinds() {
		created(t, ctx, resourceOf(t, srv, kind), "retry-after")
		for mode, first := range map[follow.Mode]string{follow.ListMode: "list", follow.WatchListMode: "stream"} {
			f := &refused{first: first, refusals: refusals{after: after, came: map[string][]time.Time{}}}
			read := srv.Config()
			read.Wrap((&follow.Gate{Refuse: f.refuse}).Wrap)
			f.resource = resourceOver(t, srv, kind, read)
			f.followed = newFollowed(f.resource, mode, kinformer.Options{})
			f.source.WatchSeconds = func() int64 { return 2 } // a watch soon follows the watch-list
			f.start(t)
			all = append(all, f)
		}
	}
	for _, f := range all {
		f.refusals.check(t, ctx, f.first)
		f.refusals.check(t, ctx, "watch")
		f.followed.check(t, ctx, f.resource)
		assert.GreaterOrEqual(t, f.source.Throttled.Load(), int64(2), "no refusal was hidden from the informer")
	}
}
