// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package follow is what tests against an API server share: resources that can be written and read
// through several kinds of client, a source that observes what an informer asks for, and a gate that
// refuses requests in place of the server. It serves client-go's informers as well as ours.
package follow
