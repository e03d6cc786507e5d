// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// lineWriter serializes writes and passes whole lines on, one a Write; the part
// after the last line break waits for more. It never fails: a log that cannot
// be written must not stop the server that writes it.
type lineWriter struct {
	mu   sync.Mutex
	w    io.Writer
	rest []byte
}

// Write implements io.Writer.
func (l *lineWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	for {
		end := bytes.IndexByte(l.rest, '\n')
		if end < 0 {
			return len(p), nil
		}
		fmt.Fprintf(l.w, "%s", l.rest[:end+1])
		l.rest = l.rest[end+1:]
	}
}
