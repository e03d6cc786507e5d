// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Target is the target of the requests of an informer. Unknown fields are empty.
type Target struct {
	Server        string // host and port, and the path before /api or /apis
	Resource      schema.GroupVersionResource
	Namespace     string // "" for all namespaces, and for cluster-scoped resources
	LabelSelector string
	FieldSelector string
}

// IsZero reports whether the resource is unknown.
func (t Target) IsZero() bool { return t.Resource.Resource == "" }

// String returns all fields but the server, as in "pods.v1 in namespace team-a with labels
// app=web".
func (t Target) String() string {
	return t.Of(strings.TrimRight(t.Resource.Resource+"."+t.Resource.Version+"."+t.Resource.Group, "."))
}

// Of is String with another name of the resource.
func (t Target) Of(name string) string {
	var b strings.Builder
	b.WriteString(name)
	for _, part := range [...]struct{ words, of string }{
		{"in namespace", t.Namespace}, {"with labels", t.LabelSelector}, {"with fields", t.FieldSelector},
	} {
		if part.of != "" {
			fmt.Fprintf(&b, " %s %s", part.words, part.of)
		}
	}
	return b.String()
}
