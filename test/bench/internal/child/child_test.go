// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMain also runs the child, which returns its config, adds up its arguments, and may exit.
func TestMain(m *testing.M) {
	is, err := Main(context.Background(), map[string]func(context.Context, []byte, io.Reader, io.Writer) error{"adder": adder})
	if !is {
		os.Exit(m.Run())
	}
	if err != nil {
		os.Exit(1)
	}
}

func adder(ctx context.Context, config []byte, in io.Reader, out io.Writer) error {
	sum := 0
	return Serve(ctx, in, out, json.RawMessage(config), map[string]Command{
		"add":  With(func(_ context.Context, n int) (int, error) { sum += n; return sum, nil }),
		"fail": With(func(context.Context, any) (any, error) { return nil, errors.New("as asked for") }),
		"end":  Do(func(int) { fmt.Fprintln(os.Stderr, "ends"); os.Exit(3) }),
	})
}

func TestCalls(t *testing.T) {
	var hello []string
	p, err := Start(t.Context(), "adder", []string{"like", "this"}, &hello, os.Stderr)
	require.NoError(t, err)
	assert.Equal(t, []string{"like", "this"}, hello)
	var sum int
	require.NoError(t, p.Call(t.Context(), "add", 2, nil))
	require.NoError(t, p.Call(t.Context(), "add", 3, &sum))
	assert.Equal(t, 5, sum)
	assert.ErrorContains(t, p.Call(t.Context(), "fail", nil, nil), "adder: fail: as asked for")
	assert.ErrorContains(t, p.Call(t.Context(), "nothing", nil, nil), "no command")
	assert.Error(t, p.Call(t.Context(), "add", 1, &hello), "a number is no list")
	given, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, p.await(given, "nothing", nil), context.Canceled)
	assert.NoError(t, p.Stop())
}

func TestEndOfChildIsNoticed(t *testing.T) {
	var complaints bytes.Buffer
	p, err := Start(t.Context(), "adder", nil, nil, &complaints)
	require.NoError(t, err)
	assert.NoError(t, p.Ended())
	assert.ErrorIs(t, p.Call(t.Context(), "end", nil, nil), ErrEnded)
	assert.ErrorIs(t, p.Ended(), ErrEnded)
	assert.ErrorContains(t, p.Stop(), "exit status 3")
	assert.Equal(t, "ends\n", complaints.String())
}
