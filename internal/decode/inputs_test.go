// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
