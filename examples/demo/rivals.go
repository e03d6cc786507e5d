// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// rival is a child process with an informer of one library, beside those of the others: on the same
// resource, with the same client and handler.
type rival struct {
	library string
	cmd     *exec.Cmd
	input   io.Closer
	ended   chan struct{} // closed when its output has ended

	mu           sync.Mutex
	before, last report
}

// startRivals starts a child for each library. They end when the demo does.
func startRivals(w *world, o options, screen *screen) (rivals []*rival, err error) {
	if !o.compare {
		return nil, nil
	}
	kubeconfig := o.kubeconfig
	if w.server != nil {
		kubeconfig = w.server.Kubeconfig()
	}
	for _, library := range libraries {
		r, err := startRival(library, screen, "-kubeconfig", kubeconfig, "-resource", o.resource)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("start a process with %s: %w", library, err), finishAll(rivals, screen))
		}
		rivals = append(rivals, r)
	}
	screen.line("%s follow the same beside it; of each: lag (of half, and of 99 %%, of the changes), live heap, CPU", strings.Join(libraries, " and "))
	return rivals, nil
}

func startRival(library string, log io.Writer, args ...string) (*rival, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r := &rival{library: library, cmd: exec.Command(program, args...), ended: make(chan struct{})}
	r.cmd.Env = append(os.Environ(), childVariable+"="+library)
	r.cmd.Stderr = log
	if r.input, err = r.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	go r.read(output)
	return r, nil
}

// read takes the child's reports.
func (r *rival) read(output io.Reader) {
	defer close(r.ended)
	for decoder := json.NewDecoder(output); ; {
		var next report
		if decoder.Decode(&next) != nil {
			return
		}
		r.mu.Lock()
		r.before, r.last = r.last, next
		r.mu.Unlock()
	}
}

// now says how the rival does, in a few words.
func (r *rival) now() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last.At == 0 {
		return r.library + " starts"
	}
	cpu := 100 * float64(r.last.CPU-r.before.CPU) / float64(max(1, r.last.At-r.before.At))
	return fmt.Sprintf("%s %s  %s  %.1f %%", r.library, r.last.Lag, inMegabytes(r.last.Heap), cpu)
}

// finish ends the child, and returns its last report.
func (r *rival) finish() (report, error) {
	closed := r.input.Close()
	<-r.ended
	if err := r.cmd.Wait(); err != nil {
		return report{}, fmt.Errorf("the process with %s: %w", r.library, err)
	}
	return r.last, closed
}

// finishAll ends the rivals and says how they did.
func finishAll(rivals []*rival, screen *screen) error {
	var group errgroup.Group
	lines := make([]string, len(rivals))
	for i, r := range rivals {
		group.Go(func() error {
			last, err := r.finish()
			lines[i] = fmt.Sprintf("  %-9s  CPU %.2f s, live heap %s, lag %s",
				r.library, last.CPU.Seconds(), inMegabytes(last.Heap), last.Total)
			return err
		})
	}
	err := group.Wait()
	if err == nil && len(lines) > 0 {
		screen.line("beside each other, each in a process of its own, with the same client, handler and events:\n%s", strings.Join(lines, "\n"))
	}
	return err
}

func inMegabytes(bytes uint64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }
