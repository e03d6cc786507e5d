// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

const linearKeys = 3

type linearKind int

const (
	linearGet linearKind = iota
	linearPut
	linearDelete
	linearReplace
	linearList
	linearByIndex
	linearIndexKeys
	linearCount
	linearKinds
)

// linearInput is one call; value is what it writes.
type linearInput struct {
	kind  linearKind
	key   int
	value int
}

// linearState is the content of the table: 0 is nothing. Even values are members
// of the posting "even".
type linearState [linearKeys]int

func (s linearState) members() (even linearState, n int) {
	for i, value := range s {
		if value > 0 && value%2 == 0 {
			even[i] = value
			n++
		}
	}
	return even, n
}

// keys is the state with 1 for whatever is there.
func (s linearState) keys() linearState {
	for i := range s {
		s[i] = min(s[i], 1)
	}
	return s
}

// linearModel is a table as one atomic variable. A Replace writes the same
// value under the keys up to its own; a List returns everything.
var linearModel = porcupine.Model{
	Init: func() any { return linearState{} },
	Step: func(state, input, output any) (bool, any) {
		s, in := state.(linearState), input.(linearInput)
		even, n := s.members()
		switch in.kind {
		case linearGet:
			return s[in.key] == output, s
		case linearList:
			return s == output, s
		case linearByIndex:
			return even == output, s
		case linearIndexKeys:
			return even.keys() == output, s
		case linearCount:
			return n == output, s
		case linearPut:
			s[in.key] = in.value
		case linearDelete:
			s[in.key] = 0
		case linearReplace:
			s = replaced(in)
		}
		return true, s
	},
}

func replaced(in linearInput) (s linearState) {
	for i := range in.key + 1 {
		s[i] = in.value
	}
	return s
}

type pairOf struct{ key, value int }

// linearTable has, beside the keys of the model, others that never go and are
// members of the posting: they bring it near a size where it changes shape.
type linearTable struct {
	*Table
	others map[string]any
}

func newLinearTable(others int) linearTable {
	t := linearTable{others: map[string]any{}, Table: New(map[string]IndexFunc{"even": func(obj any) ([]string, error) {
		return []string{strconv.FormatBool(obj.(pairOf).value%2 == 0)}, nil
	}}, Options{})}
	for i := range others {
		t.others["other-"+strconv.Itoa(i)] = pairOf{-1, 0}
	}
	t.Replace(maps.All(t.others), others, "")
	return t
}

// state is what a list says of the keys of the model; an error if one of the
// others is missing.
func (t linearTable) state(objs []any) any {
	var s linearState
	others := 0
	for _, obj := range objs {
		if p := obj.(pairOf); p.key < 0 {
			others++
		} else {
			s[p.key] = p.value
		}
	}
	if others != len(t.others) {
		return fmt.Errorf("%d of %d others", others, len(t.others))
	}
	return s
}

func (t linearTable) call(in linearInput) any {
	key := strconv.Itoa(in.key)
	switch in.kind {
	case linearGet:
		if obj, ok := t.Get(key); ok {
			return obj.(pairOf).value
		}
		return 0
	case linearList:
		return t.state(t.List())
	case linearByIndex:
		objs, _ := t.ByIndex("even", "true")
		return t.state(objs)
	case linearIndexKeys:
		keys, _ := t.IndexKeys("even", "true")
		var objs []any
		for _, key := range keys {
			if i, err := strconv.Atoi(key); err == nil {
				objs = append(objs, pairOf{i, 1})
			} else {
				objs = append(objs, pairOf{-1, 0})
			}
		}
		return t.state(objs)
	case linearCount:
		n, _ := t.Count("even", "true")
		return n - len(t.others)
	case linearPut:
		t.Apply([]Op{{Key: key, Object: pairOf{in.key, in.value}}}, nil)
	case linearDelete:
		t.Apply([]Op{{Key: key, Delete: true}}, nil)
	case linearReplace:
		m := maps.Clone(t.others)
		for i, v := range replaced(in) {
			if v > 0 {
				m[strconv.Itoa(i)] = pairOf{i, v}
			}
		}
		t.Replace(maps.All(m), len(m), "")
	}
	return nil
}

// TestLinearizable records what concurrent callers do and get, and asks
// porcupine for an order in which one atomic table would answer the same.
func TestLinearizable(t *testing.T) {
	const rounds, clients, calls = 8, 4, 40
	jostle(t)
	for _, others := range []int{0, leafLen - 2, leafLen - 1, 2*leafLen - 1} {
		for round := range uint64(rounds) {
			table := newLinearTable(others)
			start := time.Now()
			histories := make([][]porcupine.Operation, clients)
			var wg sync.WaitGroup
			for client := range clients {
				rng := rand.New(rand.NewPCG(round, uint64(client)))
				wg.Go(func() {
					for i := range calls {
						in := linearInput{kind: linearKind(rng.IntN(int(linearKinds))), key: rng.IntN(linearKeys), value: 1 + client*calls + i}
						from := int64(time.Since(start))
						out := table.call(in)
						histories[client] = append(histories[client], porcupine.Operation{
							ClientId: client, Input: in, Output: out, Call: from, Return: int64(time.Since(start)),
						})
					}
				})
			}
			wg.Wait()
			history := slices.Concat(histories...)
			result := porcupine.CheckOperationsTimeout(linearModel, history, time.Minute)
			require.Equal(t, porcupine.Ok, result, "round %d beside %d others", round, others)
		}
	}
}
