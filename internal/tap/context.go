// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"context"
	"net/http"
)

type contextKey struct{}

// into returns a context that brings t to the transport.
func into(ctx context.Context, t *Tap) context.Context {
	return context.WithValue(ctx, contextKey{}, t)
}

// From returns the tap of a request, nil if there is none.
func From(ctx context.Context) *Tap {
	t, _ := ctx.Value(contextKey{}).(*Tap)
	return t
}

// Hidden returns the request without its tap, for the transports below: of several of ours the
// outermost has it.
func Hidden(req *http.Request) *http.Request {
	return req.WithContext(into(req.Context(), nil))
}
