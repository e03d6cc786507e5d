// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"fmt"

	clientgo "k8s.io/client-go/tools/cache"
)

// Name says in a log what was processed: keys, never contents.
func Name(processed any) string {
	switch of := processed.(type) {
	case []Record:
		return nameOfBatch(len(of), func() string { return of[0].Key })
	case []clientgo.Delta:
		return nameOfBatch(len(of), func() string { return Name(clientgo.Deltas(of[:1])) })
	case clientgo.Deltas:
		if len(of) > 0 {
			processed = of.Newest().Object
		}
	}
	key, err := clientgo.DeletionHandlingMetaNamespaceKeyFunc(processed)
	if err != nil {
		return fmt.Sprintf("an item of type %T", processed)
	}
	return fmt.Sprintf("%q", key)
}

func nameOfBatch(n int, first func() string) string {
	if n == 0 {
		return "an empty batch"
	}
	return fmt.Sprintf("a batch of %d that begins with %s", n, first())
}
