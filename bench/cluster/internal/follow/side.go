// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"

	kinformer "github.com/kinformer/cache"
	"github.com/kinformer/cache/bench/internal/measure"
)

// side is an implementation, with options.
type side struct {
	name, title string
	direct      bool // decodes itself
	newInformer func(clientgo.ListerWatcher, runtime.Object, time.Duration, clientgo.Indexers) clientgo.SharedIndexInformer
}

var sides = []side{
	{name: "client-go", title: "client-go", newInformer: clientgo.NewSharedIndexInformer},
	{name: "ours", title: "kinformer", newInformer: kinformer.NewSharedIndexInformer},
	{name: "direct", title: "kinformer, decoding directly", direct: true, newInformer: kinformer.NewSharedIndexInformer},
	{name: "shared", title: "kinformer, decoding directly, sharing", direct: true,
		newInformer: kinformer.InformerFunc(kinformer.WithDecoding(kinformer.Decoding{Share: kinformer.ShareEqual}))},
}

// Sides are the names of the sides.
func Sides() []string {
	var names []string
	for _, s := range sides {
		names = append(names, s.name)
	}
	return names
}

// Title returns what a side is called where it is explained.
func Title(name string) string {
	s, err := sideNamed(name)
	if err != nil {
		return name
	}
	return s.title
}

func sideNamed(name string) (side, error) {
	i := slices.IndexFunc(sides, func(s side) bool { return s.name == name })
	if i < 0 {
		return side{}, fmt.Errorf("there is no side %q but %s", name, strings.Join(Sides(), ", "))
	}
	return sides[i], nil
}

// Module returns the module that a side is of.
func Module(name string) string {
	if name == "client-go" {
		return measure.ClientGo
	}
	return measure.Kinformer
}

// ours reports whether the side is this library.
func (s side) ours() bool { return s.name != "client-go" }

var errOtherwise = errors.New("an informer does not decode as it should")

// decodes returns an error if an informer of the side does not decode directly although it should,
// or the other way round.
func (s side) decodes(of clientgo.SharedIndexInformer) error {
	if !s.ours() {
		return nil
	}
	status, err := kinformer.StatusOf(of)
	if err != nil {
		return fmt.Errorf("status: %w", err)
	}
	d := status.Decoding
	if s.direct != d.On || s.direct != (d.Direct > 0) || d.Differences > 0 || len(d.GivenUp) > 0 {
		return fmt.Errorf("%w: %+v", errOtherwise, d)
	}
	return nil
}

// tables returns how many bytes the tables of shared texts and parts take, and whether they are
// filling.
func (s side) tables(of clientgo.SharedIndexInformer) (bytes uint64, fill bool) {
	if !s.ours() {
		return 0, false
	}
	status, _ := kinformer.StatusOf(of) // it is ours, so there is no error
	d := status.Decoding
	return uint64(d.Texts.Bytes + d.Parts.Bytes), filling(d)
}

// filling reports whether objects share parts and one of the tables is not full.
func filling(d kinformer.DecodingStatus) bool {
	return d.Shares && !(full(d.Texts.Bytes, d.Texts.Limit) && full(d.Parts.Bytes, d.Parts.Limit))
}

// full reports whether a table has no room for its largest entries, a sixteenth of the limit.
func full(bytes, limit int64) bool { return bytes > limit-limit/16 }
