// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

// The beginnings of State.Why, in addition to those in doubt.go. docs/direct.md lists them.
const (
	offByOption   = "Decoding.Off says so"
	offByVariable = KillSwitch + " is off in the environment"
	offForLog     = "klog writes bodies"

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

// The words for the choices of the user.
const (
	switchedOff = "switched-off"
	logLevel    = "log-level"
)
