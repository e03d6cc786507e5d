// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package factory puts kinformer's informers behind the factory interfaces of client-go, so that
// code that asks a factory for its informers and listers changes one line, where the factory is
// made:
//
//	f := factory.Wrap(informers.NewSharedInformerFactory(client, 0))                  // typed clients
//	f := factory.Dynamic(client, 0)                                                   // dynamic client
//	f := factory.Metadata(client, 0)                                                  // metadata client
//
// For a generated factory that is not client-go's, see Take; for a program without any, see For.
//
// # Typed
//
// Wrap returns an informers.SharedInformerFactory. Every accessor (Core().V1().Pods(), ForResource)
// makes its informer on first use and leaves it with the wrapped factory, which starts it, shuts it
// down and gives it its resync period and transform. Code that still holds the wrapped factory gets
// the same informers once they exist: the first request for a type decides which library makes its
// informer. Only requested types are listed.
//
// The namespace and the informer name of client-go's factory are taken over. Its function that
// tweaks list options cannot be taken over: give it to Wrap as well (WithTweakListOptions). The log
// warns if it is missing.
//
// A direct call of InformerFor with a constructor uses that constructor, and so do generated groups
// that are made outside of the factory, as in coreinformers.New(f, "kube-system", nil).
//
// # Dynamic and metadata
//
// Dynamic and Metadata return a ResourceFactory. It has the methods of
// dynamicinformer.DynamicSharedInformerFactory and of metadatainformer.SharedInformerFactory, those
// of the typed factory that take a context, and Stop, which stops one informer.
//
// # Stopping one informer
//
// The interfaces start and stop all informers together. ResourceFactory.Stop ends one and forgets
// it. Of a typed factory, run the informer with a context of its own before the factory starts:
//
//	pods := f.Core().V1().Pods().Informer()
//	go pods.RunWithContext(podsCtx)
//	f.StartWithContext(ctx) // pods runs already and is left alone, but for a line in the log
//
// The factory keeps it: later accessors return the stopped informer, whose store keeps its last
// state. A wait of the wrapper ends when an informer stops before it has synced, and its error
// names that informer. A wait of client-go's factory goes on until its context ends.
package factory
