// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"cmp"
	"encoding/json"
	"flag"
	"math/rand"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

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
	return fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(seed), scheme.Codecs).NilChance(0.3).NumElements(0, 3).MaxDepth(12)
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
