// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/tap/taptest"
)

// inJSON answers with a body.
func inJSON(body string) answer {
	return func(w http.ResponseWriter, r *http.Request) { reply(w, r, runtime.ContentTypeJSON, []byte(body)) }
}

var (
	goodList = list("5", pods(20, "4")...)
	gateway  = inJSON(`{"error":"upstream unavailable"}`)
	aCutList = inJSON(string(taptest.Encoded(podList("5"), runtime.ContentTypeJSON)[:1000]))
	badItem  = inJSON(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":7}}]}`)
	nullItem = inJSON(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"a"}},null]}`)
	aStatus  = inJSON(string(taptest.Encoded(statusOf(500, "InternalError"), runtime.ContentTypeJSON)))
	nodes    = inJSON(string(taptest.Encoded(&v1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: make([]v1.Node, 2)}, runtime.ContentTypeJSON)))
)

var generatedJSON, dynamicJSON = kinds[1], kinds[4]

// answered returns a source with the library's decoders whose server answers lists so.
func answered(t *testing.T, k kind, answers ...answer) tapped {
	return tappedOf(k.make(t, newServer(t, false, answers, nil).config(transport)), k.example, usesOwn)
}

// asked lists so often, and says how each list came: directly, from the client, with a doubt that
// suspends, with one that is for good, or not at all.
func asked(t *testing.T, source tapped, times int) (how []string) {
	for range times {
		list, err := source.ListWithContext(t.Context(), firstList)
		word := "failed"
		if _, direct := list.(*tap.Page); direct {
			word = "direct"
		} else if err == nil {
			word = "client"
		} else if doubt, is := err.(*tap.Doubt); is {
			_, err := fmt.Sscan(doubt.Why, &word)
			assert.NoError(t, err)
			assert.Equal(t, doubt.Why, source.ledger.State().Why)
		}
		how = append(how, word)
	}
	return how
}

// TestOneOddAnswer: after an odd answer, and one that the client decodes, lists are decoded
// directly again.
func TestOneOddAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		k   kind
		odd answer
	}{
		"a gateway's error":          {dynamicJSON, gateway},
		"a list that is cut":         {generatedJSON, aCutList},
		"nothing":                    {generatedJSON, inJSON("")},
		"null":                       {generatedJSON, inJSON("null")},
		"one bad item":               {generatedJSON, badItem},
		"a null item":                {generatedJSON, nullItem},
		"a null item, unstructured":  {dynamicJSON, nullItem},
		"a status":                   {generatedJSON, aStatus},
		"a list of another kind":     {generatedJSON, nodes},
		"a list cut in unstructured": {dynamicJSON, aCutList},
	} {
		source := answered(t, c.k, c.odd, goodList)
		assert.Equal(t, []string{"suspended:", "client", "direct", "direct"}, asked(t, source, 4), name)
		assert.True(t, source.ledger.State().On, name)
		assert.Zero(t, source.ledger.State().Differences, name)
	}
}

// TestOddServer: answers that the client does not understand either say nothing about decoding,
// however often they come.
func TestOddServer(t *testing.T) {
	source := answered(t, generatedJSON, aCutList, aCutList, badItem, badItem, badItem, badItem, aStatus, aStatus, goodList)
	assert.Equal(t, []string{
		"suspended:", "failed", "suspended:", "failed", "suspended:", "failed", "suspended:", "failed", "direct",
	}, asked(t, source, 9))
}

// TestThirdOddAnswer: the third answer that only the client understands ends decoding directly for
// good. Those that it does not understand do not count.
func TestThirdOddAnswer(t *testing.T) {
	source := answered(t, generatedJSON, nullItem, nullItem, badItem, badItem, nullItem, goodList, goodList, badItem, goodList)
	assert.Equal(t, []string{
		"suspended:", "client", "suspended:", "failed", "suspended:", "client", "direct", "suspended:",
	}, asked(t, source, 8))
	why := source.ledger.State().Why
	assert.Equal(t, []string{"client", "client"}, asked(t, source, 2))
	assert.Equal(t, "suspended: the client did not take the list, less items", why)
	assert.Equal(t, "off for good: the client did not take the list, less items", source.ledger.State().Why)
	assert.False(t, source.ledger.State().On)
}

// TestSuspendedToTheLastPage: a doubt is settled by a whole list, which is the client's: one that
// ends early because nobody wants it any more settles nothing.
func TestSuspendedToTheLastPage(t *testing.T) {
	first := page(metav1.ListMeta{ResourceVersion: "5", Continue: "more"}, pods(20, "4")...)
	source := answered(t, generatedJSON, first, badItem, first, goodList, goodList)
	ctx, cancel := context.WithCancel(t.Context())
	assert.Equal(t, []string{"direct", "suspended:"}, asked(t, source, 2))
	cancel()
	_, err := source.ListWithContext(ctx, firstList)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, []string{"client", "client", "direct"}, asked(t, source, 3))
}

// TestSuspendedOverExpiry: a list whose version has expired between two pages settles nothing, and
// the list that the pager asks for in its place is the client's, too.
func TestSuspendedOverExpiry(t *testing.T) {
	first := inJSON(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5","continue":"more"},"items":[{"metadata":{"name":"a"}},null]}`)
	source := answered(t, generatedJSON, first, first, status(410, metav1.StatusReasonExpired), nullItem, goodList)
	assert.Equal(t, []string{"suspended:", "client", "failed", "client", "direct"}, asked(t, source, 5))
}

// TestSuspendedForSeveral: a doubt counts once, however many lists are the client's because of it.
func TestSuspendedForSeveral(t *testing.T) {
	var requests, lists sync.WaitGroup
	requests.Add(3)
	together := func(w http.ResponseWriter, r *http.Request) {
		requests.Done()
		requests.Wait()
		goodList(w, r)
	}
	source := answered(t, generatedJSON, nullItem, together, together, together, goodList)
	assert.Equal(t, []string{"suspended:"}, asked(t, source, 1))
	for range 3 {
		lists.Go(func() { assert.Equal(t, []string{"client"}, asked(t, source, 1)) })
	}
	lists.Wait()
	assert.Equal(t, []string{"direct"}, asked(t, source, 1))
}
