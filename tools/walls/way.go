// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
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

// measureWay builds the command in walls/way with coverage, runs it, and compares its two profiles.
func measureWay(dir string) (*way, error) {
	work, err := os.MkdirTemp("", "walls")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	program, idle, event := filepath.Join(work, "way"), filepath.Join(work, "idle"), filepath.Join(work, "event")
	covered := strings.Join([]string{module, module + "/internal/...", module + "/tools/walls/way"}, ",") // the last one for its main function
	if _, err := command("go", "build", "-cover", "-covermode=atomic", "-coverpkg="+covered, "-o", program, "./walls/way"); err != nil {
		return nil, err
	}
	for _, out := range []string{idle, event} {
		if err := os.Mkdir(out, 0o755); err != nil {
			return nil, err
		}
	}
	if _, err := command(program, idle, event); err != nil {
		return nil, err
	}
	return compare(dir, idle, event)
}

func compare(dir, idle, event string) (*way, error) {
	before, err := blocks(idle)
	if err != nil {
		return nil, err
	}
	after, err := blocks(event)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(after, func(block string, _ bool) bool {
		return before[block] || strings.HasPrefix(block, module+"/tools/")
	})
	return wayOf(dir, after)
}

// blocks returns the blocks that a profile has executed, as FILE:LINE.COLUMN,LINE.COLUMN.
func blocks(profile string) (map[string]bool, error) {
	text := profile + ".txt"
	if _, err := command("go", "tool", "covdata", "textfmt", "-i="+profile, "-o="+text); err != nil {
		return nil, err
	}
	content, err := os.ReadFile(text)
	if err != nil {
		return nil, err
	}
	executed := map[string]bool{}
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[2] != "0" {
			executed[fields[0]] = true
		}
	}
	return executed, nil
}

// wayOf counts files and functions of the blocks.
func wayOf(dir string, executed map[string]bool) (*way, error) {
	lines := map[string]map[int]bool{} // file → first lines of blocks
	for block := range executed {
		file, at, _ := strings.Cut(strings.TrimPrefix(block, module+"/"), ":")
		first, _, _ := strings.Cut(at, ".")
		line, err := strconv.Atoi(first)
		if err != nil {
			return nil, fmt.Errorf("coverage block %q: %w", block, err)
		}
		if lines[file] == nil {
			lines[file] = map[int]bool{}
		}
		lines[file][line] = true
	}
	w, files := &way{}, map[string]bool{}
	for file, at := range lines {
		name := sealedName(file)
		files[name] = true
		if name != file {
			continue
		}
		n, err := functionsAt(filepath.Join(dir, file), at)
		if err != nil {
			return nil, err
		}
		w.functions += n
	}
	w.files = slices.Sorted(maps.Keys(files))
	return w, nil
}

func sealedName(file string) string {
	for _, room := range sealed {
		if strings.HasPrefix(file, room+"/") {
			return room
		}
	}
	return file
}

// functionsAt counts the functions of a file in which blocks begin. Functions of this project begin
// with func at the beginning of a line, as gofmt writes them.
func functionsAt(path string, blocks map[int]bool) (n int, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	counted, number := true, 0
	scanner := bufio.NewScanner(bytes.NewReader(content))
	for scanner.Scan() {
		number++
		if strings.HasPrefix(scanner.Text(), "func ") {
			counted = false
		}
		if blocks[number] && !counted {
			counted = true
			n++
		}
	}
	return n, scanner.Err()
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
