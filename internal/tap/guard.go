// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"fmt"
	"slices"
	"sync"
	"weak"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// guarded has the ledgers of the informers with a Guard. It does not keep them in memory: an informer is guarded as
// long as a program has it, and the objects in its store, also after its end.
var guarded struct {
	sync.Mutex
	ledgers []weak.Pointer[Ledger]
}

// protect adds the informer of a ledger, once.
func (l *Ledger) protect(by Guard) {
	l.guard.Store(&by)
	guarded.Lock()
	defer guarded.Unlock()
	known := slices.DeleteFunc(guarded.ledgers, func(w weak.Pointer[Ledger]) bool { at := w.Value(); return at == nil || at == l })
	guarded.ledgers = append(known, weak.Make(l))
}

// Place is an object of a server.
type Place struct {
	Server          string // see Target.Server
	Resource        schema.GroupResource
	Namespace, Name string
}

// String returns the place without the server.
func (p Place) String() string {
	if p.Namespace == "" {
		return fmt.Sprintf("%s of %v", p.Name, p.Resource)
	}
	return fmt.Sprintf("%s/%s of %v", p.Namespace, p.Name, p.Resource)
}

// PartialIn returns the target of an informer in whose store the object of a place is partial.
func PartialIn(p Place) (of Target, is bool) {
	guarded.Lock()
	ledgers := slices.Clone(guarded.ledgers)
	guarded.Unlock()
	for _, w := range ledgers {
		l := w.Value()
		if l == nil {
			continue
		}
		target := l.Target()
		if target.Server != p.Server || target.Resource.GroupResource() != p.Resource {
			continue
		}
		guard := l.guard.Load()
		if obj, exists := guard.Stored(p.Namespace, p.Name); exists && !guard.Keep.IsWhole(obj) {
			return target, true
		}
	}
	return Target{}, false
}
