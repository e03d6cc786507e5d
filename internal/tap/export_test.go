// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import "github.com/kinformer/cache/internal/decode"

// SharedTexts returns the table of the process, nil if there is none.
func SharedTexts() *decode.Intern {
	texts.Lock()
	defer texts.Unlock()
	return texts.weak.Value()
}

// SharedParts is SharedTexts for parts.
func SharedParts() *decode.Parts {
	parts.Lock()
	defer parts.Unlock()
	return parts.weak.Value()
}
