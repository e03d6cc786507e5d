// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"errors"
	"fmt"
	"io"
)

// Media types in which built-in objects can be stored in etcd.
const (
	StorageProtobuf = "application/vnd.kubernetes.protobuf"
	StorageJSON     = "application/json"
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

	// MaxRequestsInFlight and MaxMutatingRequestsInFlight bound the requests
	// served at the same time, watches excepted, before the server answers 429;
	// 0 means the defaults of the generic API server, 400 and 200. They apply
	// to Server.UserConfig only: the administrator of Server.Config is in
	// system:masters, which is exempt.
	MaxRequestsInFlight         int
	MaxMutatingRequestsInFlight int

	// StorageMediaType is the format of built-in objects in etcd,
	// StorageProtobuf (the default) or StorageJSON.
	StorageMediaType string

	// Binary is the server binary for StartChild. Empty means the one that the
	// environment variable KINFORMER_APISERVER names, or else one that Build
	// makes in BuildDir. The embedded server ignores it.
	Binary string

	// BuildDir is where StartChild builds the binary if there is none; empty
	// means the folder kinformer in the user's cache folder.
	BuildDir string
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = io.Discard
	}
	if o.StorageMediaType == "" {
		o.StorageMediaType = StorageProtobuf
	}
	return o
}

func (o Options) validate() error {
	var errs []error
	if o.Port < 0 || o.Port > 65535 {
		errs = append(errs, fmt.Errorf("port %d is not between 0 and 65535", o.Port))
	}
	if o.MaxRequestsInFlight < 0 || o.MaxMutatingRequestsInFlight < 0 {
		errs = append(errs, errors.New("limits of requests in flight must not be negative"))
	}
	if o.StorageMediaType != StorageProtobuf && o.StorageMediaType != StorageJSON {
		errs = append(errs, fmt.Errorf("storage media type %q is neither %q nor %q",
			o.StorageMediaType, StorageProtobuf, StorageJSON))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("apiserver options: %w", err)
	}
	return nil
}
