// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"flag"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
)

// The libraries whose informers a run can check.
const (
	Kinformer = "kinformer"
	ClientGo  = "client-go"
)

// newInformer makes an informer of the library under test.
type newInformer func(cache.ListerWatcher, runtime.Object, time.Duration, cache.Indexers) cache.SharedIndexInformer

var libraries = map[string]newInformer{
	Kinformer: cache.NewSharedIndexInformer,
	ClientGo:  clientgo.NewSharedIndexInformer,
}

const (
	writers    = 2 // of each kind
	checkEvery = 3 // rounds of faults between comparisons
	// patience is how long a comparison may take to be equal. The backoff of reflectors grows to
	// 30 s and more while faults go on.
	patience = 5 * time.Minute
)

// Config says what a run does.
type Config struct {
	// Seed decides the plan of the run.
	Seed uint64
	// Duration is how long there are faults. The run takes up to five minutes and some seconds
	// more.
	Duration time.Duration
	// Library is Kinformer or ClientGo.
	Library string
	// Names is how many objects each writer has.
	Names int
	// Pause is what a writer waits between two writes, and a reader between two reads.
	Pause time.Duration
	// Faults selects faults by name, as a regular expression.
	Faults string
	// Tapped is the share of Kinformer's informers that decode directly what the server sends, in
	// percent; the seed decides which, and which half of them shares equal parts. Less than 0 is
	// none.
	Tapped int
	// Binary is the API server's; see apiserver.Options.
	Binary string
	// Out gets progress and the summary.
	Out io.Writer
}

// Default returns the configuration of a run of a minute.
func Default() Config {
	return Config{
		Seed: uint64(time.Now().UnixNano()), Duration: time.Minute, Library: Kinformer, Names: 300, Pause: 4 * time.Millisecond,
		Faults: ".", Tapped: 50, Out: io.Discard,
	}
}

// Register makes flags of the fields.
func (c *Config) Register(flags *flag.FlagSet) {
	flags.Uint64Var(&c.Seed, "seed", c.Seed, "decides the plan of the run")
	flags.DurationVar(&c.Duration, "duration", c.Duration, "how long there are faults")
	flags.StringVar(&c.Library, "library", c.Library, Kinformer+" or "+ClientGo)
	flags.IntVar(&c.Names, "names", c.Names, "objects of each writer")
	flags.DurationVar(&c.Pause, "pause", c.Pause, "between two writes of a writer, and two reads of a reader")
	flags.StringVar(&c.Faults, "faults", c.Faults, "which faults, a regular expression on their names")
	flags.IntVar(&c.Tapped, "tapped", c.Tapped, "percent of kinformer's informers that decode directly; -1: none")
	flags.StringVar(&c.Binary, "apiserver", "", "the API server's binary")
}
