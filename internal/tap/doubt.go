// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Doubt tells that what was decoded directly cannot be trusted. The tap is off for the next list,
// or for good; the whole state has to be taken over again. It is an error, and the object of the
// last event of a watch.
type Doubt struct{ Why string }

// What Doubt.Why and State.Why begin with.
const (
	suspended = "suspended: "    // the client decodes the next list
	forGood   = "off for good: " // it decodes everything
)

func (d *Doubt) Error() string { return "decoding directly is " + d.Why }

// GetObjectKind makes a Doubt an object, of no kind.
func (d *Doubt) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns a copy.
func (d *Doubt) DeepCopyObject() runtime.Object { return &Doubt{d.Why} }
