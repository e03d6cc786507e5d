// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer

import (
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/door"
)

// Relist makes an informer or controller of package cache request the whole state again, for when
// the cache is in doubt. It takes what inspect.StatusOf takes. Reads are served from the cache until
// the answer is complete. Then handlers are called, in order, for what is different, including
// objects with other content under the cached version. No handler is called for an object with the
// cached content and UID under the cached resourceVersion, unless that is empty. The open watch ends.
// The request, a list or a watch-list, follows after the usual pause between two such requests, which
// is a second at first.
//
// It may be called at any time, also from handlers, and returns at once. The request always begins
// after the call; several calls before it begins lead to one request. inspect.Inspection.Relists
// counts it under "asked". Before Run the call has no effect, because the first request is still to
// come.
//
// The state is not older than the cached one, unless the server says that it does not know the
// cached version.
//
// The error is inspect.ErrForeign for informers of other packages, and another one for an informer
// that has stopped.
func Relist(informer inspect.Syncer) error {
	own := door.Of(informer)
	if own == nil {
		return inspect.ErrForeign
	}
	return own.Relist()
}
