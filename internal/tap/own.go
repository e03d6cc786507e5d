// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

// ownDecoders makes the decoders of this library. There are none yet, so sources have no taps.
var ownDecoders Maker
