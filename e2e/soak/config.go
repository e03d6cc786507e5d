// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
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

// Config says what a run does. Zero values mean the defaults, which Register shows.
type Config struct {
	// Seed decides the plan of the run.
	Seed uint64
	// Duration is how long there are faults. The run takes up to Patience and some seconds more.
	Duration time.Duration
	// Library is Kinformer or ClientGo.
	Library string
	// Writers is how many there are of each kind, and Names how many objects each has.
	Writers, Names int
	// Pause is what a writer waits between two writes, and a reader between two reads.
	Pause time.Duration
	// CheckEvery is after how many rounds of faults everything is compared.
	CheckEvery int
	// Patience is how long that may take to be equal. The backoff of reflectors grows to 30 s and
	// more while faults go on.
	Patience time.Duration
	// Faults selects faults by name, as a regular expression.
	Faults string
	// Tapped is the share of Kinformer's informers that decode directly what the server sends, in
	// percent; the seed decides which. Less than 0 is none.
	Tapped int
	// Shared is the share of these whose objects share equal parts, in percent, likewise.
	Shared int
	// Binary is the API server's; see apiserver.Options.
	Binary string
	// Out gets progress and the summary; nil discards them.
	Out io.Writer
}

// Register makes flags of the fields.
func (c *Config) Register(flags *flag.FlagSet) {
	d := Config{}.withDefaults()
	flags.Uint64Var(&c.Seed, "seed", uint64(time.Now().UnixNano()), "decides the plan of the run")
	flags.DurationVar(&c.Duration, "duration", d.Duration, "how long there are faults")
	flags.StringVar(&c.Library, "library", d.Library, Kinformer+" or "+ClientGo)
	flags.IntVar(&c.Writers, "writers", d.Writers, "writers of each kind")
	flags.IntVar(&c.Names, "names", d.Names, "objects of each writer")
	flags.DurationVar(&c.Pause, "pause", d.Pause, "between two writes of a writer, and two reads of a reader")
	flags.IntVar(&c.CheckEvery, "check-every", d.CheckEvery, "rounds of faults between comparisons")
	flags.DurationVar(&c.Patience, "patience", d.Patience, "how long a comparison may take to be equal")
	flags.StringVar(&c.Faults, "faults", d.Faults, "which faults, a regular expression on their names")
	flags.IntVar(&c.Tapped, "tapped", d.Tapped, "percent of kinformer's informers that decode directly; -1: none")
	flags.IntVar(&c.Shared, "shared", d.Shared, "percent of these whose objects share equal parts; -1: none")
	flags.StringVar(&c.Binary, "apiserver", "", "the API server's binary")
}

func (c Config) withDefaults() Config {
	fallback(&c.Duration, time.Minute)
	fallback(&c.Library, Kinformer)
	fallback(&c.Writers, 2)
	fallback(&c.Names, 300)
	fallback(&c.Pause, 4*time.Millisecond)
	fallback(&c.CheckEvery, 3)
	fallback(&c.Patience, 5*time.Minute)
	fallback(&c.Faults, ".")
	fallback(&c.Tapped, 50)
	fallback(&c.Shared, 50)
	if c.Out == nil {
		c.Out = io.Discard
	}
	return c
}

func fallback[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (c Config) validate() error {
	var errs []error
	if _, ok := libraries[c.Library]; !ok {
		errs = append(errs, fmt.Errorf("no library %q", c.Library))
	}
	if _, err := regexp.Compile(c.Faults); err != nil {
		errs = append(errs, err)
	}
	if c.Writers < 0 || c.Names < 0 || c.CheckEvery < 0 || c.Pause < 0 || c.Patience < 0 || c.Duration < 0 {
		errs = append(errs, errors.New("a number is negative"))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("soak: %w", err)
	}
	return nil
}
