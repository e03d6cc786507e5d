// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Page is a list whose items were decoded directly. As an object it is the list that the client
// returned, which has few or none of the items.
type Page struct {
	Pruned
	metav1.ListInterface // of List
	List                 runtime.Object
	Items                []runtime.Object
	Kind                 string // of the list on the wire; "" if it had none
}

// GetObjectKind returns the kind of the list.
func (p *Page) GetObjectKind() schema.ObjectKind { return p.List.GetObjectKind() }

// DeepCopyObject returns a deep copy.
func (p *Page) DeepCopyObject() runtime.Object {
	list := p.List.DeepCopyObject()
	accessor, _ := meta.ListAccessor(list)
	items := make([]runtime.Object, len(p.Items))
	for i, item := range p.Items {
		items[i] = item.DeepCopyObject()
	}
	return &Page{ListInterface: accessor, List: list, Items: items, Kind: p.Kind}
}

// Doubt reports that objects which were decoded directly cannot be trusted. The client decodes the
// next list, or everything from now on, and the caller must list again. A Doubt is an error, and the
// object of the last event of a watch.
type Doubt struct{ Why string }

func (d *Doubt) Error() string { return "decoding directly is " + d.Why }

// GetObjectKind implements runtime.Object. A Doubt has no kind.
func (d *Doubt) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns a copy.
func (d *Doubt) DeepCopyObject() runtime.Object { return &Doubt{d.Why} }
