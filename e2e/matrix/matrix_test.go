// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package matrix_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/kinformer/cache/e2e/apiserver"
	"github.com/kinformer/cache/e2e/matrix"
	"github.com/kinformer/cache/e2e/transport"
)

// patience bounds every wait. It is far longer than any wait takes.
const patience = 30 * time.Minute

// TestMatrix compares a subset of combinations with all pairs of values, or all combinations.
func TestMatrix(t *testing.T) {
	cases := matrix.Chosen(matrix.All(matrix.Clients()...))
	t.Logf("%d combinations", len(cases))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	matrix.Compare(t, ctx, cases, apiserver.Options{})
	assert.NoError(t, transport.Verify())
}

// TestChosen checks that a small subset contains every pair of values of all combinations.
func TestChosen(t *testing.T) {
	t.Setenv(matrix.WholeEnv, "")
	all := matrix.All(matrix.Clients()...)
	some := matrix.Chosen(all)
	assert.Less(t, len(some), len(all)/4)
	assert.Equal(t, pairsOf(all), pairsOf(some))
}

// pairsOf returns the pairs of values in cases.
func pairsOf(cases []matrix.Case) map[string]bool {
	pairs := map[string]bool{}
	for _, c := range cases {
		values := []any{c.Client.Name, c.Encoding, c.Mode, c.HTTP2, c.Gzip, c.Share}
		for i := range values {
			for j := range i {
				pairs[fmt.Sprint(i, values[i], j, values[j])] = true
			}
		}
	}
	return pairs
}
