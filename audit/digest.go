// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/store"
)

// Digest is a checksum of the content of a cache at a version. If two digests are equal, the caches
// have the same objects, except for a chance of 1 in 2^64, whether they are in two replicas or in
// two runs, and whatever their transforms.
type Digest struct {
	ResourceVersion string // which may be newer than any object
	Objects         int
	// Sum is that of the SHA-256 of key, UID and resourceVersion of each object, as the server gave
	// them: of the first and of the second eight bytes. It is the same in any order.
	Sum [2]uint64
}

// String returns the sum in 32 digits.
func (d Digest) String() string { return fmt.Sprintf("%016x%016x", d.Sum[0], d.Sum[1]) }

// digestOf returns the digest of a snapshot.
func digestOf(state *store.State) Digest {
	d := Digest{ResourceVersion: state.Version(), Objects: state.Len()}
	var text []byte
	for key, obj := range state.All() {
		origin, _ := state.Origin(key, obj)
		text = d.add(text, key, origin)
	}
	return d
}

// add adds an object to the sum. It returns the memory that it is given, for the next one.
func (d *Digest) add(memory []byte, key string, origin event.Origin) []byte {
	text := appendIdentity(memory[:0], key, origin)
	sum := sha256.Sum256(text)
	d.Sum[0] += binary.BigEndian.Uint64(sum[:])
	d.Sum[1] += binary.BigEndian.Uint64(sum[8:])
	return text
}

// appendIdentity appends what tells an object in one state from all others. No part can have a zero
// byte: all come from JSON names and numbers of a server.
func appendIdentity(text []byte, key string, origin event.Origin) []byte {
	text = append(append(text, key...), 0)
	text = append(append(text, origin.UID...), 0)
	return append(text, origin.Version...)
}

// sleep waits, unless ctx ends.
func sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
