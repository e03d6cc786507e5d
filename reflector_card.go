// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// identity is the card of a reflector, made when it is first asked for.
type identity struct {
	mu struct {
		sync.Mutex
		card   *Reflector
		source *cardSource
	}
}

// card returns what a watch-error handler gets to see of the reflector: a client-go Reflector that does not run, always
// the same one, with its name, its type description, the settings that are exported fields, and the version as of this
// call. Writing to its fields or running it has no effect on the reflector.
func (r *reflector) card() *Reflector {
	version := r.lastSyncResourceVersion()
	id := &r.id.mu
	id.Lock()
	defer id.Unlock()
	if id.card == nil {
		id.card, id.source = r.newCard()
	}
	if err := id.source.stamp(id.card, version); err != nil {
		utilruntime.HandleError(fmt.Errorf("reflector %s: setting the version that watch-error handlers see: %w", r.name, err))
	}
	return id.card
}

func (r *reflector) newCard() (*Reflector, *cardSource) {
	source := &cardSource{}
	card := clientgo.NewReflectorWithOptions(source, nil, cardStore{}, ReflectorOptions{
		Logger: &klog.Logger{}, Name: r.name, TypeDescription: r.typeDescription,
	})
	card.WatchListPageSize = r.pageSize
	card.ShouldResync = r.shouldResync
	card.MaxInternalErrorRetryDuration = r.maxInternalErrorRetry
	return card, source
}

// errCardOnly ends the round by which a card learns its version.
var errCardOnly = errors.New("this reflector is an identity card and does not run")

// cardSource is the ListerWatcher of a card: an empty collection at a version, which cannot be watched.
type cardSource struct{ version string }

// stamp makes card tell version as its last one, by a round of client-go's loop over the empty collection.
func (s *cardSource) stamp(card *Reflector, version string) error {
	if s.version == version {
		return nil
	}
	s.version = version
	silent := klog.NewContext(context.Background(), klog.Logger{})
	if err := card.ListAndWatchWithContext(silent); !errors.Is(err, errCardOnly) {
		return err
	}
	return nil
}

func (s *cardSource) List(metav1.ListOptions) (runtime.Object, error) {
	return &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: s.version}}, nil
}

func (s *cardSource) Watch(metav1.ListOptions) (watch.Interface, error) { return nil, errCardOnly }

// IsWatchListSemanticsUnSupported keeps client-go from streaming what List answers.
func (s *cardSource) IsWatchListSemanticsUnSupported() bool { return true }

// cardStore takes everything and keeps nothing.
type cardStore struct{}

func (cardStore) Add(any) error               { return nil }
func (cardStore) Update(any) error            { return nil }
func (cardStore) Delete(any) error            { return nil }
func (cardStore) Replace([]any, string) error { return nil }
func (cardStore) Resync() error               { return nil }
