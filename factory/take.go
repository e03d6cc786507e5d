// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache"
)

// Take registers an informer of this module with a generated factory that is not client-go's, such as
// one for your own resources, and returns the informer. Call it before any other use of the informer or
// its lister: the first request determines the informer. If the factory has an informer of the type
// already, Take returns that one, and the log warns that the options have no effect.
//
//	f := externalversions.NewSharedInformerFactory(client, 0)
//	factory.Take(f.InformerFor, &v1.Widget{}, func(c versioned.Interface, namespace string) typedv1.WidgetInterface {
//		return c.DemoV1().Widgets(namespace)
//	})
//	widgets := f.Demo().V1().Widgets() // Informer() is that informer, perhaps in a typed view; Lister() reads its store
//
// client returns the client of the resource, which has List and Watch, in a namespace, or in all if it is
// "". The namespace is that of WithNamespace and the list options are those of WithTweakListOptions,
// because Take cannot see the limits of f. Take knows which types have objects without a namespace only
// if client-go has an informer for the type: for others omit WithNamespaces. For a name in metrics, set
// the Identifier of WithInformerOptions; WithInformerName is refused.
//
// f starts the informer, and sets its resync period, and its transform unless the options have one.
func Take[C any, A api[L], L runtime.Object, F ~func(C, time.Duration) cache.SharedIndexInformer](
	informerFor func(runtime.Object, F) cache.SharedIndexInformer, example runtime.Object, client func(c C, namespace string) A, options ...Option,
) cache.SharedIndexInformer {
	config := newConfig(options)
	if config.informerName != nil {
		config.bad.Add("Take does not know the resource that WithInformerName needs: set Identifier of WithInformerOptions to name.WithResource(...)")
	}
	taken := false
	informer := informerFor(example, func(c C, resync time.Duration) cache.SharedIndexInformer {
		taken = true
		return config.newInformer(request{
			client: c, example: example, resync: resync,
			lw:       func(namespace string) *cache.ListWatch { return listWatchOf(api[L](client(c, namespace))) },
			identity: func() (none cache.InformerNameAndResource) { return none },
		})
	})
	if !taken {
		warnOfLateTake(informer, example, len(options))
	}
	return informer
}
