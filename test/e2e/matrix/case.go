// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package matrix compares informers that decode directly with informers whose client decodes, for each
// kind of client, encoding and version of HTTP, with and without compression and shared parts, and for
// each way to get the initial state. Their stores and notifications must be deeply equal.
package matrix

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
)

// Case is one combination.
type Case struct {
	Client   Client
	Encoding string // JSON or Protobuf
	Mode     string // List, Pages or WatchList
	HTTP2    bool
	Gzip     bool
	Share    bool // share equal parts of objects, as ShareParts does
}

// The encodings, named as in inspect.Status, and the modes.
const (
	JSON     = "json"
	Protobuf = "protobuf"

	List      = "list"
	Pages     = "pages"
	WatchList = "watch-list"
)

func (c Case) String() string {
	return strings.Join(c.values(), ",")
}

// values returns the values of the case.
func (c Case) values() []string {
	return []string{
		c.Client.Name, c.Encoding, c.Mode,
		option(c.HTTP2, "HTTP/2", "HTTP/1.1"), option(c.Gzip, "gzip", "not compressed"),
		option(c.Share, "shared", "apart"),
	}
}

func option(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// all returns all valid combinations: some clients support only one encoding.
func all(clients []Client) (all []Case) {
	for i := range 2 * 2 * 2 * 2 * 3 {
		c := Case{
			Encoding: []string{JSON, Protobuf}[i%2], HTTP2: i/2%2 == 0, Gzip: i/4%2 == 0, Share: i/8%2 == 0,
			Mode: []string{List, Pages, WatchList}[i/16],
		}
		for _, c.Client = range clients {
			if slices.Contains(c.Client.Encodings, c.Encoding) {
				all = append(all, c)
			}
		}
	}
	return all
}

// wholeEnv is the environment variable that selects all combinations if it is "all".
const wholeEnv = "KINFORMER_MATRIX"

// chosen returns all combinations if wholeEnv is "all". Otherwise it returns a subset with every pair of
// values that occurs in all. It repeatedly adds the case with the most pairs not yet covered.
func chosen(all []Case) (some []Case) {
	if os.Getenv(wholeEnv) == "all" {
		return all
	}
	have := map[string]bool{}
	missing := func(c Case) (n int) {
		for _, pair := range c.pairs() {
			if !have[pair] {
				n++
			}
		}
		return n
	}
	for {
		best := slices.MaxFunc(all, func(a, b Case) int { return missing(a) - missing(b) })
		if missing(best) == 0 {
			return some
		}
		for _, pair := range best.pairs() {
			have[pair] = true
		}
		some = append(some, best)
	}
}

func (c Case) pairs() (pairs []string) {
	values := c.values()
	for i := range values {
		for j := range i {
			pairs = append(pairs, fmt.Sprintf("%d %s, %d %s", i, values[i], j, values[j]))
		}
	}
	return pairs
}

// Namespace is the namespace of the pods.
const Namespace = "matrix"

// NewInformer is a constructor of informers like cache.NewSharedIndexInformer.
type NewInformer = func(cache.ListerWatcher, runtime.Object, time.Duration, cache.Indexers) cache.SharedIndexInformer

// Client is a kind of client.
type Client struct {
	Name      string
	Encodings []string // supported encodings
	// Run follows the pods in Namespace, with an informer of newInformer, and returns once the informer
	// has ended after ctx is done. config has the server and the encoding; all requests must be made by
	// httpClient.
	Run func(ctx context.Context, config *rest.Config, httpClient *http.Client, newInformer NewInformer) error
}
