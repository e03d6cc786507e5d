// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kinformer/cache/internal/beside"
	"github.com/kinformer/cache/internal/door"
)

// UndecodableObject is an object whose newest version neither the informer nor its client can decode: see
// kinformer.Errors.SkipUndecodable. The store has an older version of it, or none.
type UndecodableObject struct {
	// Key is namespace/name, or the name of an object without a namespace.
	Key string
	// Version is the resourceVersion that the store lacks.
	Version string
	// Why is the reason, without a value of the object, such as "spec.replicas: string instead of int32".
	Why string
}

// setUndecodable sets the objects that the given informers or sources lack. One that several lack counts once.
func (s *Status) setUndecodable(of ...*door.Informer) {
	lacking := map[string]UndecodableObject{}
	for _, i := range of {
		for _, bad := range i.Transform.Undecodable() {
			lacking[bad.Key()] = UndecodableObject{bad.Key(), bad.ResourceVersion, bad.Why.Error()}
		}
	}
	s.Undecodable, s.UndecodableObjects = len(lacking), nil
	for _, key := range slices.Sorted(maps.Keys(lacking))[:min(len(lacking), mostNamed)] {
		s.UndecodableObjects = append(s.UndecodableObjects, lacking[key])
	}
}

// describeUndecodable describes the objects in one line.
func (s *Status) describeUndecodable() string {
	var named []string
	for _, object := range s.UndecodableObjects {
		named = append(named, fmt.Sprintf("%s at version %s (%s)", object.Key, object.Version, object.Why))
	}
	if more := s.Undecodable - len(s.UndecodableObjects); more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	return beside.Counted(int64(s.Undecodable), "object") + " that cannot be decoded: " + strings.Join(named, ", ")
}
