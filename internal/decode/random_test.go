// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	oldrand "math/rand"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/resource"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/intstr"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinformer/cache/internal/testkit"
)

const damage = "{}[]\",:\\ \n0-.eEntfu/\x00\x7f\x80\xff"

// damaged changes a document in the given number of places.
func damaged(r *rand.Rand, data []byte, places int) []byte {
	for range places {
		if len(data) == 0 {
			return data
		}
		i, n := r.IntN(len(data)), 1+r.IntN(4)
		j := min(i+n, len(data))
		switch r.IntN(6) {
		case 0:
			data[i] ^= 1 << r.IntN(8)
		case 1:
			data = slices.Delete(data, i, j)
		case 2:
			data = slices.Insert(data, i, slices.Clone(data[i:j])...)
		case 3:
			data = slices.Insert(data, i, damage[r.IntN(len(damage))])
		case 4:
			data[i] = damage[r.IntN(len(damage))]
		case 5:
			if r.IntN(10) == 0 {
				data = data[:i]
			} else {
				k := r.IntN(len(data))
				data = slices.Insert(data, k, slices.Clone(data[i:min(i+30, len(data))])...)
			}
		}
	}
	return data
}

// FuzzJSONObject decodes arbitrary bytes as an object of any kind.
func FuzzJSONObject(f *testing.F) { inJSON.fuzz(f) }

// FuzzUnstructured decodes arbitrary bytes as an unstructured object.
func FuzzUnstructured(f *testing.F) { inDocuments.fuzz(f) }

// FuzzProtobuf decodes arbitrary bytes as a message of any kind, and as an envelope.
func FuzzProtobuf(f *testing.F) { inProtobuf.fuzz(f) }

// fuzz begins with some small samples. The kind of the data is that of a sample.
func (d format) fuzz(f *testing.F) {
	samples := d.samples(newFiller(3), rand.New(rand.NewPCG(3, 7)))
	for i, s := range samples {
		if len(s.data) < 2000 && i%20 == 0 {
			f.Add(uint16(i), s.data)
		}
	}
	f.Add(uint16(0), readFile(f, "testdata/pod.json"))
	table := NewIntern(1 << 20)
	f.Fuzz(func(t *testing.T, kind uint16, data []byte) {
		if hugeExponent.Match(data) {
			t.Skip()
		}
		d.same(t, samples[int(kind)%len(samples)].kind, data, Options{Intern: table})
		sameEnvelope(t, data)
	})
}

var (
	seedFlag   = flag.Uint64("decode.seed", 0, "of TestInputs; 0: by the clock")
	inputsFlag = flag.Int64("decode.inputs", 12_000, "how many inputs of each decoder TestInputs compares")
	stateFlag  = flag.String("decode.state", "", "`folder` where TestInputs keeps how far it is, and goes on from there")
)

const (
	// perBlock is the number of inputs made of the same samples.
	perBlock = 10_000
	// largestSample bounds the cost of an input, in bytes.
	largestSample = 6 << 10
)

// sample is the source of inputs, which are the sample itself or a damaged copy.
type sample struct {
	kind       reflect.Type
	data       []byte
	mustDecode bool // it must not be given up
}

func (s sample) isLarge() bool { return len(s.data) > largestSample }

// format is a decoder of this package, and its inputs.
type format struct {
	name    string
	corpus  string // the extension of the files
	samples func(fill filler, r *rand.Rand) []sample
	damage  func(*rand.Rand, []byte) []byte
	ours    func(testing.TB, reflect.Type) decoder
	// clients returns client-go's result. It fails the test if client-go refuses the data.
	clients func(testing.TB, reflect.Type, []byte) any
}

// decoder decodes data into a new value.
type decoder func(data []byte, o Options) (any, error)

var (
	inJSON      = format{"json", "json", documentSamples, damagedDocument, ofPlan((*Plan).JSON), jsonOfClients}
	inDocuments = format{"unstructured", "json", objectSamples, damagedDocument, ofDocuments, documentOfClients}
	inProtobuf  = format{"protobuf", "pb", messageSamples, brokenMessage, ofPlan((*Plan).Protobuf), protobufOfClients}
)

func damagedDocument(r *rand.Rand, data []byte) []byte { return damaged(r, data, 1+r.IntN(2)) }

// documentSamples returns objects of each kind in JSON, and documents made from the tags of types.
func documentSamples(fill filler, r *rand.Rand) (list []sample) {
	for _, kind := range kinds() {
		object := reflect.New(kind).Interface()
		fill.Fill(object)
		if data, err := json.Marshal(object); err == nil {
			list = append(list, sample{kind, data, true})
		}
	}
	for _, kind := range kinds() {
		odd := []int{1000, 200, 100, 30, 5}[r.IntN(5)]
		list = append(list, sample{kind, randomDocument(r, kind, odd), false}, sample{kind, randomDocument(r, kind, 0), true})
	}
	for _, kind := range oddTypes {
		for range 20 {
			for _, odd := range []int{0, 1000, 200, 30, 5} {
				list = append(list, sample{kind, randomDocument(r, kind, odd), false})
			}
		}
	}
	return list
}

func objectSamples(fill filler, r *rand.Rand) []sample {
	ofOddTypes := func(s sample) bool { return slices.Contains(oddTypes, s.kind) }
	list := slices.DeleteFunc(documentSamples(fill, r), ofOddTypes)
	for i, s := range list {
		if s.mustDecode {
			list[i].data = asObject(s.kind, s.data)
		}
	}
	for range 500 {
		for _, odd := range []int{0, 300, 20} {
			list = append(list, sample{reflect.TypeFor[any](), randomObject(r, odd), odd == 0})
		}
	}
	return list
}

func messageSamples(fill filler, _ *rand.Rand) (list []sample) {
	for _, kind := range messages() {
		object := reflect.New(kind).Interface()
		fill.Fill(object)
		if data, err := object.(message).Marshal(); err == nil {
			list = append(list, sample{kind, data, true})
		}
	}
	return list
}

// corpusSamples returns the files with which Kubernetes detects changes of an encoding: every kind of
// all versions, with all fields set. The module cache may lack them.
func (d format) corpusSamples(t testing.TB) (list []sample) {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/api").Output()
	require.NoError(t, err)
	paths, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "testdata", "*", "*."+d.corpus))
	require.NoError(t, err)
	for _, path := range paths {
		kind, known := kindOfFile(path)
		if !known || kind.Name() == "WatchEvent" {
			continue
		}
		data := readFile(t, path)
		if d.name == "protobuf" {
			envelope, ok := sameEnvelope(t, data)
			require.True(t, ok, path)
			data = envelope.Object
		}
		list = append(list, sample{kind, data, true})
	}
	return list
}

// all returns the samples of a block of inputs.
func (d format) all(seed, block uint64, always []sample) []sample {
	return append(d.samples(newFiller(int64(seed+block)), rand.New(rand.NewPCG(seed, block))), always...)
}

// tally is the result so far.
type tally struct {
	Seed           uint64
	Inputs         int64
	Whole, Damaged int64
	Endless        int64 // those that client-go would take days for
	Decoded        int64 // damaged ones that were decoded
}

// compareWhole compares all samples, of any size, without damage.
func (d format) compareWhole(t testing.TB, seed uint64, always []sample, table *Intern) {
	all := d.all(seed, 0, always)
	require.Greater(t, len(all), 250)
	for _, s := range all {
		d.compareSample(t, s, table)
	}
}

func (d format) compareSample(t testing.TB, s sample, table *Intern) {
	decoded := d.same(t, s.kind, s.data, Options{Intern: table})
	require.True(t, decoded || !s.mustDecode, "%v was given up: %q", s.kind, s.data)
}

// compare compares the next input.
func (d format) compare(t testing.TB, c *tally, samples []sample, table *Intern) {
	r := rand.New(rand.NewPCG(c.Seed, uint64(c.Inputs)))
	s := samples[r.IntN(len(samples))]
	if c.Inputs++; r.IntN(5) == 0 {
		d.compareSample(t, s, table)
		c.Whole++
		return
	}
	data := d.damage(r, slices.Clone(s.data))
	if hugeExponent.Match(data) {
		c.Endless++
		return
	}
	c.Damaged++
	if d.same(t, s.kind, data, Options{Intern: table}) {
		c.Decoded++
	}
}

// hugeExponent matches quantities such as 1e-1234567890, whose digits resource.ParseQuantity, which
// both decoders call, would compute for days.
var hugeExponent = regexp.MustCompile(`[eE][+-]?[0-9]{5}`)

// TestInputs checks that all samples, and then each intact or damaged input of a sequence
// determined by the seed, are given up or decoded as client-go does. make fuzz-once compares 10^7
// of each kind.
func TestInputs(t *testing.T) {
	for _, d := range []format{inJSON, inDocuments, inProtobuf} {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			c, always := d.begin(t), d.corpusSamples(t)
			defer func() { t.Logf("%+v: -decode.seed %d begins the same sequence", c, c.Seed) }()
			table := NewIntern(1 << 20)
			d.compareWhole(t, c.Seed, always, table)
			var samples []sample
			for c.Inputs < *inputsFlag {
				if samples == nil || c.Inputs%perBlock == 0 {
					c.save(t, d.name)
					samples = slices.DeleteFunc(d.all(c.Seed, uint64(c.Inputs/perBlock), always), sample.isLarge)
				}
				d.compare(t, &c, samples, table)
			}
			c.save(t, d.name)
			require.NoError(t, table.Check())
			assert.Equal(t, c.Inputs, c.Whole+c.Damaged+c.Endless)
			assert.Greater(t, float64(c.Whole), 0.15*float64(c.Inputs))
			assert.Greater(t, float64(c.Decoded), 0.15*float64(c.Damaged))
			assert.Less(t, c.Decoded, c.Damaged)
		})
	}
}

// begin returns the tally that an earlier run saved.
func (d format) begin(t testing.TB) (c tally) {
	if c.Seed = *seedFlag; c.Seed == 0 {
		c.Seed = uint64(time.Now().UnixNano())
	}
	if *stateFlag == "" {
		return c
	}
	text, err := os.ReadFile(filepath.Join(*stateFlag, d.name+".json"))
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &c))
	}
	return c
}

// save saves the tally if a folder is set.
func (c *tally) save(t testing.TB, name string) {
	if *stateFlag == "" {
		return
	}
	text, err := json.Marshal(c)
	require.NoError(t, err)
	file := filepath.Join(*stateFlag, name+".json")
	require.NoError(t, os.WriteFile(file+".new", text, 0o666))
	require.NoError(t, os.Rename(file+".new", file))
	fmt.Printf("%s %s\n", name, text)
}

// kinds returns the types of all objects that client-go knows, and PartialObjectMetadata.
var kinds = sync.OnceValue(func() []reflect.Type {
	found := map[reflect.Type]bool{reflect.TypeFor[metav1.PartialObjectMetadata](): true}
	for _, t := range scheme.Scheme.AllKnownTypes() {
		if t != reflect.TypeFor[metav1.InternalEvent]() { // never sent, and has an interface
			found[t] = true
		}
	}
	list := []reflect.Type{}
	for t := range found {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b reflect.Type) int { return cmp.Compare(a.String()+a.PkgPath(), b.String()+b.PkgPath()) })
	return list
})

// filler fills an object with random values.
type filler interface{ Fill(obj any) }

func newFiller(seed int64) filler {
	return fuzzer.FuzzerFor(metafuzzer.Funcs, oldrand.NewSource(seed), scheme.Codecs).NilChance(0.3).NumElements(0, 3).MaxDepth(12)
}

// TestPlans checks that every type of the API has a plan, and only one.
func TestPlans(t *testing.T) {
	require.Greater(t, len(kinds()), 300)
	for _, kind := range kinds() {
		plan, err := PlanOf(kind, Protobuf)
		if assert.NoError(t, err) {
			assert.Same(t, plan, planOf(t, kind))
		}
	}
	for _, other := range []reflect.Type{nil, reflect.TypeFor[*metav1.Status](), reflect.TypeFor[any](), reflect.TypeFor[chan int]()} {
		for _, e := range []Encoding{JSON, Protobuf} {
			_, err := PlanOf(other, e)
			assert.Error(t, err)
		}
	}
}

// rounds is the number of objects of each kind.
var rounds = flag.Int("decode.rounds", 1, "how much the random tests do")

// asObject returns the data with a kind and apiVersion.
func asObject(kind reflect.Type, data []byte) []byte {
	var members map[string]any
	if json.Unmarshal(data, &members) != nil {
		return data
	}
	members["kind"], members["apiVersion"] = kind.Name(), "v1"
	delete(members, "items")
	data, _ = json.Marshal(members)
	return data
}

// kindOfFile returns the type for a file name such as apps.v1.Deployment.json, if client-go knows
// it.
func kindOfFile(path string) (reflect.Type, bool) {
	name := strings.Split(filepath.Base(path), ".")
	n := len(name)
	gvk := schema.GroupVersionKind{Group: strings.Join(name[:n-3], "."), Version: name[n-3], Kind: name[n-2]}
	if gvk.Group == "core" {
		gvk.Group = ""
	}
	t, known := scheme.Scheme.AllKnownTypes()[gvk]
	return t, known
}

func TestMain(m *testing.M) { testkit.RunTests(m) }

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

// planOf is PlanOf for types that have a plan.
func planOf(t testing.TB, of reflect.Type) *Plan {
	t.Helper()
	plan, err := PlanOf(of, JSON)
	require.NoError(t, err)
	return plan
}

// ofPlan returns the decoders by a method of plans.
func ofPlan(read func(*Plan, []byte, any, Options) error) func(testing.TB, reflect.Type) decoder {
	return func(t testing.TB, of reflect.Type) decoder {
		t.Helper()
		plan := planOf(t, of)
		return func(data []byte, o Options) (any, error) {
			into := reflect.New(of).Interface()
			return into, read(plan, data, into, o)
		}
	}
}

// ofDocuments returns the decoder of unstructured objects, whatever the type.
func ofDocuments(testing.TB, reflect.Type) decoder {
	return func(data []byte, o Options) (any, error) { return Unstructured(data, o) }
}

// decoded decodes data that must not be given up.
func (d format) decoded(t testing.TB, of reflect.Type, data []byte, o Options) any {
	t.Helper()
	v, err := d.ours(t, of)(data, o)
	require.NoError(t, err, "%q", data)
	return v
}

func overwrite(data []byte) {
	for i := range data {
		data[i] = '#'
	}
}

// codec is client-go's serializer for objects of any kind. Frames of a watch are decoded according
// to the kind that it finds. Without an object to decode into, it returns an unstructured one.
var codec = serializer.NewSerializerWithOptions(serializer.DefaultMetaFactory, anyKind{}, anyKind{}, serializer.SerializerOptions{})

// anyKind knows no types, and accepts any.
type anyKind struct{ runtime.ObjectTyper }

func (anyKind) New(schema.GroupVersionKind) (runtime.Object, error) {
	return &unstructured.Unstructured{}, nil
}

func (anyKind) ObjectKinds(obj runtime.Object) ([]schema.GroupVersionKind, bool, error) {
	return nil, false, runtime.NewNotRegisteredErrForType("any", reflect.TypeOf(obj))
}

// anyTyped makes an object of a type that does not implement runtime.Object.
type anyTyped struct{ into any }

func (o *anyTyped) UnmarshalJSON(data []byte) error { return utiljson.Unmarshal(data, o.into) }

func (o *anyTyped) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

func (o *anyTyped) DeepCopyObject() runtime.Object { return o }

// jsonOfClients checks that client-go finds the kind that the result has, if its type has one.
func jsonOfClients(t testing.TB, of reflect.Type, data []byte) any {
	t.Helper()
	wanted := reflect.New(of).Interface()
	object, is := wanted.(runtime.Object)
	if !is {
		object = &anyTyped{wanted}
	}
	_, kind, err := codec.Decode(data, nil, object)
	require.NoError(t, err, "client-go refuses %q", data)
	if has, ok := wanted.(schema.ObjectKind); ok {
		require.Equal(t, has.GroupVersionKind(), *kind, "client-go takes %q for that", data)
	}
	return wanted
}

func documentOfClients(t testing.TB, _ reflect.Type, data []byte) any {
	t.Helper()
	wanted, kind, err := codec.Decode(data, nil, nil)
	require.NoError(t, err, "client-go refuses %q", data)
	object := wanted.(*unstructured.Unstructured)
	require.Equal(t, object.GroupVersionKind(), *kind, "client-go takes %q for that", data)
	return object.Object
}

func protobufOfClients(t testing.TB, of reflect.Type, data []byte) any {
	t.Helper()
	wanted := reflect.New(of).Interface()
	require.NoError(t, wanted.(message).Unmarshal(data), "Unmarshal refuses %x", data)
	return wanted
}

// partsOfTests is the table of parts for same, common to all tests.
var partsOfTests = NewParts(4 << 20)

// same fails the test unless data is given up, or decoded as client-go does, and reports which. It
// decodes without shared parts, and then three times with them, because parts enter the table at
// the second lookup.
func (d format) same(t testing.TB, of reflect.Type, data []byte, o Options) (decoded bool) {
	t.Helper()
	shared := o
	shared.Share = NewSharing(partsOfTests).Report(func(w *Written) {
		require.Nil(t, w, "nobody has written to a part of %q", data)
	})
	ours := d.ours(t, of)
	decode := func(o Options) (any, error) {
		copied := bytes.Clone(data)
		defer overwrite(copied)
		return ours(copied, o)
	}
	got, err := decode(o)
	if err != nil {
		require.ErrorIs(t, err, ErrGiveUp, "%q", data)
		_, err = decode(shared)
		require.ErrorIs(t, err, ErrGiveUp, "%q", data)
		return false
	}
	wanted := d.clients(t, of, data)
	for round := range 4 {
		if round > 0 {
			got, err = decode(shared)
			require.NoError(t, err, "%q", data)
		}
		if !reflect.DeepEqual(wanted, got) {
			require.Equal(t, wanted, got, "of %q", data)
			require.Fail(t, "not deeply equal", "%q", data)
		}
	}
	return true
}

// TestItems checks that items of lists get the kind of the list if they have none, and otherwise
// equal those of client-go.
func TestItems(t *testing.T) {
	for item, decoded := range map[string]bool{
		`{"metadata":{"name":"a"}}`:                      true,
		`{"kind":"A","apiVersion":"v1","items":[1.0,2]}`: true,
		`{"kind":"A"}`:                    false,
		`{"apiVersion":"v1"}`:             false,
		`{"kind":"","apiVersion":""}`:     false,
		`{"kind":null,"apiVersion":null}`: false,
		`null`:                            false,
		`{}x`:                             false,
	} {
		ours, err := UnstructuredItem([]byte(item), "Widget", "example.com/v1", Options{})
		require.Equal(t, decoded, err == nil, item)
		if !decoded {
			continue
		}
		list := []byte(`{"kind":"WidgetList","apiVersion":"example.com/v1","items":[` + item + `]}`)
		wanted, _, err := unstructured.UnstructuredJSONScheme.Decode(list, nil, nil)
		require.NoError(t, err)
		require.Equal(t, wanted.(*unstructured.UnstructuredList).Items[0].Object, ours)
	}
}

// TestErrors checks that an error contains the reason and position, and none of the data.
func TestErrors(t *testing.T) {
	type object struct{ Name string }
	for data, wanted := range map[string]string{
		`{"Name":12}`:              "decode: given up at byte 8: not a string",
		`null`:                     "decode: given up at byte 0: not an object",
		`[]`:                       "decode: given up at byte 0: not an object",
		`{"Name":"a"} x`:           "decode: given up at byte 13: trailing data",
		`{"Name":"a","Name":"b"}`:  "decode: given up at byte 19: duplicate member",
		`{"Name":"a",}`:            "decode: given up at byte 12: missing member name",
		`{"Other":{"a":[1,2,+3]}}`: "decode: given up at byte 19: not a value",
	} {
		_, err := inJSON.ours(t, reflect.TypeFor[object]())([]byte(data), Options{})
		require.EqualError(t, err, wanted, data)
		require.True(t, errors.Is(err, ErrGiveUp))
	}
	plan := planOf(t, reflect.TypeFor[object]())
	for _, into := range []any{nil, object{}, (*object)(nil), new(string), new(*object)} {
		require.ErrorIs(t, plan.JSON([]byte("{}"), into, Options{}), ErrGiveUp)
	}
}

// author writes random documents of a type, except for odd values.
type author struct {
	bytes.Buffer
	r   *rand.Rand
	odd int // one value in odd is odd; 0: none
}

func (a *author) oddly() bool { return a.odd > 0 && a.r.IntN(a.odd) == 0 }

func (a *author) pick(from ...string) { a.WriteString(from[a.r.IntN(len(from))]) }

func (a *author) space() {
	if a.r.IntN(30) == 0 {
		a.pick(" ", "\n", "\t", "\r", "  \n")
	}
}

func randomDocument(r *rand.Rand, t reflect.Type, odd int) []byte {
	a := &author{r: r, odd: odd}
	a.value(t, 0)
	return a.Bytes()
}

// randomObject returns an unstructured object.
func randomObject(r *rand.Rand, odd int) []byte {
	a := &author{r: r, odd: odd}
	a.WriteString(`{"kind":"Widget","apiVersion":"v1",`)
	a.space()
	a.WriteString(`"spec":`)
	a.mapping(reflect.TypeFor[map[string]any](), 0)
	a.WriteString(`,"data":`)
	a.anything(4)
	if a.oddly() {
		a.WriteString(`,`)
		a.pick(oddKinds...)
	}
	a.WriteString(`}`)
	return a.Bytes()
}

var oddValues = []string{
	"null", "true", "false", "0", "-0", "-1", "1.0", "1.5", "1e3", "1E-2", "01", "-", "1.", ".5", "+1", "1e400", "-1e400", "1e", "0x1",
	"127", "128", "-128", "-129", "255", "256", "32768", "2147483647", "2147483648", "-2147483649", "4294967296",
	"9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615",
	"18446744073709551616", "100000000000000000000000000", "3.4e39", "1e-400", `""`, `"x"`, `"null"`, `"1"`, `"\u0041"`, `"\ud83d\ude00"`,
	`"\ud800"`, `"\ud800A"`, `"\udc00"`, `"\u12"`, `"\x"`, `"\'"`, "\"\xff\"", "\"\xe2\x82\"", "\"\x01\"", "\"\x7f\"", "\"\u2028\"",
	`"a`, "[]", "[null]", "[1,2]", `["a"]`, "[[]]", "{}", `{"a":null}`, `{"a":1}`, `{"a":{"b":[]}}`, "[1,]", `{"a":1,}`, `{,}`, "{a:1}",
	`{"a"}`, `{"a":}`, "nul", "nulll", "truefalse", "tru", "NaN", "Infinity", "undefined", `"2026-01-05T08:00:50Z"`, `"1Gi"`, "",
	"\v1", "/*c*/1", "\u00a01", "[" + strings.Repeat("[", 600) + strings.Repeat("]", 601), strings.Repeat(`{"a":`, 490) + "1" + strings.Repeat("}", 490),
}

func (a *author) value(t reflect.Type, depth int) {
	a.space()
	switch {
	case a.oddly():
		a.pick(oddValues...)
	case a.r.IntN(40) == 0 && a.odd > 0 && depth > 0:
		a.WriteString("null")
	case !a.builtin(t):
		a.byKind(t, depth)
	}
	a.space()
}

var (
	timeTexts = []string{`"2026-01-05T08:00:50Z"`, `"2024-02-29T23:59:59Z"`, `"0001-01-01T00:00:00Z"`, `"9999-12-31T00:00:00Z"`,
		`"1970-01-31T00:00:00Z"`, `"2026-01-05T08:00:50+02:00"`, `"2026-01-05T08:00:50.123456789Z"`, `"2026-01-05T8:00:50Z"`}
	oddTimes = []string{`"2026-02-29T00:00:00Z"`, `"2026-02-30T00:00:00Z"`, `"2026-13-01T00:00:00Z"`, `"2026-00-01T00:00:00Z"`, `"2026-01-00T00:00:00Z"`,
		`"2026-01-05T24:00:00Z"`, `"2026-01-05T08:60:00Z"`, `"2026-01-05T08:00:60Z"`, `"2026-01-05t08:00:50z"`, `"2026-01-05 08:00:50Z"`, `"2026-01-05"`, `""`,
		`"2026-01-05T08:00:50\u005a"`, `"2026-01-05T08:00:5\u0030Z"`, `"2026-01-05T08:00:50,5Z"`, `"2026-01-05T08:00:50+25:00"`, `1767600050`}
	quantities = []string{`"100m"`, `"1Gi"`, `"0"`, `"1.5"`, `"-3k"`, `"+7"`, `"1e3"`, `"123456789012345678901234567890"`, `"0.1n"`, `" 1 "`, `5`, `1.5`, `-2`,
		`"1000000Ki"`, `"9223372036854775807"`, `1e3`}
	oddQuantities = []string{`""`, `"1\u0030"`, `"ten"`, `true`, `"1 0"`, `{}`, `"1Zi"`, `"1\n"`, "\"1\u00a0\"", `"--1"`}
)

// builtin writes values of types that decode themselves.
func (a *author) builtin(t reflect.Type) bool {
	odd := a.oddly()
	switch t {
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime](), reflect.TypeFor[ownJSONBehind]():
		if odd {
			a.pick(oddTimes...)
		} else if t == reflect.TypeFor[metav1.MicroTime]() {
			a.pick(`"2026-01-05T08:00:50.123456Z"`, `"2026-01-05T08:00:50.000000+01:00"`)
		} else {
			a.pick(timeTexts...)
		}
	case reflect.TypeFor[resource.Quantity]():
		if odd {
			a.pick(oddQuantities...)
		} else {
			a.pick(quantities...)
		}
	case reflect.TypeFor[metav1.Duration]():
		a.pick(`"1h"`, `"0s"`, `"1m30.5s"`)
	case reflect.TypeFor[intstr.IntOrString]():
		a.pick(`"http"`, `"50%"`, `80`, `-1`, `""`)
	case reflect.TypeFor[json.RawMessage](), reflect.TypeFor[metav1.FieldsV1]():
		a.anything(3)
	case reflect.TypeFor[metav1.GroupVersion]():
		a.pick(`"v1"`, `"apps/v1"`)
	default:
		if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
			a.anything(3)
			return true
		}
		if t.Kind() != reflect.Struct || !reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
			return false
		}
		a.text()
	}
	return true
}

func (a *author) byKind(t reflect.Type, depth int) {
	switch t.Kind() {
	case reflect.Pointer:
		a.value(t.Elem(), depth)
	case reflect.Struct:
		a.members(t, depth)
	case reflect.Slice, reflect.Array:
		a.list(t, depth)
	case reflect.Map:
		a.mapping(t, depth)
	case reflect.Interface:
		a.anything(3)
	case reflect.String:
		if t == reflect.TypeFor[json.Number]() {
			a.pick("1", "1.5", `"2"`)
		} else {
			a.text()
		}
	case reflect.Bool:
		a.pick("true", "false")
	case reflect.Float32, reflect.Float64:
		a.pick("0", "1.5", "-2e-3", "3.4028235e38", "16777217", "0.1")
	case reflect.Int8, reflect.Uint8:
		a.pick("0", "1", "127", "12")
	default:
		a.pick("0", "1", "42", "32767", "-0")
	}
}

func (a *author) text() {
	a.pick(`""`, `"a"`, `"Running"`, `"node.kubernetes.io/not-ready"`, `"é"`, `"日本語"`, `"a\"b"`, `"\\\/\b\f\n\r\t"`, `"caf\u00e9"`, `"\ud83d\ude00!"`,
		strconv.Quote(strings.Repeat("long ", a.r.IntN(60))), fmt.Sprintf(`"text-%d"`, a.r.IntN(1000)), `"<&>"`)
	if a.oddly() {
		a.Truncate(a.Len() - 1)
		a.pick("\xff\"", `\ud800"`, "\x00\"", "\"", `\"`, "\u2029\"")
	}
}

func (a *author) list(t reflect.Type, depth int) {
	if t.Elem().Kind() == reflect.Uint8 && t.Kind() == reflect.Slice && !a.oddly() {
		a.pick(`""`, `"YQ=="`, `"YWI="`, `"YWJj"`, `"YWJjZA=="`, `"YWJj\nZA=="`)
		if a.oddly() {
			a.pick(`"YQ"`, `"YR=="`, `"Y-_="`)
		}
		return
	}
	a.WriteByte('[')
	for i := range a.count(depth) {
		if i > 0 {
			a.WriteByte(',')
		}
		a.value(t.Elem(), depth+1)
	}
	a.WriteByte(']')
}

// count returns a random number of elements for a depth.
func (a *author) count(depth int) int {
	if depth > 10 {
		return 0
	}
	return max(0, a.r.IntN(5)-1)
}

func (a *author) mapping(t reflect.Type, depth int) {
	a.WriteByte('{')
	for i := range a.count(depth) {
		if i > 0 {
			a.WriteByte(',')
		}
		switch {
		case t.Key().Kind() != reflect.String:
			fmt.Fprintf(a, `"%d"`, a.r.IntN(5))
		case a.oddly():
			a.text()
		default:
			fmt.Fprintf(a, `"key-%d"`, a.r.IntN(20))
		}
		a.space()
		a.WriteByte(':')
		a.value(t.Elem(), depth+1)
	}
	a.WriteByte('}')
}

// members writes some of the fields of a struct, usually in their order.
func (a *author) members(t reflect.Type, depth int) {
	var fields []member
	for _, m := range namesOf(t, nil) {
		if a.r.IntN(depth+2) == 0 || depth == 0 && a.r.IntN(3) > 0 {
			fields = append(fields, m)
		}
	}
	if a.r.IntN(4) == 0 {
		a.r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	}
	if len(fields) > 0 && a.oddly() {
		fields = append(fields, fields[a.r.IntN(len(fields))])
	}
	a.WriteByte('{')
	for i, m := range fields {
		if i > 0 {
			a.WriteByte(',')
		}
		a.member(m, depth)
		if depth < 2 && a.oddly() {
			a.WriteByte(',')
			a.pick(oddKinds...)
		}
	}
	a.WriteByte('}')
}

// oddKinds are members that client-go may take for the kind or apiVersion of an object, and similar
// ones.
var oddKinds = []string{`"Kind":"A"`, `"KIND":1`, `"kind":1`, `"kind":null`, `"kind":"A"`, `"\u006bind":"A"`, `"\u212aind":"A"`, "\"\u212aind\":[]",
	`"APIVersion":"a/v2"`, `"apiversion":null`, `"apiVersion":{}`, `"apiVersion":"a/b/v1"`, `"apiVersion":"a\/b\u002fv1"`, "\"apiVer\u017fion\":true",
	`"kinds":1`, `"api_version":1`, `"kin\u0000":1`}

func (a *author) member(m member, depth int) {
	switch {
	case a.oddly():
		a.text()
		a.WriteByte(':')
		a.anything(3)
		return
	case a.oddly():
		fmt.Fprintf(a, "%q", strings.ToUpper(m.name[:1])+m.name[1:])
	case a.oddly():
		fmt.Fprintf(a, `"\u%04x%s"`, m.name[0], m.name[1:])
	default:
		fmt.Fprintf(a, "%q", m.name)
	}
	a.space()
	a.WriteByte(':')
	a.value(m.field.Type, depth+1)
}

// member is a field with its name in JSON.
type member struct {
	name  string
	field reflect.StructField
}

// namesOf returns the fields of a struct, including those of embedded structs, as the author of a
// client would write them.
func namesOf(t reflect.Type, above []reflect.Type) (list []member) {
	if len(above) > 4 {
		return nil
	}
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case name == "-" || !field.IsExported() && !field.Anonymous:
		case field.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			list = append(list, namesOf(inner, append(above, t))...)
		case name == "":
			list = append(list, member{name: field.Name, field: field})
		default:
			list = append(list, member{name: name, field: field})
		}
	}
	return list
}

// anything writes any document.
func (a *author) anything(depth int) {
	kind := a.r.IntN(12)
	switch {
	case a.oddly():
		a.pick(oddValues...)
	case kind < 2 && depth > 0:
		a.mapping(reflect.TypeFor[map[string]any](), 10-depth)
	case kind < 4 && depth > 0:
		a.list(reflect.TypeFor[[]any](), 10-depth)
	case kind < 6:
		a.text()
	case kind < 8:
		a.pick("0", "-1", "7", "255", "256", "9223372036854775807", "9223372036854775808", "-0", "123456789012345678")
	case kind < 10:
		a.pick("1.5", "1.0", "1e3", "-0.0", "1E+2")
	default:
		a.pick("true", "false", "null")
	}
}
