// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package embedded

import (
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	openapicommon "k8s.io/kube-openapi/pkg/common"
	openapiutil "k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// openAPIConfig satisfies the generic API server, which refuses to install
// types without an OpenAPI definition: server-side apply and the record of
// managed fields are built on it. The real definitions exist only in
// k8s.io/kubernetes, so each kind is declared as an object with unknown fields,
// whose structure is then taken from the objects themselves; lists are atomic.
func openAPIConfig() *openapicommon.OpenAPIV3Config {
	return genericapiserver.DefaultOpenAPIV3Config(anyObjects, openapinamer.NewDefinitionNamer(builtin))
}

func anyObjects(openapicommon.ReferenceCallback) map[string]openapicommon.OpenAPIDefinition {
	definitions := make(map[string]openapicommon.OpenAPIDefinition, len(resources))
	for _, r := range resources {
		definitions[openapiutil.GetCanonicalTypeName(r.newObject())] = openapicommon.OpenAPIDefinition{
			Schema: spec.Schema{
				SchemaProps: spec.SchemaProps{Type: []string{"object"}},
				VendorExtensible: spec.VendorExtensible{Extensions: spec.Extensions{
					"x-kubernetes-preserve-unknown-fields": true,
				}},
			},
		}
	}
	return definitions
}
