// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package embedded

import (
	"reflect"
	"strings"

	openapicommon "k8s.io/kube-openapi/pkg/common"
	openapiutil "k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// schemas derives definitions from the fields, tags and SwaggerDoc of Go types. Kubernetes' generated
// definitions also use comments but exist only in k8s.io/kubernetes. The derived ones lack defaults,
// required fields and list keys, so that server-side apply treats all lists as atomic.
type schemas struct {
	all map[string]openapicommon.OpenAPIDefinition // by name; existing entries are not replaced
	ref openapicommon.ReferenceCallback
}

// selfDescribed is a struct with its own encoding, such as IntOrString.
type selfDescribed interface {
	OpenAPISchemaType() []string
	OpenAPISchemaFormat() string
}

// of returns the schema of t. It adds the definitions to which the schema refers to all, and their names
// to used.
func (s schemas) of(t reflect.Type, used *[]string) spec.Schema {
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem(), used)
	case reflect.Struct:
		if custom, ok := reflect.Zero(t).Interface().(selfDescribed); ok {
			return spec.Schema{SchemaProps: spec.SchemaProps{Type: custom.OpenAPISchemaType(), Format: custom.OpenAPISchemaFormat()}}
		}
		name := openapiutil.GetCanonicalTypeName(reflect.New(t).Interface())
		s.define(name, t)
		*used = append(*used, name)
		return spec.Schema{SchemaProps: spec.SchemaProps{Ref: s.ref(name)}}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return *spec.StrFmtProperty("byte")
		}
		items := s.of(t.Elem(), used)
		return *spec.ArrayProperty(&items)
	case reflect.Map:
		values := s.of(t.Elem(), used)
		return *spec.MapProperty(&values)
	case reflect.Bool:
		return *spec.BooleanProperty()
	case reflect.Int32:
		return *spec.Int32Property()
	case reflect.Int64:
		return *spec.Int64Property()
	default:
		return *spec.StringProperty()
	}
}

// define adds the definitions of a struct type and of the types of its fields to all, unless the type is
// defined.
func (s schemas) define(name string, t reflect.Type) {
	if _, known := s.all[name]; known {
		return
	}
	s.all[name] = openapicommon.OpenAPIDefinition{} // ends the recursion of types that contain themselves
	d := openapicommon.OpenAPIDefinition{}
	d.Schema.Type, d.Schema.Description = spec.StringOrArray{"object"}, docsOf(t)[""]
	s.addFields(&d, t)
	s.all[name] = d
}

// addFields adds the fields of a struct type, including those of embedded types, to a definition.
func (s schemas) addFields(d *openapicommon.OpenAPIDefinition, t reflect.Type) {
	docs := docsOf(t)
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-" || !field.IsExported():
			continue
		case name == "": // inline
			s.addFields(d, field.Type)
			continue
		}
		schema := s.of(field.Type, &d.Dependencies)
		schema.Description = docs[name]
		if field.Type.Kind() == reflect.Slice {
			schema.AddExtension("x-kubernetes-list-type", "atomic")
		}
		for tag, extension := range map[string]string{"patchStrategy": "x-kubernetes-patch-strategy", "patchMergeKey": "x-kubernetes-patch-merge-key"} {
			if value, ok := field.Tag.Lookup(tag); ok {
				schema.AddExtension(extension, value)
			}
		}
		d.Schema.SetProperty(name, schema)
	}
}

// docsOf returns the documentation of a type by field name, with "" for the type itself.
func docsOf(t reflect.Type) map[string]string {
	if documented, ok := reflect.Zero(t).Interface().(interface{ SwaggerDoc() map[string]string }); ok {
		return documented.SwaggerDoc()
	}
	return nil
}
