// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// sealed are the rooms that count as one file each: their doc.go, or the file itself, is all that a
// reader of the way needs.
var sealed = []string{"internal/table", "internal/eventlog"}

// way is what one event executes beyond what an idle informer does.
type way struct {
	files     []string // by path in the module; a sealed room is one
	functions int      // outside of the sealed rooms
}

// measureWay builds the command in walls/way with coverage, runs it, and subtracts one of its
// profiles from the other.
func measureWay() (*way, error) {
	work, err := os.MkdirTemp("", "walls")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	program, idle, event, rest := filepath.Join(work, "way"), filepath.Join(work, "idle"), filepath.Join(work, "event"), filepath.Join(work, "rest")
	for _, out := range []string{idle, event, rest} {
		if err := os.Mkdir(out, 0o755); err != nil {
			return nil, err
		}
	}
	covered := strings.Join([]string{module, module + "/internal/...", module + "/tools/walls/way"}, ",") // the last one for its main function
	var said []byte
	for _, args := range [][]string{
		{"go", "build", "-cover", "-covermode=atomic", "-coverpkg=" + covered, "-o", program, "./walls/way"},
		{program, idle, event},
		{"go", "tool", "covdata", "subtract", "-i=" + event + "," + idle, "-o=" + rest},
		{"go", "tool", "covdata", "func", "-i=" + rest},
	} {
		if said, err = command(args[0], args[1:]...); err != nil {
			return nil, err
		}
	}
	return wayOf(string(said)), nil
}

// wayOf counts files and functions in a list of FILE:LINE: FUNCTION PERCENT.
func wayOf(functions string) *way {
	w, files := &way{}, map[string]bool{}
	for line := range strings.Lines(functions) {
		fields := strings.Fields(line)
		file, ours := strings.CutPrefix(line, module+"/")
		if !ours || fields[len(fields)-1] == "0.0%" || strings.HasPrefix(file, "tools/") {
			continue
		}
		file, _, _ = strings.Cut(file, ":")
		files[sealedName(file)] = true
		if sealedName(file) == file {
			w.functions++
		}
	}
	w.files = slices.Sorted(maps.Keys(files))
	return w
}

func sealedName(file string) string {
	for _, room := range sealed {
		if strings.HasPrefix(file, room+"/") {
			return room
		}
	}
	return file
}

func (w *way) print(out io.Writer, names bool) {
	fmt.Fprintf(out, "\nWay of one MODIFIED event: %d files (%s count as one each), %d functions in the others\n",
		len(w.files), strings.Join(sealed, " and "), w.functions)
	if names {
		for _, file := range w.files {
			fmt.Fprintln(out, " ", file)
		}
	}
}

// command runs a program and returns what it prints; its errors have what it said.
func command(name string, args ...string) ([]byte, error) {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
	return out, nil
}
