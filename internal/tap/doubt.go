// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Doubt reports that objects which were decoded directly cannot be trusted. The tap is off for the
// next list, or for good, and the caller must list again. A Doubt is an error, and the object of
// the last event of a watch.
type Doubt struct{ Why string }

// The prefixes of Doubt.Why and State.Why.
const (
	suspended = "suspended: "          // the client decodes the next list
	forWatch  = "off for this watch: " // the client decodes the rest of the watch
	forGood   = "off for good: "       // the client decodes everything
)

func (d *Doubt) Error() string { return "decoding directly is " + d.Why }

// GetObjectKind implements runtime.Object. A Doubt has no kind.
func (d *Doubt) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns a copy.
func (d *Doubt) DeepCopyObject() runtime.Object { return &Doubt{d.Why} }
