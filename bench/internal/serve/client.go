// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/bench/internal/blank"
	"github.com/kinformer/cache/bench/internal/world"
	"github.com/kinformer/cache/direct"
)

// Config is that of clients. They may have informers decode directly.
func (h Hello) Config(decodes bool) *rest.Config {
	config := &rest.Config{Host: h.URL, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: h.CA}}
	if decodes {
		config.Wrap(direct.Transport)
	}
	return config
}

// ListWatch is what users of a client with Go types have.
func ListWatch(config *rest.Config, of world.Resource, mediaType string) (*clientgo.ListWatch, error) {
	known := blank.Of(of)
	version := known.GroupVersion()
	config.APIPath = known.APIPath()
	config.ContentConfig = rest.ContentConfig{
		GroupVersion: &version, NegotiatedSerializer: blank.Codecs.WithoutConversion(), ContentType: mediaType, AcceptContentTypes: mediaType,
	}
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, err
	}
	return clientgo.NewListWatchFromClient(client, known.Name, metav1.NamespaceAll, fields.Everything()), nil
}
