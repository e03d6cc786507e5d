// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache/test/e2e/apiserver"
	"github.com/kinformer/cache/test/e2e/follow"
)

// impersonate returns a client that acts as another user.
func impersonate(t *testing.T, srv *apiserver.Server, name string, groups ...string) *kubernetes.Clientset {
	t.Helper()
	config := srv.ProtobufConfig()
	config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: groups}
	return clientFor(t, config)
}

// createBindings creates the roles of TestRolesAreObeyed and binds them to its users.
func createBindings(t *testing.T, ctx context.Context, admin *kubernetes.Clientset) {
	t.Helper()
	at := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: "ns"} }
	all := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
	rule := func(resource string, names []string, verbs ...string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{{Verbs: verbs, APIGroups: []string{""}, Resources: []string{resource}, ResourceNames: names}}
	}
	api := admin.RbacV1()
	for _, role := range []*rbacv1.Role{
		{ObjectMeta: at("list-pods"), Rules: rule("pods", nil, "list")},
		{ObjectMeta: at("get-one"), Rules: rule("pods", []string{"one"}, "get")},
		{ObjectMeta: at("get-status"), Rules: rule("*/status", nil, "get")},
	} {
		_, err := api.Roles("ns").Create(ctx, role, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	rules := []rbacv1.PolicyRule{
		{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}, {Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics*"}},
	}
	_, err := api.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: all("everything"), Rules: rules}, metav1.CreateOptions{})
	require.NoError(t, err)

	to := func(kind, name string) []rbacv1.Subject { return []rbacv1.Subject{{Kind: kind, Name: name}} }
	role := func(name string) rbacv1.RoleRef { return rbacv1.RoleRef{Kind: "Role", Name: name} }
	everything := rbacv1.RoleRef{Kind: "ClusterRole", Name: "everything"}
	for _, binding := range []*rbacv1.RoleBinding{
		{ObjectMeta: at("list-pods"), Subjects: to(rbacv1.UserKind, "bob"), RoleRef: role("list-pods")},
		{ObjectMeta: at("get-one"), Subjects: to(rbacv1.GroupKind, "testers"), RoleRef: role("get-one")},
		{ObjectMeta: at("get-status"), Subjects: to(rbacv1.ServiceAccountKind, "robot"), RoleRef: role("get-status")},
		{ObjectMeta: at("missing"), Subjects: to(rbacv1.UserKind, "bob"), RoleRef: role("missing")},
		{ObjectMeta: at("owner"), Subjects: to(rbacv1.UserKind, "owner"), RoleRef: everything},
	} {
		_, err := api.RoleBindings("ns").Create(ctx, binding, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	root := &rbacv1.ClusterRoleBinding{ObjectMeta: all("root"), Subjects: to(rbacv1.UserKind, "root"), RoleRef: everything}
	_, err = api.ClusterRoleBindings().Create(ctx, root, metav1.CreateOptions{})
	require.NoError(t, err)
}

func TestRolesAreObeyed(t *testing.T) {
	ctx, srv := follow.StartServer(t, apiserver.Options{RBAC: true})
	admin := clientFor(t, srv.ProtobufConfig())
	createPods(t, ctx, admin, 1)
	_, err := admin.CoreV1().Pods("ns").Create(ctx, newPod("one"), metav1.CreateOptions{})
	require.NoError(t, err)
	createBindings(t, ctx, admin)

	list, listAll := "/api/v1/namespaces/ns/pods", "/api/v1/pods"
	one, other := list+"/one", list+"/pod-000"
	for _, c := range []struct {
		user, group string
		allowed     []string
		forbidden   []string
	}{
		{"nobody", "", []string{"/api", "/apis", "/version", "/openapi/v3"}, []string{list, listAll, one, other, "/metrics"}},
		{"bob", "", []string{list}, []string{listAll, one, other, "/api/v1/namespaces/other/pods", "/api/v1/namespaces/ns/secrets"}},
		{"eve", "testers", []string{one}, []string{list, other, one + "/status"}},
		{"system:serviceaccount:ns:robot", "", []string{one + "/status", other + "/status"}, []string{list, one}},
		{"system:serviceaccount:other:robot", "", nil, []string{one + "/status"}},
		{"owner", "", []string{list, one, one + "/status", "/apis/apps/v1/namespaces/ns/deployments"}, []string{listAll, "/api/v1/nodes", "/metrics"}},
		{"root", "", []string{list, listAll, "/api/v1/nodes", "/metrics"}, []string{"/debug/pprof/"}},
		{"somebody", "system:masters", []string{list, listAll, "/metrics"}, nil},
	} {
		var groups []string
		if c.group != "" {
			groups = []string{c.group}
		}
		client := impersonate(t, srv, c.user, groups...).Discovery().RESTClient()
		for _, path := range c.allowed {
			assert.NoError(t, client.Get().AbsPath(path).Do(ctx).Error(), "%s at %s", c.user, path)
		}
		for _, path := range c.forbidden {
			assert.True(t, apierrors.IsForbidden(client.Get().AbsPath(path).Do(ctx).Error()), "%s at %s", c.user, path)
		}
	}

	require.NoError(t, admin.RbacV1().RoleBindings("ns").Delete(ctx, "list-pods", metav1.DeleteOptions{}))
	_, err = impersonate(t, srv, "bob").CoreV1().Pods("ns").List(ctx, metav1.ListOptions{})
	assert.True(t, apierrors.IsForbidden(err), "%v", err)
	assert.ErrorContains(t, err, `User "bob" cannot list resource "pods"`)
	_, err = impersonate(t, srv, "root").CoreV1().Pods("ns").List(ctx, metav1.ListOptions{})
	assert.NoError(t, err)
}

func TestWithoutRBACOnlyStrangersAreRefused(t *testing.T) {
	ctx, srv := follow.StartServer(t, apiserver.Options{})
	_, err := impersonate(t, srv, "bob").CoreV1().Secrets("").List(ctx, metav1.ListOptions{})
	assert.NoError(t, err)
	anonymous := srv.Config()
	anonymous.BearerToken = ""
	_, err = clientFor(t, anonymous).CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	assert.True(t, apierrors.IsUnauthorized(err), "%v", err)
}
