// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache/e2e/apiserver"
	"github.com/kinformer/cache/kinformer"
)

// TestRoleIsBoundLater checks that informers of a user without a role are forbidden, and sync once a
// role is bound to the user.
func TestRoleIsBoundLater(t *testing.T) {
	t.Parallel()
	ctx := patientContext(t)
	srv, err := apiserver.StartChild(ctx, apiserver.Options{RBAC: true})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, srv.Stop(context.Background())) })
	r := resourceOf(t, srv, "pods-protobuf")
	_, err = r.Create(ctx, "one", "1")
	require.NoError(t, err)
	want, err := r.Listed(ctx)
	require.NoError(t, err)
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
