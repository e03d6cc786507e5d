// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tap is the contract between a reflector and the engine that decodes for it: what the
// informer wants decoded in which way, what it receives, and the counts and states that it reports.
//
//	reflector ─▶ Source ─▶ Engine (package direct is imported) ─▶ ListerWatcher ─▶ client-go
//	                └────▶ ListerWatcher (it is not)           ─▶ client-go
//
// Package engine below is the only engine. Package direct installs it when it is imported, and
// nothing else does. Package audit has it for its own lists. A program with neither has none of the
// code that reads bytes from a server: its clients decode every list and watch.
package tap
