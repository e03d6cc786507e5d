// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/event"
)

// Options say what a queue is to be. The zero value is a queue without a name, in order of arrival, by MetaNamespaceKeyFunc.
type Options struct {
	Name   string
	Logger *klog.Logger // gets the queue's name; nil: klog.Background

	// KeyFunc tells objects apart; nil is MetaNamespaceKeyFunc. UsualKey says that it is that function by another name.
	KeyFunc  clientgo.KeyFunc
	UsualKey bool
	Opens    event.Wrapping           // what it looks into for the object that KeyFunc gets
	Stored   event.KeyFinder          // has the strings of keys; nil: the queue remembers some
	Known    clientgo.KeyListerGetter // the objects that its consumer has; nil: what they are does not matter

	Transform  clientgo.TransformFunc // nil: objects stay as they are
	KeepCached bool                   // what a list has of an object that cannot be transformed: its cached version, not an error

	Order  Order                                         // nil: that of arrival
	Admits func(typ clientgo.DeltaType, key string) bool // in the order by key: whether a record is worth its place; nil: always

	Bookmarks bool // keep them; else they are dropped
	Unlocked  bool // process without the lock
	Early     bool // HasSynced counts items when they are taken, not when they are processed

	Identifier clientgo.InformerNameAndResource
	Depth      clientgo.GaugeMetric     // items waiting; nil: nobody looks at it
	Latency    clientgo.HistogramMetric // seconds spent processing one pop; nil: nobody looks at it
}

// New returns an empty queue.
func New(o Options) *Queue {
	if o.Order == nil {
		o.Order = &Arrivals{}
	}
	q := &Queue{Known: o.Known, Waiting: o.Order, Unlocked: o.Unlocked, options: o}
	q.Init(o.Name)
	q.Reader.Logger = loggerOf(&o)
	q.Reader.Keys.Init(o.KeyFunc, o.UsualKey)
	q.Reader.Keys.Opens, q.Reader.Keys.Known = o.Opens, o.Stored
	q.Reader.Transform.Function, q.Reader.Transform.KeepCached = o.Transform, o.KeepCached
	return q
}

func loggerOf(o *Options) klog.Logger {
	if o.Logger == nil {
		return klog.LoggerWithName(klog.Background(), o.Name)
	}
	return klog.LoggerWithName(*o.Logger, o.Name)
}
