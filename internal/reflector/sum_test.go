// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestHistoryAdd: counts are summed, and of lists the latest elements of both are kept, ordered by
// time.
func TestHistoryAdd(t *testing.T) {
	began := time.Unix(1000, 0)
	var a, b History
	for i := range 2 * maxPast {
		of, at := &a, began.Add(time.Duration(i)*time.Second)
		if i%2 == 1 {
			of = &b
		}
		of.noteRequest(Past{Kind: KindWatch, Took: time.Second, Objects: 1, Reason: "closed", Failed: i == 1}, at)
		of.noteError(strconv.Itoa(i), at)
		count(&of.Relists, "expired", 1)
		count(&of.Drops, "type", 1)
	}
	a.Unopened, b.Unopened = 1, 2
	b.FailingSince, b.Events, b.ListBytes, b.WatchBytes = began, 1, 2, 3
	b.Outages = []Outage{{Began: began, Length: time.Second}}
	a.Add(&b)
	assert.Equal(t, Requests{Ended: 64, Failed: 1, Total: 64 * time.Second, Longest: time.Second, Last: time.Second, Objects: 64}, a.Watches)
	assert.Equal(t, map[string]int64{"closed": 64}, a.WatchEnds)
	assert.Equal(t, map[string]int64{"expired": 64}, a.Relists)
	assert.Equal(t, map[string]int64{"type": 64}, a.Drops)
	assert.EqualValues(t, 3, a.Unopened)
	assert.Equal(t, []int64{1, 2, 3}, []int64{a.Events, a.ListBytes, a.WatchBytes})
	assert.Equal(t, began, a.FailingSince)
	assert.Equal(t, b.Outages, a.Outages)
	assert.Len(t, a.Past, maxPast)
	assert.Len(t, a.Errors, maxErrors)
	for i, e := range a.Errors {
		assert.Equal(t, strconv.Itoa(maxErrors+i), e.Text)
	}
	a.Add(&History{FailingSince: began.Add(time.Hour)})
	assert.Equal(t, began, a.FailingSince, "for longer")
}

// TestLastingOutages: of the outages of several reflectors, the longest that goes on is the last one, whatever the
// order of the reflectors, and more of them do not replace it.
func TestLastingOutages(t *testing.T) {
	now := time.Unix(10000, 0)
	lasting := func(length time.Duration) History {
		return History{Outages: []Outage{{Began: now.Add(-length), Length: length}}}
	}
	var all History
	over, longest := lasting(2*time.Hour), lasting(time.Hour)
	over.Outages[0].Over = true
	all.Add(&longest)
	for i := range maxOutages {
		short := lasting(time.Duration(i) * time.Second)
		all.Add(&short)
	}
	all.Add(&over)
	assert.Len(t, all.Outages, maxOutages)
	assert.Equal(t, longest.Outages[0], all.Outages[maxOutages-1])
	assert.NotContains(t, all.Outages, over.Outages[0])
}

// TestEndIsLast: nothing that a reflector does after the end is recorded.
func TestEndIsLast(t *testing.T) {
	j := NewJournal()
	j.enter(Watching)
	j.End()
	j.enter(BackingOff)
	assert.Equal(t, Stopped, j.Status().Phase)
}

// TestAbsorb: a journal takes over the counts of another one, but not its errors.
func TestAbsorb(t *testing.T) {
	over, j := NewJournal(), NewJournal()
	over.write(func(p *journalState) {
		p.Status.Lists, p.Status.Watches, p.Left, p.Reconnects = 1, 2, 3, 4
		p.Outages, p.FailingSince = []Outage{{Began: time.Unix(1000, 0)}}, time.Unix(1000, 0)
	})
	for range 2 {
		j.Absorb(over)
	}
	s := j.Status()
	assert.Equal(t, []int64{2, 4, 6, 8}, []int64{s.Lists, s.Watches, s.Left, s.Reconnects})
	assert.False(t, s.Outage.GoesOn())
	assert.Zero(t, s.FailingFor)
}
