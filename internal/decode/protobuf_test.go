// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
)

type message interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// sameProtobuf is sameJSON for the generated Unmarshal of a type.
func sameProtobuf(t testing.TB, of reflect.Type, data []byte, o Options) (decoded bool) {
	t.Helper()
	copied := bytes.Clone(data)
	ours := reflect.New(of).Interface()
	err := planOf(t, of).Protobuf(copied, ours, o)
	overwrite(copied)
	shared := func(data []byte, o Options) (any, error) {
		into := reflect.New(of).Interface()
		return into, planOf(t, of).Protobuf(data, into, o)
	}
	if err != nil {
		require.ErrorIs(t, err, ErrGiveUp)
		sameShared(t, data, o, nil, shared)
		return false
	}
	sameShared(t, data, o, ours, shared)
	wanted := reflect.New(of).Interface()
	require.NoError(t, wanted.(message).Unmarshal(data), "Unmarshal refuses %x", data)
	if !reflect.DeepEqual(wanted, ours) {
		require.Equal(t, wanted, ours, "of %x", data)
		require.Fail(t, "not deeply equal", "%x", data)
	}
	return true
}

// messages are the kinds that have protobuf.
func messages() (list []reflect.Type) {
	for _, kind := range kinds() {
		if reflect.PointerTo(kind).Implements(reflect.TypeFor[message]()) {
			list = append(list, kind)
		}
	}
	return list
}

// TestRandomMessages of all kinds are read and given up by none.
func TestRandomMessages(t *testing.T) {
	table := NewIntern(1 << 20)
	require.Greater(t, len(messages()), 250)
	for seed := range int64(rounds()) {
		fill := newFiller(seed)
		for _, kind := range messages() {
			object := reflect.New(kind).Interface()
			fill.Fill(object)
			data, err := object.(message).Marshal()
			require.NoError(t, err)
			require.True(t, sameProtobuf(t, kind, data, Options{Intern: table}), "%v: %x", kind, data)
		}
	}
}

// TestDamagedMessages: bytes changed, inserted, left out, copied and cut off.
func TestDamagedMessages(t *testing.T) {
	table := NewIntern(1 << 20)
	decoded, total := 0, 0
	fill := newFiller(5)
	for i, kind := range messages() {
		r := rand.New(rand.NewPCG(uint64(i), 3))
		object := reflect.New(kind).Interface()
		fill.Fill(object)
		whole, err := object.(message).Marshal()
		require.NoError(t, err)
		for range 6 * rounds() {
			total++
			if sameProtobuf(t, kind, brokenMessage(r, bytes.Clone(whole)), Options{Intern: table}) {
				decoded++
			}
		}
	}
	t.Logf("%d of %d decoded", decoded, total)
	assert.Greater(t, decoded, total/20)
	assert.Less(t, decoded, total)
}

// brokenMessage damages a message as any bytes, or by a field more.
func brokenMessage(r *rand.Rand, data []byte) []byte {
	extra := [][]byte{
		{0xf8, 0x7f, 1}, {0xfa, 0x7f, 2, 1, 2}, {0xf9, 0x7f, 1, 2, 3, 4, 5, 6, 7, 8}, {0xfd, 0x7f, 1, 2, 3, 4}, {0xfb, 0x7f, 0xfc, 0x7f}, {0x0a, 0},
		{0x12, 0}, {0x1a, 0}, {0x08, 1}, {0x0a, 2, 0x0a, 0}, {0, 1}, {0x0c}, {0x88, 0x80, 0x80, 0x80, 0x10, 1},
		{0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, {0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
	}
	switch r.IntN(4) {
	case 0:
		return append(data, extra[r.IntN(len(extra))]...)
	case 1:
		return append(bytes.Clone(extra[r.IntN(len(extra))]), data...)
	}
	return damaged(r, data, 1+r.IntN(2))
}

// TestCorpusProtobuf reads the envelope and content of the files that TestCorpus reads.
func TestCorpusProtobuf(t *testing.T) {
	count := 0
	for _, file := range corpus(t, "pb") {
		kind, known := kindOfFile(file.name)
		if !known {
			continue
		}
		count++
		envelope, ok := sameEnvelope(t, file.data)
		require.True(t, ok, file.name)
		require.True(t, sameProtobuf(t, kind, envelope.Object, Options{Intern: NewIntern(0)}), file.name)
	}
	require.Greater(t, count, 150)
}

// sameEnvelope compares an envelope that was not given up with what client-go makes of it.
func sameEnvelope(t testing.TB, data []byte) (Envelope, bool) {
	envelope, err := OpenEnvelope(data)
	if err != nil {
		require.ErrorIs(t, err, ErrGiveUp)
		return Envelope{}, false
	}
	var wanted runtime.Unknown
	require.NoError(t, wanted.Unmarshal(data[len(envelopeMark):]))
	require.Equal(t, wanted, runtime.Unknown{
		TypeMeta: runtime.TypeMeta{APIVersion: string(envelope.APIVersion), Kind: string(envelope.Kind)}, Raw: append([]byte{}, envelope.Object...),
	})
	return envelope, true
}

// TestDamagedEnvelopes: of frames and objects, too.
func TestDamagedEnvelopes(t *testing.T) {
	decoded := 0
	for i := range uint64(2000 * rounds()) {
		r := rand.New(rand.NewPCG(i, 3))
		unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "apps/v1", Kind: "A"}, Raw: []byte{1, 2, 3}}
		if r.IntN(3) == 0 {
			unknown.ContentEncoding, unknown.ContentType = "gzip", "text/plain"
		}
		raw, err := unknown.Marshal()
		require.NoError(t, err)
		if r.IntN(4) > 0 {
			raw = brokenMessage(r, raw)
		}
		if _, ok := sameEnvelope(t, append([]byte(envelopeMark), raw...)); ok {
			decoded++
		}
	}
	assert.Greater(t, decoded, 200)
	for _, none := range []string{"", "k8s", "k8s\x00", "k8s\x01\x0a\x00", "{}"} {
		_, err := OpenEnvelope([]byte(none))
		assert.ErrorIs(t, err, ErrGiveUp)
	}
}

// TestTrapsOfMessages that random ones may miss.
func TestTrapsOfMessages(t *testing.T) {
	pod := reflect.TypeFor[corev1.Pod]()
	meta := func(fields string) string { return "\x0a" + string(rune(len(fields))) + fields }
	for _, trap := range []struct {
		name, data string
		decoded    bool
	}{
		{"nothing", "", true},
		{"empty fields", "\x0a\x00\x12\x00\x1a\x00", true},
		{"other order", "\x1a\x00\x0a\x00", true},
		{"message twice", meta("\x0a\x01a") + meta("\x12\x01b"), false},
		{"text twice", meta("\x0a\x01a\x0a\x01b"), false},
		{"list", meta("\x72\x01a\x72\x01b"), true},
		{"list in pieces", meta("\x72\x01a\x0a\x01n\x72\x01b"), false},
		{"map", meta("\x5a\x06\x0a\x01k\x12\x01v\x5a\x06\x0a\x01k\x12\x01w"), true},
		{"map, value first", meta("\x5a\x06\x12\x01v\x0a\x01k"), false},
		{"map without a value", meta("\x5a\x03\x0a\x01k"), false},
		{"map without a key", meta("\x5a\x03\x12\x01v"), false},
		{"map, value twice", meta("\x5a\x09\x0a\x01k\x12\x01v\x12\x01w"), false},
		{"map, more fields", meta("\x5a\x08\x0a\x01k\x12\x01v\x18\x01"), false},
		{"map, empty entry", meta("\x5a\x00"), false},
		{"not UTF-8", meta("\x0a\x02\xff\xfe"), true},
		{"unknown field", meta("\xf8\x07\x01\xfa\x07\x01a"), true},
		{"group", meta("\xfb\x07\xfc\x07"), false},
		{"end of a group", meta("\xfc\x07"), false},
		{"wire type that is none", meta("\x0e"), false},
		{"field zero", "\x00\x00", false},
		{"field of 29 bits", "\xf8\xff\xff\xff\x0f\x01", true},
		{"field of 30 bits", "\x80\x80\x80\x80\x10\x01", false},
		{"field of 32 bits, whose lower ones are a known one", "\x8a\x80\x80\x80\x80\x01\x00", false},
		{"bool", "\x12\x02\x58\x01", true},
		{"bool that is two", "\x12\x02\x58\x02", false},
		{"known field as another type", meta("\x08\x01"), false},
		{"length of a text beyond the message", "\x0a\x03\x0a\x05abc\x12\x00", false},
		{"length of a message beyond the one around it", "\x0a\x03\x42\x02\x08\x07", false},
		{"length of a long text beyond the message", "\x0a\x82\x01\x0a\x81\x01" + strings.Repeat("a", 127) + "\x12\x00", false},
		{"length of a long message beyond the one around it", "\x12\x82\x01\x72\x84\x01" + strings.Repeat("\xfa\x07\x00", 44), false},
		{"length in more bytes than it needs", "\x0a\x84\x00\x0a\x81\x00a", true},
		{"length beyond the end", "\x0a\x7f", false},
		{"length of 64 bits", "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", false},
		{"number", meta("\x38\x96\x01"), true},
		{"negative number", meta("\x38\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), true},
		{"number with zeros behind", meta("\x38\x81\x80\x00"), true},
		{"number of 70 bits", meta("\x38\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), false},
		{"number of 11 bytes", meta("\x38\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), false},
		{"number without an end", meta("\x38\xff"), false},
		{"time", meta("\x42\x02\x08\x07"), true},
		{"time with nanoseconds", meta("\x42\x04\x08\x07\x10\x09"), true},
		{"empty time", meta("\x42\x00"), true},
		{"time of nanoseconds alone", meta("\x42\x02\x10\x09"), false},
		{"time twice", meta("\x42\x04\x08\x07\x08\x08"), false},
	} {
		assert.Equal(t, trap.decoded, sameProtobuf(t, pod, []byte(trap.data), Options{Intern: NewIntern(0)}), trap.name)
	}
}

// TestTrapsOfMapsAndLists of kinds that pods have none of.
func TestTrapsOfMapsAndLists(t *testing.T) {
	config := reflect.TypeFor[corev1.ConfigMap]()
	assert.True(t, sameProtobuf(t, config, []byte("\x1a\x03\x0a\x01k"), Options{}), "bytes in a map that were nil")
	assert.True(t, sameProtobuf(t, config, []byte("\x1a\x05\x0a\x01k\x12\x00"), Options{}), "and that were empty")
	assert.False(t, sameProtobuf(t, config, []byte("\x1a\x05\x12\x00\x0a\x01k"), Options{}), "and before their key")
	hard := "\x0a\x08\x0a\x01k\x12\x03\x0a\x011\x0a\x05\x0a\x01l\x12\x00"
	quota := []byte("\x12" + string(rune(len(hard))) + hard)
	assert.True(t, sameProtobuf(t, reflect.TypeFor[corev1.ResourceQuota](), quota, Options{}), "empty messages in a map")
	review := &authenticationv1.TokenReview{}
	review.Status.User.Extra = map[string]authenticationv1.ExtraValue{"nil": nil, "empty": {}, "one": {"a"}}
	data, err := review.Marshal()
	require.NoError(t, err)
	assert.True(t, sameProtobuf(t, reflect.TypeFor[authenticationv1.TokenReview](), data, Options{}), "lists in a map")
	assert.True(t, sameProtobuf(t, reflect.TypeFor[runtime.Unknown](), []byte("\x12\x00"), Options{}), "empty bytes")
}

// TestTrapsOfDeepMessages: those that contain themselves are left to the generated code when they
// are deep.
func TestTrapsOfDeepMessages(t *testing.T) {
	for depth, decoded := range map[int]bool{1: true, deepest: true, deepest + 1: false} {
		var data []byte
		for range depth - 1 {
			data = appendField(nil, 9<<3|wireBytes, data)
		}
		assert.Equal(t, decoded, sameProtobuf(t, reflect.TypeFor[schedulingv1beta1.CompositePodGroupTemplate](), data, Options{}), depth)
	}
}

// TestSecretMessages: nothing of a secret's data gets into a table, nor what differs between
// objects.
func TestSecretMessages(t *testing.T) {
	table := NewIntern(0)
	secret := &corev1.Secret{Data: map[string][]byte{"key-hunter2": []byte("hunter2")}, StringData: map[string]string{"plain": "hunter2"}}
	config := &corev1.ConfigMap{Data: map[string]string{"key-hunter2": "hunter2"}}
	config.Labels = map[string]string{"app": "label-1"}
	config.Name, config.UID, config.ResourceVersion = "name-1", "uid-1", "1"
	secrets := &corev1.SecretList{Items: []corev1.Secret{*secret, *secret}}
	secrets.Items[1].Annotations = map[string]string{"applied": "hunter2"}
	for range 4 {
		for _, object := range []message{secret, &secrets.Items[1], secrets, config} {
			data, err := object.Marshal()
			require.NoError(t, err)
			require.True(t, sameProtobuf(t, reflect.TypeOf(object).Elem(), data, Options{Intern: table}))
		}
	}
	assert.ElementsMatch(t, []string{"app", "label-1"}, table.all())
}

// FuzzProtobuf decodes any bytes as any kind of message.
func FuzzProtobuf(f *testing.F) {
	types := messages()
	fill := newFiller(3)
	for i, kind := range types {
		object := reflect.New(kind).Interface()
		fill.Fill(object)
		if data, err := object.(message).Marshal(); err == nil && len(data) < 1000 && i%5 == 0 {
			f.Add(uint16(i), data)
		}
	}
	table := NewIntern(1 << 20)
	f.Fuzz(func(t *testing.T, kind uint16, data []byte) {
		sameProtobuf(t, types[int(kind)%len(types)], data, Options{Intern: table})
		sameEnvelope(t, data)
	})
}
