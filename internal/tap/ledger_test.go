// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache/internal/tap/taptest"
)

// lateBody is no list. The read that waits when it is closed ends later.
type lateBody struct {
	begun bool
	late  chan error
}

func (b *lateBody) Read(p []byte) (int, error) {
	p[0] = '!'
	if b.begun {
		return 1, <-b.late
	}
	b.begun = true
	return 1, nil
}

func (b *lateBody) Close() error { return nil }

// TestReceivedNoMore: a read of a list that ends when its body is closed says nothing of what is
// received by then: be it nothing, or the next list.
func TestReceivedNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := taptest.Encoded(podList("5"), runtime.ContentTypeJSON)
		server := &taptest.Wire{Media: runtime.ContentTypeJSON, Answer: func(*http.Request) ([][]byte, bool) { return [][]byte{good}, false }}
		late, sent, answers := make(chan error), make(chan struct{}), make(chan struct{})
		lists := 0
		c := &rest.Config{Host: "http://127.0.0.1:1", QPS: -1, Transport: trip(func(r *http.Request) (*http.Response, error) {
			resp, err := server.RoundTrip(r)
			switch lists++; lists {
			case 1, 3:
				_ = resp.Body.Close()
				resp.Body = &lateBody{late: late}
			case 5:
				close(sent)
				<-answers
			}
			return resp, err
		})}
		c.ContentType = runtime.ContentTypeJSON
		c.Wrap(transport)
		source := tappedOf(generated(t, c), &v1.Pod{}, usesOwn)
		receives := func() bool {
			synctest.Wait()
			_, more := source.ledger.Received()
			return more
		}
		assert.Equal(t, []string{"suspended:"}, asked(t, source, 1))
		late <- nil
		assert.False(t, receives())

		assert.Equal(t, []string{"client", "suspended:", "client"}, asked(t, source, 3))
		done := make(chan heard)
		go func() { done <- ask(t, source, firstList) }()
		<-sent
		late <- io.EOF
		assert.True(t, receives())
		close(answers)
		assert.Len(t, (<-done).Items, 20)
		assert.False(t, receives())
	})
}
