// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package interleave

import (
	"fmt"
	"path"
	"runtime"
	"strings"
)

// story is what the threads of a schedule do, a line for each time that one of them goes on.
type story struct {
	text strings.Builder
	from int
}

func (s *story) String() string { return s.text.String() }

// enters notes that the current thread goes on.
func (s *story) enters(r *run) {
	if s != nil {
		s.from = r.step
	}
}

// leaves notes that it does not, and where it is.
func (s *story) leaves(r *run, why string) {
	if s == nil {
		return
	}
	t := r.current
	fmt.Fprintf(&s.text, "\t%s (thread %d), from step %d: %s at step %d", t.Name, t.id, s.from, why, r.step)
	if !t.ended {
		s.text.WriteString(where())
	}
	s.text.WriteByte('\n')
}

// where names the operation that is about to happen, and who called for it.
func where() string {
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	var at []string
	for f, more := frames.Next(); more && len(at) < 3; f, more = frames.Next() {
		of := path.Base(f.Function)
		switch pkg, _, _ := strings.Cut(of, "."); pkg {
		case "interleave", "atomic", "sync", "runtime":
			continue
		}
		at = append(at, fmt.Sprintf("%s (%s:%d)", of, path.Base(f.File), f.Line))
	}
	return ", before " + strings.Join(at, " < ")
}
