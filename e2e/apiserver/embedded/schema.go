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

// schemas describes Go types by their fields, tags and SwaggerDoc, as far as these say. The definitions
// that Kubernetes generates, from comments too, exist only in k8s.io/kubernetes. They have defaults,
// required fields and keys of lists, and these have none of them: all lists are atomic to server-side apply.
type schemas struct {
	all map[string]openapicommon.OpenAPIDefinition // by name; those that are there already are taken as they are
	ref openapicommon.ReferenceCallback
}

// selfDescribed is a struct that encodes itself, such as IntOrString.
type selfDescribed interface {
	OpenAPISchemaType() []string
	OpenAPISchemaFormat() string
}

// of returns the schema of a type. If that refers to definitions, they are in all by then, and their names
// are added to used.
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

// define adds a struct type to all, and the types of its fields, unless it is there.
func (s schemas) define(name string, t reflect.Type) {
	if _, known := s.all[name]; known {
		return
	}
	s.all[name] = openapicommon.OpenAPIDefinition{} // types may contain themselves
	d := openapicommon.OpenAPIDefinition{}
	d.Schema.Type, d.Schema.Description = spec.StringOrArray{"object"}, docsOf(t)[""]
	s.addFields(&d, t)
	s.all[name] = d
}

// addFields adds the fields of a struct type to a definition, and those of embedded types.
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

// docsOf returns what a type says of itself, by "" and of its fields by their names.
func docsOf(t reflect.Type) map[string]string {
	if documented, ok := reflect.Zero(t).Interface().(interface{ SwaggerDoc() map[string]string }); ok {
		return documented.SwaggerDoc()
	}
	return nil
}
