// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinformer/cache/internal/testkit"
)

func untyped(apiVersion, kind, name, version string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	obj.SetName(name)
	obj.SetResourceVersion(version)
	return obj
}

// fullStoreLog also takes bookmarks and versions.
type fullStoreLog struct{ testkit.StoreLog }

func (j *fullStoreLog) Bookmark(version string) error { return j.Note("bookmark " + version) }

func (j *fullStoreLog) UpdateResourceVersion(version string) { _ = j.Note("version " + version) }
