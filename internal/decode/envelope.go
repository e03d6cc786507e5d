// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"

	"k8s.io/apimachinery/pkg/watch"
)

// Envelope is what an object in protobuf is sent in. All of it is part of the data.
type Envelope struct {
	APIVersion, Kind []byte
	Object           []byte // for Plan.Protobuf
}

// envelopeMark begins all data in Kubernetes' protobuf.
const envelopeMark = "k8s\x00"

// OpenEnvelope takes the envelope of an object apart. One that says that its content is encoded
// in another way is given up.
func OpenEnvelope(data []byte) (Envelope, error) {
	if len(data) <= len(envelopeMark) || string(data[:len(envelopeMark)]) != envelopeMark {
		return Envelope{}, &unsure{why: "no protobuf of Kubernetes"}
	}
	var e Envelope
	d := newReader(data, Options{})
	d.pos = len(envelopeMark)
	opened := e.open(d)
	return e, d.release(opened)
}

func (e *Envelope) open(d *reader) bool {
	end := len(d.data)
	about, ok := d.member(1, end)
	if !ok {
		return false
	}
	if e.Object, ok = d.member(2, end); !ok {
		return false
	}
	for number := uint64(3); d.pos < end; number++ {
		if rest, ok := d.member(number, end); !ok || len(rest) > 0 || number > 4 {
			return d.giveUp("an envelope with an unknown content")
		}
	}
	if e.APIVersion, about, ok = split(about, 1); !ok {
		return d.giveUp("an object without a version")
	}
	if e.Kind, about, ok = split(about, 2); !ok || len(about) > 0 {
		return d.giveUp("an object without a kind")
	}
	return true
}

// member reads a field of bytes that must have that number.
func (d *reader) member(number uint64, end int) ([]byte, bool) {
	tag, ok := d.tag(end)
	if ok && tag != number<<3|wireBytes {
		return nil, d.giveUp("another field than was expected")
	}
	if !ok {
		return nil, false
	}
	return d.chunk(end)
}

// split reads such a field from the begin of a message, and returns the rest of it.
func split(message []byte, number uint64) (field, rest []byte, ok bool) {
	d := newReader(message, Options{})
	field, ok = d.member(number, len(message))
	rest = message[d.pos:]
	_ = d.release(ok)
	return field, rest, ok
}

// WatchFrameProtobuf takes a frame of a watch in protobuf apart, without the length that it is sent
// behind. The object is in an envelope. Errors and what is written in another way are given up.
func WatchFrameProtobuf(frame []byte) (watch.EventType, []byte, error) {
	event, rest, ok := split(frame, 1)
	if ok {
		rest, object, whole := split(rest, 2)
		if whole && len(object) == 0 {
			raw, behind, whole := split(rest, 1)
			if event, known := watchEvent(event); known && whole && len(behind) == 0 {
				return event, raw, nil
			}
		}
	}
	return "", nil, &unsure{why: "an unknown form of a frame"}
}

func watchEvent(name []byte) (watch.EventType, bool) {
	for _, head := range frameHeads {
		if bytes.Equal(name, []byte(head.event)) {
			return head.event, true
		}
	}
	return "", false
}
