// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/tap/engine/taptest"
	wired "github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
)

// TestDecodeInfo: for each informer that has received something, even if that is an empty list, one
// series says who decodes, or why the client does.
func TestDecodeInfo(t *testing.T) {
	const json, protobuf = apiruntime.ContentTypeJSON, apiruntime.ContentTypeProtobuf
	shared, off := kinformer.Decoding{ShareParts: true}, kinformer.Decoding{Off: true}
	for name, c := range map[string]struct {
		media            string
		unwrapped, fails bool
		variable         string
		decoding         kinformer.Decoding
		want             []string // encoding, ordinal, reason, sharing, and way
	}{
		"protobuf":              {media: protobuf, want: []string{"protobuf 0   direct"}},
		"shared":                {media: json, decoding: shared, want: []string{"json 0  on direct"}},
		"no transport":          {media: json, unwrapped: true, want: []string{" 0 no-transport  client"}},
		"no transport, shared":  {media: json, unwrapped: true, decoding: shared, want: []string{" 0 no-transport off client"}},
		"option":                {media: json, decoding: off, want: []string{" 0 switched-off  client"}},
		"variable":              {media: json, variable: "off", want: []string{" 0 switched-off  client"}},
		"variable, shared":      {media: json, variable: "off", decoding: shared, want: []string{" 0 switched-off  client"}},
		"nothing":               {media: json, fails: true},
		"nothing, switched off": {media: json, fails: true, variable: "off"},
		"nothing, no transport": {media: json, fails: true, unwrapped: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(tap.KillSwitch, c.variable)
			synctest.Test(t, func(t *testing.T) {
				wire := &taptest.Wire{Media: c.media, Answer: func(r *http.Request) ([][]byte, bool) {
					if r.URL.Query().Get("watch") != "" {
						return nil, true
					}
					return [][]byte{taptest.Encoded(&v1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}}, c.media)}, false
				}}
				lists := wired.ClientOver(t, taptest.Trip(func(r *http.Request) (*http.Response, error) {
					if c.fails {
						return nil, errors.New("unreachable")
					}
					return wire.RoundTrip(r)
				}), c.media, !c.unwrapped)
				options := kinformer.Options{Decoding: c.decoding, Requests: kinformer.Requests{Mode: kinformer.ListModeList}}
				defer run(t, kinformer.New(lists, &v1.Pod{}, options))()
				var got []string
				for name, value := range values(t, NewReader(Options{})) {
					if labels, is := strings.CutPrefix(name, "decode_info "); is {
						assert.Equal(t, 1.0, value)
						got = append(got, labels)
					}
				}
				assert.Equal(t, c.want, got)
			})
		})
	}
}
