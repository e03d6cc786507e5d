// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package testrun

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sample is a package of tests that end in every way there is.
const sample = `package sample

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if os.Getenv("LEAK") != "" && code == 0 {
		fmt.Println("found a leak")
		code = 1
	}
	os.Exit(code)
}

func TestPass(t *testing.T) { t.Run("sub", func(t *testing.T) { t.Log("said by sub") }) }
func TestSkip(t *testing.T) { t.Skip("not here") }
func TestFail(t *testing.T) { t.Run("sub", func(t *testing.T) { t.Error("went wrong") }) }
func TestPanic(t *testing.T) { panic("thrown") }
func TestCrash(t *testing.T) {
	go func() { panic("thrown elsewhere") }()
	select {}
}
func TestExit(t *testing.T) { os.Exit(3) }
func TestHang(t *testing.T) { <-make(chan int) }
func TestZLast(t *testing.T) {}
`

// build compiles sample and returns a binary that runs it.
func build(t *testing.T) Binary {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module sample\n\ngo 1.26\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a_test.go"), []byte(sample), 0o644))
	bin := filepath.Join(dir, "sample.test")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", bin, ".")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return Binary{Path: bin, Dir: dir, Timeout: time.Minute}
}

func TestEveryEndHasAResult(t *testing.T) {
	b := build(t)
	var echo bytes.Buffer
	b.Echo = &echo
	tests := []string{"TestPass", "TestSkip", "TestFail", "TestPanic", "TestCrash", "TestExit", "TestZLast"}

	out, err := b.Run(t.Context(), tests)
	require.NoError(t, err)
	require.Len(t, out.Results, len(tests))
	assert.Empty(t, out.Package)

	assert.Equal(t, Passed, out.Results["TestPass"].Status)
	assert.Contains(t, out.Results["TestPass"].Output, "said by sub")
	assert.Equal(t, Skipped, out.Results["TestSkip"].Status)
	assert.Equal(t, Failed, out.Results["TestFail"].Status)
	assert.Equal(t, "failed", out.Results["TestFail"].Reason)
	assert.Contains(t, out.Results["TestFail"].Output, "went wrong")
	assert.Equal(t, Failed, out.Results["TestPanic"].Status)
	assert.Equal(t, Failed, out.Results["TestCrash"].Status)
	assert.Equal(t, "crashed", out.Results["TestCrash"].Reason)
	assert.Contains(t, out.Results["TestCrash"].Output, "thrown elsewhere")
	assert.Equal(t, "crashed", out.Results["TestExit"].Reason)
	assert.Equal(t, Passed, out.Results["TestZLast"].Status, "it runs in spite of the crashes before it")
	assert.Contains(t, echo.String(), "said by sub")
}

func TestAHungTestEndsAtTheTimeout(t *testing.T) {
	b := build(t)
	b.Timeout = 5 * time.Second // its other tests take nothing

	out, err := b.Run(t.Context(), []string{"TestHang", "TestZLast"})
	require.NoError(t, err)
	assert.Equal(t, Failed, out.Results["TestHang"].Status)
	assert.Contains(t, out.Results["TestHang"].Output, "panic: test timed out")
	assert.Equal(t, "did not end", out.Results["TestHang"].Reason)
	assert.Equal(t, Passed, out.Results["TestZLast"].Status)
}

func TestAFailureAfterTheTestsBelongsToThePackage(t *testing.T) {
	b := build(t)
	t.Setenv("LEAK", "1")

	out, err := b.Run(t.Context(), []string{"TestPass"})
	require.NoError(t, err)
	assert.Equal(t, Passed, out.Results["TestPass"].Status)
	assert.Contains(t, out.Package, "found a leak")
}

func TestATestThatIsNotThereNeverStarts(t *testing.T) {
	out, err := build(t).Run(t.Context(), []string{"TestAbsent"})
	require.NoError(t, err)
	assert.Equal(t, "never started", out.Results["TestAbsent"].Reason)
}

func TestCancellingEndsTheRun(t *testing.T) {
	b := build(t)
	ctx, cancel := context.WithCancel(t.Context())
	b.Echo = writerFunc(func([]byte) { cancel() }) // the test says that it begins

	_, err := b.Run(ctx, []string{"TestHang"})
	assert.ErrorIs(t, err, context.Canceled)
}

func TestABinaryThatIsNotThereIsAnError(t *testing.T) {
	b := Binary{Path: filepath.Join(t.TempDir(), "absent"), Timeout: time.Minute}
	_, err := b.Run(t.Context(), []string{"TestPass"})
	require.ErrorContains(t, err, "absent")
}

func TestThePatternMatchesWholeNames(t *testing.T) {
	re := regexp.MustCompile(Pattern([]string{"TestA", "TestB.x"}))
	assert.True(t, re.MatchString("TestA"))
	assert.False(t, re.MatchString("TestAB"))
	assert.False(t, re.MatchString("TestBxx"))
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}
