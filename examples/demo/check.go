// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"

	"github.com/kinformer/cache"
)

const (
	// checkTimeout is how long the cache may take to catch up, on a machine that is busy with
	// something else, too.
	checkTimeout = 5 * time.Minute
	checkPause   = 250 * time.Millisecond
)

var errDiffers = errors.New("the cache differs from a fresh LIST")

// selfCheck compares the cache with a fresh LIST, object by object, until they are equal or time is
// up. On a cluster where others write it may take a few rounds to find a moment without a write
// between the two.
func selfCheck(ctx context.Context, w *world, f *follower, screen *screen) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	for {
		listed, err := freshList(ctx, w)
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("self-check: %w", err)
		}
		differences := compare(f.informer.GetStore(), listed)
		if err == nil && len(differences) == 0 {
			screen.line("self-check passed: the cache equals a fresh LIST of %d objects", len(listed))
			return nil
		}
		if !sleep(ctx, checkPause) {
			return fmt.Errorf("self-check failed: %w: %s", errDiffers, summary(differences))
		}
	}
}

// freshList returns the resourceVersions of all objects, by key, read from the storage and not from
// a cache.
func freshList(ctx context.Context, w *world) (map[string]string, error) {
	versions := map[string]string{}
	all := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return w.client.List(ctx, o) })
	err := all.EachListItem(ctx, metav1.ListOptions{}, func(obj runtime.Object) error {
		key, err := cache.MetaNamespaceKeyFunc(obj)
		if err != nil {
			return err
		}
		accessor, err := meta.Accessor(obj)
		if err != nil {
			return err
		}
		versions[key] = accessor.GetResourceVersion()
		return nil
	})
	return versions, err
}

// compare returns a line for each object that the store and the list do not have alike.
func compare(store cache.Store, listed map[string]string) (differences []string) {
	for key, version := range listed {
		obj, exists, err := store.GetByKey(key)
		if err != nil || !exists {
			differences = append(differences, key+" is missing in the cache")
			continue
		}
		if accessor, err := meta.Accessor(obj); err != nil || accessor.GetResourceVersion() != version {
			differences = append(differences, key+" is cached in another version")
		}
	}
	for _, key := range store.ListKeys() {
		if _, exists := listed[key]; !exists {
			differences = append(differences, key+" is cached and does not exist")
		}
	}
	return differences
}

// summary names the first few differences.
func summary(differences []string) string {
	const some = 5
	text := fmt.Sprintf("%d differences", len(differences))
	for _, d := range differences[:min(some, len(differences))] {
		text += "; " + d
	}
	return text
}
