// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"net/http"
	"strings"

	"github.com/kinformer/cache/internal/tap"
)

// dropParameter is the parameter of a media type in an Accept header by which a client asks the server to
// leave out managed fields (KEP-5958). Servers that do not know it ignore it. A client of client-go that
// sends it, because of rest.Config.DropManagedFields, also removes the fields itself.
const dropParameter = "drop=metadata.managedFields"

var managedFields = tap.NewDrop(true)

// dropsManagedFields reports whether the client removes managed fields from what it decodes.
func dropsManagedFields(req *http.Request) bool {
	return strings.Contains(accepted(req), dropParameter)
}

// askToDrop makes the request ask the server to leave out managed fields. The header of the request is
// replaced, not changed.
func askToDrop(req *http.Request) {
	accept := accepted(req)
	if accept == "" || strings.Contains(accept, dropParameter) {
		return
	}
	types := strings.Split(accept, ",")
	for i := range types {
		types[i] += "; " + dropParameter
	}
	req.Header = req.Header.Clone()
	req.Header.Set("Accept", strings.Join(types, ","))
}

// accepted returns the media types that the request accepts, separated by commas.
func accepted(req *http.Request) string { return strings.Join(req.Header.Values("Accept"), ",") }
