// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package follow is a controller manager without controllers: informers of six resources with
// twelve handlers, of which one is slow and one joins late. It runs as a process of its own, so
// that what it costs can be seen from outside.
//
// Each call of a handler is measured, from the time when the change was due at the server, and
// checked: versions of an object only rise, and what a handler was told adds up to what the server
// has.
package follow
