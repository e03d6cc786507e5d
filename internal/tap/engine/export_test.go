// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import "github.com/kinformer/cache/internal/decode"

// SharedTexts returns the table of strings of the process, or nil.
func SharedTexts() *decode.Intern {
	texts.Lock()
	defer texts.Unlock()
	return texts.weak.Value()
}

// SharedParts returns the table of parts of the process, or nil.
func SharedParts() *decode.Parts {
	parts.Lock()
	defer parts.Unlock()
	return parts.weak.Value()
}
