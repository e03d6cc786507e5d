// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"go/doc/comment"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache"
)

// ownHeading is the section of the package's documentation that lists our own names.
const ownHeading = "Names beyond client-go's"

// TestOwnNamesAreListedInDoc: doc.go lists the names of own.txt, as links, each once and no others.
func TestOwnNamesAreListedInDoc(t *testing.T) {
	var want []string
	for _, name := range readNameList(t, ownFile).names() {
		want = append(want, strings.TrimPrefix(name, "cache."))
	}
	assert.ElementsMatch(t, want, linksUnder(parsedDoc(t), ownHeading))
}

// parsedDoc returns the package's documentation, in which every name in brackets is taken for one
// of the package.
func parsedDoc(t *testing.T) *comment.Doc {
	t.Helper()
	files := parseFiles(t, []string{"doc.go"})
	require.NotNil(t, files[0].Doc)
	parser := comment.Parser{LookupSym: func(string, string) bool { return true }}
	return parser.Parse(files[0].Doc.Text())
}

// linksUnder returns the names that are linked between a heading and the next one, in order.
func linksUnder(doc *comment.Doc, heading string) (names []string) {
	under := false
	for _, block := range doc.Content {
		if h, ok := block.(*comment.Heading); ok {
			under = len(h.Text) == 1 && h.Text[0] == comment.Plain(heading)
			continue
		}
		if under {
			names = append(names, linksIn(block)...)
		}
	}
	return names
}

func linksIn(block comment.Block) (names []string) {
	switch block := block.(type) {
	case *comment.List:
		for _, item := range block.Items {
			for _, paragraph := range item.Content {
				names = append(names, linksIn(paragraph)...)
			}
		}
	case *comment.Paragraph:
		for _, text := range block.Text {
			if link, ok := text.(*comment.DocLink); ok && link.ImportPath == "" {
				names = append(names, strings.TrimPrefix(link.Recv+"."+link.Name, "."))
			}
		}
	}
	return names
}

// TestOptionalMethods: our informers and registrations have the methods that client-go's have
// beyond their interfaces, or that its tests reach into them for.
func TestOptionalMethods(t *testing.T) {
	for name, informer := range map[string]cache.SharedInformer{
		"NewSharedInformer":                 cache.NewSharedInformer(nil, nil, 0),
		"NewSharedIndexInformer":            cache.NewSharedIndexInformer(nil, nil, 0, nil),
		"NewSharedIndexInformerWithOptions": cache.NewSharedIndexInformerWithOptions(nil, nil, cache.SharedIndexInformerOptions{}),
		"InformerFunc":                      cache.InformerFunc()(nil, nil, 0, nil),
	} {
		t.Run(name, func(t *testing.T) {
			optional, ok := informer.(interface {
				HasStarted() bool
				EventHandlerCount() int
				IsRegistered(handle cache.ResourceEventHandlerRegistration) bool
			})
			require.True(t, ok)
			assert.False(t, optional.HasStarted())
			assert.Zero(t, optional.EventHandlerCount())
			handle, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{})
			require.NoError(t, err)
			assert.Equal(t, 1, optional.EventHandlerCount())
			assert.True(t, optional.IsRegistered(handle))
			finished := handle.(interface{ ShutdownChan() <-chan struct{} }).ShutdownChan()
			require.NoError(t, informer.RemoveEventHandler(handle))
			<-finished
			assert.Zero(t, optional.EventHandlerCount())
			assert.False(t, optional.IsRegistered(handle))
		})
	}
}
