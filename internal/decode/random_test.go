// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"cmp"
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
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinformer/cache/internal/testkit"
)

// TestWrittenDocuments by tags: nothing but what no type could hold is given up, if nothing is odd.
func TestWrittenDocuments(t *testing.T) {
	table := NewIntern(1 << 20)
	for _, kind := range append(kinds(), oddTypes...) {
		r := rand.New(rand.NewPCG(1, uint64(len(kind.Name()))))
		for range rounds() {
			data := document(r, kind, 0)
			decoded := sameJSON(t, kind, data, Options{Intern: table})
			require.True(t, decoded || slices.Contains(oddTypes, kind), "%v: %s", kind, data)
		}
	}
}

// TestOddDocuments: with one or many things odd in them.
func TestOddDocuments(t *testing.T) {
	table := NewIntern(1 << 20)
	for _, odd := range []int{1000, 200, 30, 5} {
		decoded, total := 0, 0
		for i, kind := range append(kinds(), oddTypes...) {
			r := rand.New(rand.NewPCG(uint64(odd), uint64(i)))
			n := 3
			if slices.Contains(oddTypes, kind) {
				n = 100
			}
			for range n {
				total++
				if sameJSON(t, kind, document(r, kind, odd), Options{Intern: table}) {
					decoded++
				}
			}
		}
		t.Logf("one in %d odd: %d of %d decoded", odd, decoded, total)
		assert.Greater(t, decoded, total/20)
	}
}

// TestDamagedObjects: bytes changed, inserted, left out, copied and cut off.
func TestDamagedObjects(t *testing.T) {
	table := NewIntern(1 << 20)
	samples := []reflect.Type{
		reflect.TypeFor[corev1.Pod](), reflect.TypeFor[corev1.Secret](), reflect.TypeFor[metav1.PartialObjectMetadata](), reflect.TypeFor[widget](),
		reflect.TypeFor[odd](),
	}
	decoded, total := 0, 0
	for i := range uint64(700 * rounds()) {
		r := rand.New(rand.NewPCG(i, 3))
		kind := samples[r.IntN(len(samples))]
		data := damaged(r, document(r, kind, 0), 1+r.IntN(3))
		total++
		if sameJSON(t, kind, data, Options{Intern: table}) {
			decoded++
		}
		sameDocument(t, data, Options{Intern: table})
	}
	t.Logf("%d of %d decoded", decoded, total)
	assert.Greater(t, decoded, total/50)
	assert.Less(t, decoded, total)
}

// TestUnstructuredDocuments with and without odd things.
func TestUnstructuredDocuments(t *testing.T) {
	table := NewIntern(1 << 20)
	for _, odd := range []int{0, 300, 20} {
		decoded := 0
		for i := range uint64(500 * rounds()) {
			a := &author{r: rand.New(rand.NewPCG(i, uint64(odd))), odd: odd}
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
			if sameDocument(t, a.Bytes(), Options{Intern: table}) {
				decoded++
			} else {
				require.NotZero(t, odd, "%s", a.Bytes())
			}
		}
		assert.Greater(t, decoded, 100)
	}
}

const damage = "{}[]\",:\\ \n0-.eEntfu/\x00\x7f\x80\xff"

// damaged changes a document in so many places.
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

// FuzzJSONObject decodes any bytes as any kind of object.
func FuzzJSONObject(f *testing.F) {
	types := append(oddTypes, kinds()...)
	f.Add(uint16(0), readFile(f, "testdata/pod.json"))
	for i := range types {
		r := rand.New(rand.NewPCG(uint64(i), 7))
		if data := document(r, types[i], 50); len(data) < 2000 && i%5 == 0 {
			f.Add(uint16(i), data)
		}
	}
	table := NewIntern(1 << 20)
	f.Fuzz(func(t *testing.T, kind uint16, data []byte) {
		if hugeExponent.Match(data) {
			t.Skip()
		}
		sameJSON(t, types[int(kind)%len(types)], data, Options{Intern: table})
	})
}

// FuzzUnstructured decodes any bytes as an unstructured object.
func FuzzUnstructured(f *testing.F) {
	f.Add(readFile(f, "testdata/pod.json"))
	for seed := range uint64(20) {
		a := &author{r: rand.New(rand.NewPCG(seed, 9)), odd: 30}
		a.WriteString(`{"kind":"A","apiVersion":"v1","spec":`)
		a.anything(5)
		a.WriteString(`}`)
		f.Add(a.Bytes())
	}
	table := NewIntern(1 << 20)
	f.Fuzz(func(t *testing.T, data []byte) { sameDocument(t, data, Options{Intern: table}) })
}

var (
	seedFlag   = flag.Uint64("decode.seed", 0, "of TestInputs; 0: by the clock")
	inputsFlag = flag.Int64("decode.inputs", 12_000, "how many inputs of each decoder TestInputs compares")
	stateFlag  = flag.String("decode.state", "", "`folder` where TestInputs keeps how far it is, and goes on from there")
)

const (
	// perBlock is how many inputs are made of the same samples.
	perBlock = 10_000
	// largestSample bounds what an input costs.
	largestSample = 6 << 10
)

// sample is what inputs are made of, by damage or as it is.
type sample struct {
	kind reflect.Type
	data []byte
	sure bool // it has to be decoded
}

// decoderUnderTest is one of the decoders, and how it is compared with client-go's.
type decoderUnderTest struct {
	name    string
	corpus  string // extension of the files
	samples func(fill filler, r *rand.Rand) []sample
	damage  func(*rand.Rand, []byte) []byte
	same    func(testing.TB, reflect.Type, []byte, Options) bool
	share   float64 // at least this part of what is damaged is decoded all the same
}

var decodersUnderTest = []decoderUnderTest{
	{"json", "json", documentSamples, damagedDocument, sameJSON, 0.15},
	{"unstructured", "json", objectSamples, damagedDocument,
		func(t testing.TB, _ reflect.Type, data []byte, o Options) bool { return sameDocument(t, data, o) }, 0.15},
	{"protobuf", "pb", messageSamples, brokenMessage, sameProtobuf, 0.15},
}

func damagedDocument(r *rand.Rand, data []byte) []byte { return damaged(r, data, 1+r.IntN(2)) }

// documentSamples are objects of each kind as they are written, and documents by the tags of types.
func documentSamples(fill filler, r *rand.Rand) (list []sample) {
	for _, kind := range kinds() {
		object := reflect.New(kind).Interface()
		fill.Fill(object)
		if data, err := json.Marshal(object); err == nil {
			list = append(list, sample{kind, data, true})
		}
	}
	for _, kind := range append(kinds(), oddTypes...) {
		list = append(list, sample{kind, document(r, kind, 100), false})
	}
	return list
}

func objectSamples(fill filler, r *rand.Rand) []sample {
	list := documentSamples(fill, r)
	for i, s := range list {
		if s.sure {
			list[i].data = asObject(s.kind, s.data)
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

// corpusSamples are those of the files that Kubernetes keeps of each kind.
func (d decoderUnderTest) corpusSamples(t testing.TB) (list []sample) {
	for _, file := range corpusFiles(t, d.corpus) {
		kind, known := kindOfFile(file.name)
		if !known || kind.Name() == "WatchEvent" {
			continue
		}
		if d.name == "protobuf" {
			envelope, ok := sameEnvelope(t, file.data)
			require.True(t, ok, file.name)
			file.data = envelope.Object
		}
		list = append(list, sample{kind, file.data, true})
	}
	return list
}

// block returns the samples of the inputs from n on.
func (d decoderUnderTest) block(seed uint64, n int64, always []sample) []sample {
	number := uint64(n / perBlock)
	made := d.samples(newFiller(int64(seed+number)), rand.New(rand.NewPCG(seed, number)))
	return slices.DeleteFunc(append(made, always...), func(s sample) bool { return len(s.data) > largestSample })
}

// tally is what was compared so far.
type tally struct {
	Seed           uint64
	Inputs         int64
	Whole, Damaged int64
	Endless        int64 // those that client-go would take days for
	Decoded        int64 // of those that are damaged
}

// compare compares one more input.
func (d decoderUnderTest) compare(t testing.TB, c *tally, samples []sample, table *Intern) {
	r := rand.New(rand.NewPCG(c.Seed, uint64(c.Inputs)))
	s := samples[r.IntN(len(samples))]
	if c.Inputs++; r.IntN(5) == 0 {
		decoded := d.same(t, s.kind, s.data, Options{Intern: table})
		require.True(t, decoded || !s.sure, "%v was given up: %q", s.kind, s.data)
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

// hugeExponent is in quantities whose digits resource.ParseQuantity, which both sides ask, writes
// out: of 1e-1234567890 for days.
var hugeExponent = regexp.MustCompile(`[eE][+-]?[0-9]{5}`)

// TestInputs: whole and damaged, each input of a sequence that the seed determines is given up, or
// becomes what client-go makes of it. make fuzz-once compares 10^7 of each kind.
func TestInputs(t *testing.T) {
	for _, d := range decodersUnderTest {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			c, always := d.begin(t), d.corpusSamples(t)
			defer func() { t.Logf("%+v: -decode.seed %d begins the same sequence", c, c.Seed) }()
			table := NewIntern(1 << 20)
			var samples []sample
			for c.Inputs < *inputsFlag {
				if samples == nil || c.Inputs%perBlock == 0 {
					c.save(t, d.name)
					samples = d.block(c.Seed, c.Inputs, always)
				}
				d.compare(t, &c, samples, table)
			}
			c.save(t, d.name)
			table.check(t)
			assert.Equal(t, c.Inputs, c.Whole+c.Damaged+c.Endless)
			assert.Greater(t, float64(c.Whole), 0.15*float64(c.Inputs))
			assert.Greater(t, float64(c.Decoded), d.share*float64(c.Damaged))
			assert.Less(t, c.Decoded, c.Damaged)
		})
	}
}

// begin returns what an earlier run has saved.
func (d decoderUnderTest) begin(t testing.TB) (c tally) {
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

// save keeps what was compared, if that is wanted.
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

// kinds are the types of all objects that client-go knows, and of metadata alone.
var kinds = sync.OnceValue(func() []reflect.Type {
	found := map[reflect.Type]bool{reflect.TypeFor[metav1.PartialObjectMetadata](): true}
	for _, t := range scheme.Scheme.AllKnownTypes() {
		if t != reflect.TypeFor[metav1.InternalEvent]() { // never sent; has an interface
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

// filler makes random objects.
type filler interface{ Fill(obj any) }

func newFiller(seed int64) filler {
	return fuzzer.FuzzerFor(metafuzzer.Funcs, oldrand.NewSource(seed), scheme.Codecs).NilChance(0.3).NumElements(0, 3).MaxDepth(12)
}

// TestPlans: there is a plan of every type of the API, and one only.
func TestPlans(t *testing.T) {
	require.Greater(t, len(kinds()), 300)
	for _, kind := range kinds() {
		plan, err := PlanOf(kind)
		if assert.NoError(t, err) {
			assert.Same(t, plan, planOf(t, kind))
		}
	}
	for _, other := range []reflect.Type{nil, reflect.TypeFor[*metav1.Status](), reflect.TypeFor[any](), reflect.TypeFor[chan int]()} {
		_, err := PlanOf(other)
		assert.Error(t, err)
	}
}

// TestRandomObjects of all kinds, as the API server would write them, are read and given up by
// none.
func TestRandomObjects(t *testing.T) {
	table := NewIntern(1 << 20)
	for seed := range int64(rounds()) {
		fill := newFiller(seed)
		for _, kind := range kinds() {
			object := reflect.New(kind).Interface()
			fill.Fill(object)
			data, err := json.Marshal(object)
			if err != nil {
				continue // an extension that is no JSON
			}
			require.True(t, sameJSON(t, kind, data, Options{Intern: table}), "%v: %s", kind, data)
			sameDocument(t, asObject(kind, data), Options{Intern: table})
		}
	}
}

// rounds is how many objects of each kind are made.
func rounds() int { return *roundsFlag }

var roundsFlag = flag.Int("decode.rounds", 1, "how much the random tests do")

// asObject is the data with a kind, as unstructured objects need it.
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

// TestCorpus reads what Kubernetes keeps to find out whether an encoding has changed: every kind,
// with all fields set.
func TestCorpus(t *testing.T) {
	files := corpus(t, "json")
	count := 0
	for _, file := range files {
		kind, known := kindOfFile(file.name)
		if !known {
			continue
		}
		count++
		require.True(t, sameJSON(t, kind, file.data, Options{}), file.name)
		object := kind != reflect.TypeFor[metav1.WatchEvent]() // has no kind
		require.Equal(t, object, sameDocument(t, file.data, Options{Intern: NewIntern(0)}), file.name)
	}
	require.Greater(t, count, 150)
}

type corpusFile struct {
	name string
	data []byte
}

// corpus is corpusFiles for tests of nothing else.
func corpus(t testing.TB, extension string) []corpusFile {
	t.Helper()
	files := corpusFiles(t, extension)
	if len(files) == 0 {
		t.Skip("k8s.io/api has come without its testdata")
	}
	return files
}

// corpusFiles returns the files of an encoding in all versions. The module cache need not have
// them.
func corpusFiles(t testing.TB, extension string) []corpusFile {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/api").Output()
	require.NoError(t, err)
	paths, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "testdata", "*", "*."+extension))
	require.NoError(t, err)
	files := make([]corpusFile, 0, len(paths))
	for _, path := range paths {
		files = append(files, corpusFile{name: path, data: readFile(t, path)})
	}
	return files
}

// kindOfFile returns the type of a file such as apps.v1.Deployment.json, if client-go still knows
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
