// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package factory puts kinformer's informers behind the factory interfaces of client-go, so that code
// that uses a factory for its informers and listers changes only the line that makes the factory:
//
//	f := factory.Wrap(informers.NewSharedInformerFactory(client, 0))                  // typed clients
//	f := factory.Dynamic(client, 0)                                                   // dynamic client
//	f := factory.Metadata(client, 0)                                                  // metadata client
//
// For a generated factory of other types than client-go's, see Take; for a program without a factory,
// see For.
//
// # Typed
//
// Wrap returns an informers.SharedInformerFactory. Every accessor (Core().V1().Pods(), ForResource)
// makes its informer on first use and registers it with the wrapped factory, which starts it, shuts it
// down and gives it its resync period and transform. Code that uses the wrapped factory directly gets
// the same informers once they exist: the first request for a type determines which library makes its
// informer. Only requested types are listed.
//
// The namespace and the informer name of client-go's factory are taken over. Its function that tweaks
// list options cannot be taken over: pass it to Wrap as well (WithTweakListOptions). If it is missing,
// the log warns.
//
// A direct call of InformerFor with a constructor uses that constructor, and so do generated groups
// that are made outside of the factory, as in coreinformers.New(f, "kube-system", nil).
//
// # Dynamic and metadata
//
// Dynamic and Metadata return a ResourceFactory. It has the methods of
// dynamicinformer.DynamicSharedInformerFactory and of metadatainformer.SharedInformerFactory, those of
// the typed factory that take a context, and Stop, which stops one informer.
//
// # Imports
//
// This package imports the typed informers and clients of client-go for all built-in types, as do its
// packages dynamicinformer and metadatainformer. The packages cache, kinformer, sources and direct import
// none of them. A program that is to be smaller makes its informers itself: kinformer.New with
// direct.NewListWatch or another ListerWatcher, or kinformer.Constructor in controller-runtime.
//
// # Stopping one informer
//
// The interfaces start and stop all informers together. ResourceFactory.Stop stops one and removes it
// from the factory. For a typed factory, run the informer with its own context, and start the factory when it
// has synced:
//
//	pods := f.Core().V1().Pods().Informer()
//	go pods.RunWithContext(podsCtx)
//	if err := kinformer.WaitForSync(podsCtx, pods); err != nil {
//		return err
//	}
//	f.StartWithContext(ctx) // pods is already running: the factory only logs that
//
// The informer stays in the factory: later accessors return the stopped informer, whose store keeps its
// last state. A wait of the wrapper ends when an informer stops before it has synced, and its error
// names that informer. A wait of client-go's factory continues until its context ends.
package factory
