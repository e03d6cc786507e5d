// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package embedded

import (
	"fmt"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	crdopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apimachinery/pkg/runtime"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kube-openapi/pkg/builder3"
	openapicommon "k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/common/restfuladapter"
	openapiutil "k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// openAPIConfigs describe the built-in resources, for clients and for the generic API server: server-side
// apply and the record of managed fields are built on it.
func openAPIConfigs() (*openapicommon.Config, *openapicommon.OpenAPIV3Config) {
	namer := openapinamer.NewDefinitionNamer(builtin)
	return genericapiserver.DefaultOpenAPIConfig(definitions, namer), genericapiserver.DefaultOpenAPIV3Config(definitions, namer)
}

// definitions are those of the meta types, and of the built-in ones. The real definitions of these exist
// only in k8s.io/kubernetes, so each kind is declared as an object with unknown fields, whose structure is
// then taken from the objects themselves; lists are atomic.
func definitions(ref openapicommon.ReferenceCallback) map[string]openapicommon.OpenAPIDefinition {
	all := crdopenapi.GetOpenAPIDefinitions(ref)
	for _, r := range resources {
		for _, obj := range []runtime.Object{r.newObject(), r.newList()} {
			all[openapiutil.GetCanonicalTypeName(obj)] = openapicommon.OpenAPIDefinition{Schema: anyObject()}
		}
	}
	return all
}

// anyObject is called for each definition, because the builders add to its extensions.
func anyObject() spec.Schema {
	return spec.Schema{
		SchemaProps:      spec.SchemaProps{Type: []string{"object"}},
		VendorExtensible: spec.VendorExtensible{Extensions: spec.Extensions{"x-kubernetes-preserve-unknown-fields": true}},
	}
}

func crdOpenAPIConfig() *openapicommon.OpenAPIV3Config {
	return genericapiserver.DefaultOpenAPIV3Config(crdopenapi.GetOpenAPIDefinitions, openapinamer.NewDefinitionNamer(apiextensions.Scheme))
}

// publish adds to the documents that core serves those of custom resource definitions, and has crds add
// and remove those of custom resources. It is called after core has made its documents, and before
// either runs.
func publish(core, crds *genericapiserver.GenericAPIServer) error {
	crds.StaticOpenAPISpec = core.StaticOpenAPISpec
	crds.OpenAPIVersionedService, crds.OpenAPIV3VersionedService = core.OpenAPIVersionedService, core.OpenAPIV3VersionedService
	config := crdOpenAPIConfig()
	for _, service := range restfuladapter.AdaptWebServices(crds.Handler.GoRestfulContainer.RegisteredWebServices()) {
		document, err := builder3.BuildOpenAPISpecFromRoutes([]openapicommon.RouteContainer{service}, config)
		if err != nil {
			return fmt.Errorf("openapi of %s: %w", service.RootPath(), err)
		}
		core.OpenAPIV3VersionedService.UpdateGroupVersion(service.RootPath()[1:], document)
	}
	return nil
}
