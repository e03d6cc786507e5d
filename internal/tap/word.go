// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import "strings"

// reasons has the word for each beginning of State.Why.
var reasons = []struct{ begins, word string }{
	{offByOption, switchedOff},
	{offByVariable, switchedOff},
	{offForLog, logLevel},
	{noTransport, "no-transport"},
	{suspended, "suspended"},
	{forGood + manyGivenBack, "gave-up"},
	{forGood, "off-for-good"},
	{forWatch, "off-for-a-watch"},
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

// Reason returns a word for Why, which is one of a few, or "" if Why is empty.
func (s State) Reason() string {
	if s.Why == "" {
		return ""
	}
	for _, reason := range reasons {
		if strings.HasPrefix(s.Why, reason.begins) {
			return reason.word
		}
	}
	return "other"
}
