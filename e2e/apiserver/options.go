// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"
	"io"
)

// Options says how to run a server. The zero value works.
type Options struct {
	// DataDir holds etcd's files, the serving certificate, the tokens and the
	// kubeconfig files. It is created if missing and reused if not, data
	// included. Empty means a temporary folder that Stop removes. No two
	// servers may use one folder at a time.
	DataDir string

	// Port on 127.0.0.1; 0 takes a free one, which the server then keeps over
	// restarts.
	Port int

	// Log receives what the server does while it starts and stops, one line a
	// Write, one Write at a time, also after the call that started the server
	// has returned. Nil discards it.
	Log io.Writer

	// DisableWatchCache lets every list and watch read etcd itself.
	DisableWatchCache bool

	// MaxRequestsInFlight bounds the requests that read, watches excepted,
	// served at the same time, before the server answers 429; 0 means the
	// default of the generic API server, 400. It applies to Server.UserConfig
	// only: the administrator of Server.Config is in system:masters, which is
	// exempt.
	MaxRequestsInFlight int

	// Binary is the server binary. Empty means the one that the environment
	// variable KINFORMER_APISERVER names, or else one that Build makes in the
	// folder kinformer in the user's cache folder.
	Binary string
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = io.Discard
	}
	o.Log = &lineWriter{w: o.Log}
	return o
}

func (o Options) validate() error {
	if o.Port < 0 || o.Port > 65535 || o.MaxRequestsInFlight < 0 {
		return fmt.Errorf("apiserver options: port %d is not between 0 and 65535, or the limit of requests %d is negative", o.Port, o.MaxRequestsInFlight)
	}
	return nil
}
