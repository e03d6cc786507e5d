// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/tap"
)

// alteredItem returns a change of the first item of each list.
func alteredItem(change func(metav1.Object)) listChange {
	return func(ctx context.Context, plain clientgo.ListerWithContext, o metav1.ListOptions) (runtime.Object, error) {
		list, err := plain.ListWithContext(ctx, o)
		if err != nil {
			return nil, err
		}
		first := true
		return list, meta.EachListItem(list, func(item runtime.Object) error {
			if first {
				change(item.(metav1.Object))
			}
			first = false
			return nil
		})
	}
}

// unlabelled makes the tap compare objects without their labels.
func unlabelled(o *tap.Options) {
	o.Make = nil
	o.Compared = func(obj runtime.Object) runtime.Object {
		obj = obj.DeepCopyObject()
		obj.(metav1.Object).SetLabels(nil)
		return obj
	}
}

// TestCompared checks that only the result of Compared is compared.
func TestCompared(t *testing.T) {
	for _, k := range kinds {
		for what, change := range map[string]func(metav1.Object){
			"":                 func(obj metav1.Object) { obj.SetLabels(nil) },
			".Name":            func(obj metav1.Object) { obj.SetName("other") },
			".Namespace":       func(obj metav1.Object) { obj.SetNamespace("other") },
			".UID":             func(obj metav1.Object) { obj.SetUID("other") },
			".ResourceVersion": func(obj metav1.Object) { obj.SetResourceVersion("1") },
		} {
			source := k.altering(alteredItem(change), nil).tapped(t, served{}, unlabelled)
			if what == "" {
				assert.Equal(t, "direct", asked(t, source, 1))
				continue
			}
			err := source.doubts(t)
			if k.name != "dynamic" {
				assert.ErrorContains(t, err, "differs at object.ObjectMeta"+what)
			}
			assert.Len(t, ask(t, source, firstList).Items, 20)
		}
	}
}
