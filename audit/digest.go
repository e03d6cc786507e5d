// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/kinformer/cache/internal/beside"
	"github.com/kinformer/cache/internal/event"
)

// Digest is a checksum of the content of a cache at a version. If two digests are equal, the caches
// have the same objects, except with probability 1 in 2^64. The caches may belong to two replicas
// or two runs, and may have different transforms.
type Digest struct {
	ResourceVersion string // may be newer than every object
	Objects         int
	// Sum adds up the SHA-256 of key, UID and resourceVersion of each object, as the server gave
	// them: the first eight bytes, and the second eight bytes. It does not depend on the order of
	// the objects.
	Sum [2]uint64
}

// String returns the sum in 32 hexadecimal digits.
func (d Digest) String() string { return fmt.Sprintf("%016x%016x", d.Sum[0], d.Sum[1]) }

// digestOf returns the digest of a snapshot.
func digestOf(state *beside.State) Digest {
	d := Digest{ResourceVersion: state.Version(), Objects: state.Len()}
	var text []byte
	for key, obj := range state.All() {
		origin, _ := state.Origin(key, obj)
		text = d.add(text, key, origin)
	}
	return d
}

// add adds an object to the sum. memory is a buffer; add returns the buffer for the next call.
func (d *Digest) add(memory []byte, key string, origin event.Origin) []byte {
	text := appendIdentity(memory[:0], key, origin)
	sum := sha256.Sum256(text)
	d.Sum[0] += binary.BigEndian.Uint64(sum[:])
	d.Sum[1] += binary.BigEndian.Uint64(sum[8:])
	return text
}

// appendIdentity appends a text that identifies an object in one state. Its parts have no zero
// byte, because they come from JSON names and numbers of a server.
func appendIdentity(text []byte, key string, origin event.Origin) []byte {
	text = append(append(text, key...), 0)
	text = append(append(text, origin.UID...), 0)
	return append(text, origin.Version...)
}

// sleep waits for pause, or until ctx ends.
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
