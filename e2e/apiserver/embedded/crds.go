// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package embedded

import (
	noopoteltrace "go.opentelemetry.io/otel/trace/noop"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	crdoptions "k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	crdopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apimachinery/pkg/runtime"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/registry/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/kinformer/cache/e2e/apiserver"
)

// storagePrefix is the root of all keys in etcd.
const storagePrefix = "/registry"

// newCRDServer builds the server of custom resources and their definitions. It
// is last in the chain.
func newCRDServer(cfg genericapiserver.Config, opts apiserver.Options, db *database) (*apiextensions.CustomResourceDefinitions, error) {
	etcd := etcdOptions(opts, db, apiextensions.Codecs.LegacyCodec(apiextensionsv1.SchemeGroupVersion))
	cfg.Serializer = apiextensions.Codecs
	cfg.RESTOptionsGetter = restOptions(etcd)
	cfg.MergedResourceConfig = apiextensions.DefaultAPIResourceConfigSource()
	cfg.PostStartHooks = map[string]genericapiserver.PostStartHookConfigEntry{}
	cfg.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(crdopenapi.GetOpenAPIDefinitions,
		openapinamer.NewDefinitionNamer(apiextensions.Scheme))
	config := &apiextensions.Config{
		GenericConfig: &genericapiserver.RecommendedConfig{Config: cfg},
		ExtraConfig: apiextensions.ExtraConfig{
			CRDRESTOptionsGetter: crdoptions.NewCRDRESTOptionsGetter(*etcd, nil, nil),
			MasterCount:          1,
			ServiceResolver:      webhook.NewDefaultServiceResolver(),
			AuthResolverWrapper: webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil,
				cfg.LoopbackClientConfig, noopoteltrace.NewTracerProvider()),
		},
	}
	return config.Complete().New(genericapiserver.NewEmptyDelegate())
}

// etcdOptions say how objects that codec knows are stored in db.
func etcdOptions(opts apiserver.Options, db *database, codec runtime.Codec) *options.EtcdOptions {
	etcd := options.NewEtcdOptions(storagebackend.NewDefaultConfig(storagePrefix, codec))
	etcd.StorageConfig.Transport.ServerList = []string{db.url}
	etcd.EnableWatchCache = !opts.DisableWatchCache
	etcd.SkipHealthEndpoints = true
	return etcd
}

func restOptions(etcd *options.EtcdOptions) generic.RESTOptionsGetter {
	factory := &options.SimpleStorageFactory{StorageConfig: etcd.StorageConfig}
	return etcd.CreateRESTOptionsGetter(factory, nil)
}
