// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package draw tests properties with random values.
//
// A failed run is a subtest with the name of its seed. KINFORMER_SEED=7 go test -run TestModel makes
// the run of seed 7 again, and logs each value. If the property is also that of a fuzz target,
// KINFORMER_SEED=7 go test -run '^$' -fuzz FuzzModel shortens that run with go's fuzzer, and writes
// the shortest input that fails to testdata/fuzz: go test -run FuzzModel repeats it.
package draw

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"maps"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

const skipped = "Skip outside of the steps of Repeat"

// chosen is the seed of the only run of each Check, or empty. newSeed returns it, or a random seed.
var chosen = os.Getenv("KINFORMER_SEED")
var newSeed = func() string { return cmp.Or(chosen, fmt.Sprint(rand.Uint64())) }

// T is the test of one run, whose values are drawn from the bytes of its input: once these are used
// up, each value is the least, and Repeat returns. A T is for one goroutine at a time.
type T struct {
	*testing.T
	input []byte
}

// Check calls property with 100 random inputs, each in a subtest, until one fails.
func Check(t *testing.T, property func(*T)) { Times(t, 100, property) }

// Times is Check with n inputs.
func Times(t *testing.T, n int, property func(*T)) {
	for range n {
		seed := newSeed()
		if !t.Run("KINFORMER_SEED="+seed, func(t *testing.T) { property(&T{t, random(seed)}) }) || chosen != "" {
			return
		}
	}
}

// Fuzz calls property with the inputs that go's fuzzer chooses, beginning with that of the seed.
func Fuzz(f *testing.F, property func(*T)) {
	f.Add([]byte{}) // the fuzzer shortens a failing input of its cache, but none that Add gets
	cache, worker := flag.Lookup("test.fuzzcachedir").Value.String(), flag.Lookup("test.fuzzworker").Value.String() == "true"
	if cache != "" && !worker { // the workers share the file
		input := fmt.Appendf(nil, "go test fuzz v1\n[]byte(%q)\n", random(newSeed()))
		_ = os.MkdirAll(filepath.Join(cache, f.Name()), 0o777)
		if err := os.WriteFile(filepath.Join(cache, f.Name(), "seed"), input, 0o666); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, input []byte) { property(&T{t, input}) })
}

// random returns more bytes than a run needs.
func random(seed string) []byte {
	input := make([]byte, 1<<16)
	_, _ = rand.NewChaCha8(sha256.Sum256([]byte(seed))).Read(input)
	return input
}

// upTo returns a number from 0 to most.
func (t *T) upTo(most uint64) uint64 {
	var bytes [8]byte
	t.input = t.input[copy(bytes[:min(8, bits.Len64(most)/8+1)], t.input):]
	return binary.LittleEndian.Uint64(bytes[:]) % max(most, most+1)
}

// Int returns a number from lo to hi. If these are more than 8 numbers, a quarter of the draws
// returns lo or hi, and another quarter a number near lo.
func Int[N ~int | ~int32 | ~int64 | ~uint8 | ~uint64](t *T, lo, hi N) N {
	most, kind := uint64(hi)-uint64(lo), uint64(4)
	if most >= 8 {
		kind = t.upTo(7)
	}
	switch {
	case lo > hi:
		panic(fmt.Sprintf("no number from %d to %d", lo, hi))
	case kind < 2:
		return drawn(t, []N{lo, hi}[kind])
	case kind < 4:
		most >>= t.upTo(uint64(bits.Len64(most)))
	}
	return drawn(t, lo+N(t.upTo(most)))
}

// Of returns one of the values.
func Of[V any](t *T, values ...V) V { return drawn(t, values[t.upTo(uint64(len(values)-1))]) }

// Bool returns false or true.
func (t *T) Bool() bool { return drawn(t, t.upTo(1) > 0) }

// Uint64 returns any number, each as probable as the others: a seed.
func (t *T) Uint64() uint64 { return t.upTo(1<<64 - 1) }

// Slice returns lo to hi results of one.
func Slice[V any](t *T, lo, hi int, one func() V) []V {
	values := make([]V, Int(t, lo, hi))
	for i := range values {
		values[i] = one()
	}
	return values
}

// drawn returns value. In a repeated run, it logs the value and its line in the test.
func drawn[V any](t *T, value V) V {
	if chosen != "" {
		_, file, line, _ := runtime.Caller(2)
		t.Logf("%s:%d draws %v", filepath.Base(file), line, value)
	}
	return value
}

// Repeat calls random steps, on average 31, and the step "" before and after each of them.
func (t *T) Repeat(steps map[string]func(*T)) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(steps)), func(name string) bool { return name == "" })
	for {
		if check := steps[""]; check != nil {
			check(t)
		}
		if t.Failed() || t.upTo(31) == 0 {
			return
		}
		for len(t.input) > 0 && !t.try(steps[Of(t, names...)]) {
		}
	}
}

// Skip ends a step of Repeat, which then calls another one.
func (t *T) Skip(...any) { panic(skipped) }

// try reports whether the step did not skip.
func (t *T) try(step func(*T)) (done bool) {
	defer func() {
		if r := recover(); r != nil && r != skipped {
			panic(r)
		}
	}()
	step(t)
	return true
}
