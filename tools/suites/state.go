// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// state is a file of results, which grows by one line with each.
type state struct {
	path    string
	code    string   // of what is tested now
	results []result // of this code, when the file was opened
}

// openState reads the results of code from a file that may not be there yet. Those of other code
// stay in it, but do not count.
func openState(path, code string) (*state, error) {
	s := &state{path: path, code: code}
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("results so far: %w", err)
	}
	for line := range bytes.Lines(content) {
		var one result
		if err := json.Unmarshal(line, &one); err != nil {
			return nil, fmt.Errorf("%s: %w; remove it to begin anew", path, err)
		}
		if one.Code == code {
			s.results = append(s.results, one)
		}
	}
	return s, nil
}

// keep adds a result to the file and returns it with the code that it is about.
func (s *state) keep(one result) (result, error) {
	one.Code = s.code
	line, err := json.Marshal(one)
	if err != nil {
		return one, fmt.Errorf("keep a result: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o755); err != nil {
		return one, fmt.Errorf("keep a result: %w", err)
	}
	file, err := os.OpenFile(s.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return one, fmt.Errorf("keep a result: %w", err)
	}
	_, err = file.Write(append(line, '\n'))
	return one, errors.Join(err, file.Close())
}

// codeID tells one state of the tracked files from another; empty if git does not know.
func codeID() string {
	all := sha256.New()
	for _, args := range [][]string{{"rev-parse", "HEAD"}, {"diff", "HEAD"}} {
		out, err := exec.Command("git", args...).Output()
		if err != nil {
			return ""
		}
		all.Write(out) // never fails
	}
	return fmt.Sprintf("%x", all.Sum(nil)[:8])
}
