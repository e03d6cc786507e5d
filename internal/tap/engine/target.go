// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"net/url"
	"strings"

	"github.com/kinformer/cache/internal/tap"
)

// targetOf returns the target of a list or watch with this URL.
func targetOf(u *url.URL) tap.Target {
	query := u.Query()
	t := tap.Target{Server: u.Host, LabelSelector: query.Get("labelSelector"), FieldSelector: query.Get("fieldSelector")}
	path := strings.Split(strings.Trim(u.Path, "/"), "/")
	n := len(path)
	t.Resource.Resource, path = path[n-1], path[:n-1]
	if n > 4 && path[n-3] == "namespaces" {
		t.Namespace, path = path[n-2], path[:n-3]
	}
	switch n := len(path); {
	case n >= 2 && path[n-2] == "api":
		t.Resource.Version, path = path[n-1], path[:n-2]
	case n >= 3 && path[n-3] == "apis":
		t.Resource.Group, t.Resource.Version, path = path[n-2], path[n-1], path[:n-3]
	default: // not a path of the Kubernetes API
		return tap.Target{Server: u.Host}
	}
	t.Server = strings.Join(append([]string{u.Host}, path...), "/")
	return t
}
