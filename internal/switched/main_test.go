// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package switched

import (
	"testing"

	"github.com/kinformer/cache/internal/testkit"
)

func TestMain(m *testing.M) { testkit.RunTests(m) }
