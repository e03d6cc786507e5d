// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package debug shows the informers of a process as a page for browsers, as JSON and as text. It
// uses the standard library only, and importing it registers nothing.
//
//	mux.Handle("/debug/informers/", debug.Handler(debug.Options{}))
//
// The page has a table of all running informers (inspect.All), and one page for each informer with
// its status, handlers, indices, requests, errors and memory (inspect.Of). The query selects the
// content, whatever the path:
//
//	?                       the table, with at most 500 informers; ?from=500 has the next ones
//	?sort=memory            the table, with the largest informers first
//	?id=7                   the informer with this number
//	?format=json, text      the same for programs and terminals
//	?refresh=off            without script, and without refreshing
//	?script                 the script
//
// and, with Options.Objects only,
//
//	?id=7&keys              keys in the store, at most 200
//	?id=7&index=i&value=v   keys of the objects that an index has for a value, at most 200
//	?id=7&key=ns/name       an object as JSON, at most 256 KiB
//
// # What it shows, and to whom
//
// Protect the page like the program's other internal pages. It does not authenticate requests, and
// it shows names of resources, handlers, indices and servers, and the texts of errors. One way is a
// listener of its own on 127.0.0.1. Another is a wrapper that asks the API server for
// authorization:
//
//	mux.Handle("/debug/informers/", requireAuthorization(debug.Handler(debug.Options{})))
//
// where requireAuthorization may be controller-runtime's
// filters.WithAuthenticationAndAuthorization.
//
// Without Options.Objects the page shows counts: no keys, index values or objects, and no errors of
// the program's functions, which may quote these. For a Secret it never shows more than key and
// resourceVersion. It never shows managed fields, nor the annotation in which kubectl keeps the
// object as last applied.
//
// With Options.Objects it answers only for the hosts localhost, any IP address, and Options.Hosts.
// A page of another site then cannot make an operator's browser read this page under a name that
// resolves to 127.0.0.1.
//
// # What it does not do
//
// It answers only GET and HEAD, and changes nothing. Its content security policy allows only its
// own style and script, by their hashes. Nothing is loaded from other servers. All texts are
// escaped, and cut after 300 characters.
//
// It works without JavaScript: the server draws the charts, and pages reload every 10 seconds. The
// script refreshes a page in place, every 2 seconds if the page has charts. It pauses while the
// page is hidden, and says when the server does not answer. A browser that does not support hashes
// of script files runs no script; its pages are not refreshed.
//
// # What it costs
//
// In a binary, less than 300 KiB, if debug information is stripped: the package uses none of Go's
// template packages, with which the linker keeps every exported method of a program.
//
// Nothing else without requests: there is no goroutine. Charts show values of the last five
// minutes, sampled when the page of the informer is requested, at most once a second. Samples are
// kept for the 32 informers that were requested last, in less than a MiB.
//
// The time for a page grows only with the informers on it (with ?sort=memory, with all that run),
// their sources (some tens of microseconds each), their handlers (some microseconds each), and the
// values of their indices (some nanoseconds each): see inspect.Of. Only client-go's informers
// (KINFORMER=off) cost a list of their keys, during which their stores are locked for writes. A page has
// at most 500 informers, or 100 handlers and 100 indices of one informer, handlers that are stuck or
// behind first, and the number of those left out. However long and hostile names are, a page is smaller than 2 MiB, and JSON than 8
// MiB. The page of an informer with 10,000 handlers and a million index values takes some tens of
// milliseconds of processor time. The script limits its requests so that each viewer takes at most a
// twentieth of a core.
package debug
