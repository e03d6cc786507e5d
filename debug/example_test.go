// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package debug_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/kinformer/cache/debug"
)

// The page, on a server that only operators can reach.
func ExampleHandler() {
	mux := http.NewServeMux()
	mux.Handle("/debug/informers/", debug.Handler(debug.Options{}))

	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/debug/informers/", nil))
	fmt.Println(answer.Code, strings.HasPrefix(answer.Header().Get("Content-Type"), "text/html"))
	// Output: 200 true
}
