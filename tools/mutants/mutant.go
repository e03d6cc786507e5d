// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// pkg is the package under test, below the root module.
const pkg = "internal/table"

// mutant is a patch. Its first line says what it breaks, its second one which tests are to notice.
type mutant struct {
	name, wrong, tests string
	patch              string // absolute path
}

func readMutants(root string) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(root, pkg, "testdata/mutants/*.patch"))
	if err == nil && len(files) == 0 {
		err = errors.New("no patches")
	}
	var mutants []mutant
	for _, file := range files {
		m, readErr := readMutant(file)
		mutants, err = append(mutants, m), errors.Join(err, readErr)
	}
	return mutants, err
}

func readMutant(file string) (m mutant, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return m, err
	}
	m.name = strings.TrimSuffix(filepath.Base(file), ".patch")
	if m.patch, err = filepath.Abs(file); err != nil {
		return m, err
	}
	var rest string
	m.wrong, rest, _ = strings.Cut(string(text), "\n")
	tests, _, _ := strings.Cut(rest, "\n")
	m.tests, _ = strings.CutPrefix(tests, "Tests: ")
	if m.wrong == "" || m.tests == "" || m.tests == tests {
		return m, fmt.Errorf("%s: the first line must say what is wrong, the second one \"Tests: \" and a regexp", file)
	}
	return m, nil
}

// kill runs the tests of a mutant until one of them fails, which it returns, and how long they ran.
func (m mutant) kill(ctx context.Context, root string, patience time.Duration) (killer string, after time.Duration, err error) {
	c, err := newCopy(root)
	if err != nil {
		return "", 0, err
	}
	defer c.remove()
	if err := c.apply(ctx, m.patch); err != nil {
		return "", 0, err
	}
	if err := c.build(ctx); err != nil {
		return "", 0, err
	}
	began := time.Now()
	for killer == "" && time.Since(began) < patience && ctx.Err() == nil {
		killer, _ = c.test(ctx, m.tests, patience)
	}
	return killer, time.Since(began), ctx.Err()
}
