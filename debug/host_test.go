// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestHosts: with objects, the page answers for no name but localhost and those that the program
// gives, in whatever form, and says what to do about that. Without objects it answers for any.
func TestHosts(t *testing.T) {
	for host, answers := range map[string]bool{
		"localhost": true, "localhost:8080": true, "LocalHost.:1": true,
		"127.0.0.1": true, "127.0.0.1:8080": true, "10.1.2.3:80": true, "[::1]": true, "[::1]:8080": true, "[fe80::1%25eth0]:80": true,
		"debug.example.com": true, "Debug.Example.Com:443": true, "debug.example.com.": true,
		"": false, "evil.example": false, "evil.example:8080": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false,
		"notdebug.example.com": false, "debug.example.com.evil.example": false, "127.1": false, "[evil.example]:80": false, "a:b:c": false,
	} {
		for _, query := range []string{"", "?id=1", "?id=1&key=ns/a", "?format=json", "?format=text"} {
			request := httptest.NewRequest(http.MethodGet, "/debug/informers/"+query, nil)
			request.Host = host
			withObjects, without := httptest.NewRecorder(), httptest.NewRecorder()
			Handler(Options{Objects: true, Hosts: []string{"debug.example.com"}}).ServeHTTP(withObjects, request)
			Handler(Options{}).ServeHTTP(without, request)
			assert.NotEqual(t, http.StatusMisdirectedRequest, without.Code, host)
			if answers {
				assert.NotEqual(t, http.StatusMisdirectedRequest, withObjects.Code, "%q%s", host, query)
				continue
			}
			assert.Equal(t, http.StatusMisdirectedRequest, withObjects.Code, "%q%s", host, query)
			assert.Contains(t, withObjects.Body.String(), "add that to Options.Hosts", "%q%s", host, query)
		}
	}
}
