// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// The status is renewed this often, in place on a terminal and as a line of its own elsewhere.
const (
	terminalPeriod = 200 * time.Millisecond
	linePeriod     = time.Second
)

// clearLine goes to the start of the line and erases it.
const clearLine = "\r\x1b[K"

// screen prints lines, and on a terminal one status line below them that is renewed in place.
type screen struct {
	terminal bool
	width    func() int // columns of the terminal, 0 for unknown

	mu     sync.Mutex
	out    io.Writer
	status string
}

func newScreen(out *os.File) *screen {
	fd := int(out.Fd())
	columns := func() int {
		width, _, err := term.GetSize(fd)
		if err != nil {
			return 0
		}
		return width
	}
	return &screen{out: out, terminal: term.IsTerminal(fd), width: columns}
}

// line prints a line above the status.
func (s *screen) line(format string, args ...any) {
	fmt.Fprintf(s, format+"\n", args...)
}

// Write prints whole lines above the status.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := append(bytes.TrimRight(p, "\n"), '\n')
	if s.status != "" {
		text = append([]byte(clearLine), append(text, s.status...)...)
	}
	_, err := s.out.Write(text)
	return len(p), err
}

// setStatus renews the status line, or prints it where there is no terminal.
func (s *screen) setStatus(text string) {
	if !s.terminal {
		s.line("%s", text)
		return
	}
	// A line that wraps could not be renewed in place.
	if width := s.width(); width > 0 && len(text) >= width {
		text = text[:width-1]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprint(s.out, clearLine+text)
	s.status = text
}

// endStatus leaves the last status where it is.
func (s *screen) endStatus() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status != "" {
		fmt.Fprintln(s.out)
		s.status = ""
	}
}

// show prints how the follower and its rivals do until done is closed.
func (s *screen) show(done <-chan struct{}, f *follower, rivals []*rival) {
	defer s.endStatus()
	period := linePeriod
	if s.terminal {
		period = terminalPeriod
	}
	tick := time.NewTicker(period)
	defer tick.Stop()
	begin, rate := time.Now(), &rate{}
	for {
		select {
		case now := <-tick.C:
			s.setStatus(statusLine(now.Sub(begin), f, rate.per(now, f.events.Load()), rivals))
		case <-done:
			return
		}
	}
}

// statusLine is what changes from second to second. Lags and heaps are those of the rivals: the
// process of the follower also writes the objects.
func statusLine(elapsed time.Duration, f *follower, perSecond float64, rivals []*rival) string {
	status := f.status()
	synced := "syncing"
	if status.Synced {
		synced = "synced"
	}
	text := fmt.Sprintf("%5.1fs  %s  %s  objects %d  events/s %.0f", elapsed.Seconds(), synced, status.Phase, status.Objects, perSecond)
	for _, r := range rivals {
		text += "  | " + r.now()
	}
	if len(rivals) == 0 {
		text += fmt.Sprintf("  lag %s  heap %s", f.lags.total(), inMegabytes(liveHeap()))
	}
	return text
}

// rate turns a growing count into events a second, over the last second or so.
type rate struct {
	since time.Time
	from  int64
	last  float64
}

func (r *rate) per(now time.Time, count int64) float64 {
	if r.since.IsZero() {
		r.since, r.from = now, count
		return 0
	}
	if elapsed := now.Sub(r.since); elapsed >= linePeriod*9/10 {
		r.last = float64(count-r.from) / elapsed.Seconds()
		r.since, r.from = now, count
	}
	return r.last
}
