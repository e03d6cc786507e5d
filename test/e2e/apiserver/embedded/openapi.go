// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package embedded

import (
	"fmt"
	"reflect"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	crdopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apimachinery/pkg/runtime"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kube-openapi/pkg/builder3"
	openapicommon "k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/common/restfuladapter"
)

// openAPIConfigs describes the built-in resources to clients and to the generic API server, which needs
// them for server-side apply and managed fields.
func openAPIConfigs() (*openapicommon.Config, *openapicommon.OpenAPIV3Config) {
	namer := openapinamer.NewDefinitionNamer(builtin)
	return genericapiserver.DefaultOpenAPIConfig(definitions, namer), genericapiserver.DefaultOpenAPIV3Config(definitions, namer)
}

// definitions returns the definitions of the meta types and of the built-in types.
func definitions(ref openapicommon.ReferenceCallback) map[string]openapicommon.OpenAPIDefinition {
	s := schemas{crdopenapi.GetOpenAPIDefinitions(ref), ref}
	for _, r := range resources {
		for _, obj := range []runtime.Object{r.newObject(), r.newList()} {
			s.of(reflect.TypeOf(obj), new([]string))
		}
	}
	return s.all
}

func crdOpenAPIConfig() *openapicommon.OpenAPIV3Config {
	return genericapiserver.DefaultOpenAPIV3Config(crdopenapi.GetOpenAPIDefinitions, openapinamer.NewDefinitionNamer(apiextensions.Scheme))
}

// publish adds the documents of custom resource definitions to core's, and makes crds add and remove the
// documents of custom resources there. It must be called after core has built its documents and before
// either server runs.
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
