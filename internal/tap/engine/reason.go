// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"

	"github.com/kinformer/cache/internal/tap"
)

// The beginnings of Doubt.Why and State.Why. docs/direct.md lists them.
const (
	suspended = "suspended: "          // the client decodes the next list
	forWatch  = "off for this watch: " // the client decodes the rest of the watch
	forGood   = "off for good: "       // the client decodes everything
)

// The beginnings of State.Why without a doubt, beside those of package tap.
const (
	offForLog = "klog writes bodies"

	noTransport     = "no transport of package direct has seen the request"
	otherRequest    = "the request is not the one that was asked for"
	noStream        = "the watch is no plain stream"
	severalWatches  = "several watches were asked for in one call"
	readEarly       = "the watch was read before it was returned"
	noDecoder       = "there is no decoder for the type in"
	contentEncoding = "content encoding"
	contentType     = "content type"
	badContentType  = "the content type cannot be read"
	wantsMore       = forWatch + "the client, or a transport outside of package direct's, reads more before it sends an event"
	wentOn          = forWatch + "it goes on after an error"
	unreadable      = forWatch + "a frame is too long, or is none"
	manyGivenBack   = "most objects cannot be decoded directly"
)

// reasons has the word for each beginning of State.Why.
var reasons = []struct{ begins, word string }{
	{offForLog, tap.LogLevel},
	{noTransport, tap.NoTransport},
	{suspended, tap.Suspended},
	{forGood + manyGivenBack, tap.GaveUp},
	{forGood, tap.OffForGood},
	{forWatch, tap.OffForWatch},
	{noDecoder, "no-decoder"},
	{errNoKind.Error(), "no-kind"},
	{contentEncoding, "encoding"},
	{contentType, "encoding"},
	{badContentType, "encoding"},
	{otherRequest, "lister-watcher"},
	{noStream, "lister-watcher"},
	{severalWatches, "lister-watcher"},
	{readEarly, "lister-watcher"},
}

// reasonOf returns the word for a State.Why that is not the choice of the user.
func reasonOf(why string) string {
	for _, reason := range reasons {
		if strings.HasPrefix(why, reason.begins) {
			return reason.word
		}
	}
	return "other"
}
