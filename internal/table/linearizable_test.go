// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"maps"
	"math/rand/v2"
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
)

// linearInput is one call; value is what it writes.
type linearInput struct {
	kind  linearKind
	key   int
	value int
}

// linearState is the content of the table: 0 is nothing.
type linearState [linearKeys]int

// linearModel is a table as one atomic variable. A Replace writes the same
// value under the keys up to its own; a List returns everything.
var linearModel = porcupine.Model{
	Init: func() any { return linearState{} },
	Step: func(state, input, output any) (bool, any) {
		s, in := state.(linearState), input.(linearInput)
		switch in.kind {
		case linearGet:
			return s[in.key] == output.(int), s
		case linearList:
			return s == output.(linearState), s
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

func call(table *Table, in linearInput) any {
	key := strconv.Itoa(in.key)
	switch in.kind {
	case linearGet:
		obj, ok := table.Get(key)
		if !ok {
			return 0
		}
		return obj.(pairOf).value
	case linearList:
		var s linearState
		for _, obj := range table.List() {
			s[obj.(pairOf).key] = obj.(pairOf).value
		}
		return s
	case linearPut:
		table.Apply([]Op{{Key: key, Object: pairOf{in.key, in.value}}}, nil)
	case linearDelete:
		table.Apply([]Op{{Key: key, Delete: true}}, nil)
	case linearReplace:
		m := map[string]any{}
		for i, v := range replaced(in) {
			if v > 0 {
				m[strconv.Itoa(i)] = pairOf{i, v}
			}
		}
		table.Replace(maps.All(m), len(m), "")
	}
	return nil
}

// TestLinearizable records what concurrent callers do and get, and asks
// porcupine for an order in which one atomic table would answer the same.
func TestLinearizable(t *testing.T) {
	const rounds, clients, calls = 20, 4, 40
	for round := range uint64(rounds) {
		table := New(map[string]IndexFunc{}, Options{})
		start := time.Now()
		histories := make([][]porcupine.Operation, clients)
		var wg sync.WaitGroup
		for client := range clients {
			rng := rand.New(rand.NewPCG(round, uint64(client)))
			wg.Go(func() {
				for i := range calls {
					in := linearInput{kind: linearKind(rng.IntN(5)), key: rng.IntN(linearKeys), value: 1 + client*calls + i}
					from := int64(time.Since(start))
					out := call(table, in)
					histories[client] = append(histories[client], porcupine.Operation{
						ClientId: client, Input: in, Output: out, Call: from, Return: int64(time.Since(start)),
					})
				}
			})
		}
		wg.Wait()
		var history []porcupine.Operation
		for _, h := range histories {
			history = append(history, h...)
		}
		require.True(t, porcupine.CheckOperations(linearModel, history), "round %d", round)
	}
}
