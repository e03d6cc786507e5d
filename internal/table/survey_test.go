// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// surveyed returns a table of n objects with this number of values in an index.
func surveyed(n, values int) *Table {
	table := New(map[string]IndexFunc{
		"value": func(obj any) ([]string, error) { return []string{strconv.Itoa(obj.(int) % values)}, nil },
		"two": func(obj any) ([]string, error) {
			return []string{"all", strconv.Itoa(obj.(int) % 2)}, nil
		},
		"fails": func(obj any) ([]string, error) {
			if obj.(int)%10 == 0 {
				return nil, errors.New("no")
			}
			return nil, nil
		},
	}, Options{OnIndexFailures: func([]IndexFailure) {}})
	var ops []Op
	for i := range n {
		ops = append(ops, Op{Key: fmt.Sprintf("key-%06d", i), Object: i})
	}
	table.Apply(ops, nil)
	return table
}

func indexesOf(s Survey) map[string]IndexSurvey {
	all := map[string]IndexSurvey{}
	for _, ix := range s.Indexes {
		all[ix.Name] = ix
	}
	return all
}

func TestSurvey(t *testing.T) {
	table := surveyed(200, 7)
	all := indexesOf(table.Survey())
	require.Len(t, all, 3)
	assert.Equal(t, 7, all["value"].Values)
	assert.Equal(t, 200, all["value"].Members)
	assert.Equal(t, 3, all["two"].Values)
	assert.Equal(t, 400, all["two"].Members)
	assert.Equal(t, 0, all["fails"].Values)
	assert.Equal(t, 20, all["fails"].Lacking)
	assert.EqualValues(t, 20, all["fails"].Failures)
	assert.Greater(t, all["two"].Bytes, all["fails"].Bytes)
	assert.Positive(t, table.Survey().Bytes)

	// versions kept for a snapshot do not count
	snapshot := table.Snapshot()
	defer snapshot.Close()
	for i := range 200 {
		if i%7 == 3 {
			del(table, fmt.Sprintf("key-%06d", i))
		}
	}
	all = indexesOf(table.Survey())
	assert.Equal(t, 6, all["value"].Values)
	assert.Equal(t, 171, all["value"].Members)

	require.NoError(t, table.AddIndexers(map[string]IndexFunc{"late": func(any) ([]string, error) { return []string{"one"}, nil }}))
	assert.Equal(t, 171, indexesOf(table.Survey())["late"].Members)
	table.Replace(func(func(string, any) bool) {}, 0, "1")
	assert.Equal(t, 0, indexesOf(table.Survey())["value"].Members)
}

// TestSurveyOfManyValues checks that an estimate is close and examines few values.
func TestSurveyOfManyValues(t *testing.T) {
	for _, values := range []int{300, 1000, 10_000} {
		all := indexesOf(surveyed(10_000, values).Survey())
		assert.InEpsilon(t, values, all["value"].Values, 0.25)
		assert.InEpsilon(t, 10_000, all["value"].Members, 0.25)
		assert.Equal(t, 20_000, all["two"].Members)
	}
}

// TestSurveyOfMemory checks that the memory of an index is about what it takes, however many values an object has.
func TestSurveyOfMemory(t *testing.T) {
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // empties pools
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	for _, values := range []int{1, 2, 3, 10} {
		table := surveyed(20_000, 7)
		before := heap()
		require.NoError(t, table.AddIndexers(map[string]IndexFunc{"late": func(obj any) (of []string, err error) {
			for i := range values {
				of = append(of, strconv.Itoa((obj.(int)+i)%50))
			}
			return of, nil
		}}))
		took, says := heap()-before, indexesOf(table.Survey())["late"].Bytes
		t.Logf("%d values: %d bytes, %d by the survey", values, took, says)
		assert.InDelta(t, 1, float64(says)/float64(took), 0.4, "%d values", values)
		runtime.KeepAlive(table)
	}
}

func TestSample(t *testing.T) {
	for _, n := range []int{0, 1, 2, 63, 64} {
		objects, keys := surveyed(n, 7).Sample(64)
		assert.Len(t, objects, n)
		assert.Equal(t, n*len("key-000000"), keys)
	}
	for _, n := range []int{65, 127, 128, 129, 1000, 2049, 10_000} {
		objects, keys := surveyed(n, 7).Sample(64)
		assert.InDelta(t, 62, len(objects), 2, n)
		assert.Equal(t, len(objects)*len("key-000000"), keys)
		seen := map[any]bool{}
		largest := 0
		for _, obj := range objects {
			seen[obj], largest = true, max(largest, obj.(int))
		}
		assert.Len(t, seen, len(objects), "each at most once")
		assert.Greater(t, largest, n/2, "from all over")
	}
	objects, _ := surveyed(1000, 7).Sample(0)
	assert.Empty(t, objects)
	table := surveyed(10_000, 7)
	var ops []Op
	for i := range 10_000 {
		if i%1000 != 17 {
			ops = append(ops, Op{Key: fmt.Sprintf("key-%06d", i), Delete: true})
		}
	}
	table.Apply(ops, nil)
	objects, _ = table.Sample(64)
	assert.NotEmpty(t, objects, "most objects were deleted")
	for _, obj := range objects {
		assert.Equal(t, 17, obj.(int)%1000)
	}
}

// TestSurveyBesideAWriter checks that exact figures are those of one state, and that no
// half-written state is seen.
func TestSurveyBesideAWriter(t *testing.T) {
	table := surveyed(200, 7)
	var group sync.WaitGroup
	var stop atomic.Bool
	group.Go(func() {
		for i := 0; !stop.Load(); i++ {
			// each batch removes one member and adds another one with another value
			gone, come := i%200, 200+i%200
			if i/200%2 == 1 {
				gone, come = come, gone
			}
			table.Apply([]Op{
				{Key: fmt.Sprintf("key-%06d", gone), Delete: true},
				{Key: fmt.Sprintf("key-%06d", come), Object: come},
			}, nil)
		}
	})
	for range 500 {
		all := indexesOf(table.Survey())
		assert.Equal(t, 7, all["value"].Values)
		assert.Equal(t, 200, all["value"].Members)
		objects, _ := table.Sample(64)
		for _, obj := range objects {
			assert.Less(t, obj.(int), 400)
		}
	}
	stop.Store(true)
	group.Wait()
}
