// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package embedded

import (
	"cmp"
	"context"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic/registry"
)

// rbac is an authorizer. It maps the plural names of roles and bindings to their stores and reads these
// for each request: a binding takes effect with the first request after its write.
type rbac map[string]*registry.Store

// discovery is the rule for every user, as the cluster role system:discovery.
var discovery = rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{
	"/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*", "/version", "/version/", "/healthz", "/livez", "/readyz",
}}

// authorize implements authorizer.AuthorizerFunc.
func (r rbac) authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if slices.Contains(a.GetUser().GetGroups(), user.SystemPrivilegedGroup) || allows(discovery, a) {
		return authorizer.DecisionAllow, "", nil
	}
	ctx = request.WithNamespace(ctx, a.GetNamespace())
	refs, err := r.bound(ctx, a)
	for _, ref := range refs {
		rules, unread := r.rules(ctx, ref)
		if unread != nil {
			err = unread
		}
		if slices.ContainsFunc(rules, func(rule rbacv1.PolicyRule) bool { return allows(rule, a) }) {
			return authorizer.DecisionAllow, "", nil
		}
	}
	return authorizer.DecisionNoOpinion, "", err
}

// bound returns the roles bound to the user, cluster-wide and in the namespace of the request.
func (r rbac) bound(ctx context.Context, a authorizer.Attributes) (refs []rbacv1.RoleRef, err error) {
	u, namespace := a.GetUser(), a.GetNamespace()
	list, err := r["clusterrolebindings"].List(ctx, nil)
	if err != nil {
		return nil, err
	}
	for _, b := range list.(*rbacv1.ClusterRoleBindingList).Items {
		if b.RoleRef.Kind == "ClusterRole" && isAmong(u, b.Subjects, "") {
			refs = append(refs, b.RoleRef)
		}
	}
	if namespace == "" {
		return refs, nil
	}
	if list, err = r["rolebindings"].List(ctx, nil); err != nil {
		return nil, err
	}
	for _, b := range list.(*rbacv1.RoleBindingList).Items {
		if isAmong(u, b.Subjects, namespace) {
			refs = append(refs, b.RoleRef)
		}
	}
	return refs, nil
}

// rules returns the rules of a role, nil if the role does not exist.
func (r rbac) rules(ctx context.Context, ref rbacv1.RoleRef) ([]rbacv1.PolicyRule, error) {
	store := r["clusterroles"]
	if ref.Kind == "Role" {
		store = r["roles"]
	}
	found, err := store.Get(ctx, ref.Name, &metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	switch role := found.(type) {
	case *rbacv1.ClusterRole:
		return role.Rules, err
	case *rbacv1.Role:
		return role.Rules, err
	}
	return nil, err
}

// isAmong reports whether subjects, of a binding in namespace, include the user or a group of it.
func isAmong(u user.Info, subjects []rbacv1.Subject, namespace string) bool {
	return slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool {
		switch s.Kind {
		case rbacv1.UserKind:
			return s.Name == u.GetName()
		case rbacv1.GroupKind:
			return slices.Contains(u.GetGroups(), s.Name)
		case rbacv1.ServiceAccountKind:
			return serviceaccount.MatchesUsername(cmp.Or(s.Namespace, namespace), s.Name, u.GetName())
		}
		return false
	})
}

// allows reports whether a rule allows a request.
func allows(rule rbacv1.PolicyRule, a authorizer.Attributes) bool {
	if !has(rule.Verbs, a.GetVerb()) {
		return false
	}
	if !a.IsResourceRequest() {
		return slices.ContainsFunc(rule.NonResourceURLs, func(url string) bool {
			prefix, isPrefix := strings.CutSuffix(url, "*")
			return url == a.GetPath() || isPrefix && strings.HasPrefix(a.GetPath(), prefix)
		})
	}
	resource, everySub := a.GetResource(), ""
	if sub := a.GetSubresource(); sub != "" {
		resource, everySub = resource+"/"+sub, "*/"+sub
	}
	return has(rule.APIGroups, a.GetAPIGroup()) && (has(rule.Resources, resource) || slices.Contains(rule.Resources, everySub)) &&
		(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, a.GetName()))
}

// has reports whether some contains value or "*".
func has(some []string, value string) bool {
	return slices.Contains(some, "*") || slices.Contains(some, value)
}
