// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package embedded

import (
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// groupVersions are the versions of the built-in types. There is one a group.
var groupVersions = []schema.GroupVersion{
	corev1.SchemeGroupVersion,
	appsv1.SchemeGroupVersion,
	coordinationv1.SchemeGroupVersion,
	eventsv1.SchemeGroupVersion,
}

// builtin is the scheme of the built-in types and builtinCodecs its codecs;
// neither changes after initialization.
//
// The registry thinks in internal versions, whose Go types exist only in
// k8s.io/kubernetes. Each v1 type is therefore registered a second time, as the
// internal version of its kind, and every conversion is the identity.
var (
	builtin       = newScheme()
	builtinCodecs = serializer.NewCodecFactory(builtin)
)

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(s))
	utilruntime.Must(appsv1.AddToScheme(s))
	utilruntime.Must(coordinationv1.AddToScheme(s))
	utilruntime.Must(eventsv1.AddToScheme(s))
	for _, gv := range groupVersions {
		registerInternal(s, gv)
		utilruntime.Must(s.SetVersionPriority(gv))
	}
	for _, r := range resources {
		if len(r.fields) > 0 {
			gvk := r.version.WithKind(r.kind)
			utilruntime.Must(s.AddFieldLabelConversionFunc(gvk, r.convertFieldLabel))
		}
	}
	return s
}

// registerInternal registers the types of gv as internal ones too, except those
// of the meta group, which every version shares.
func registerInternal(s *runtime.Scheme, gv schema.GroupVersion) {
	internal := schema.GroupVersion{Group: gv.Group, Version: runtime.APIVersionInternal}
	for kind, t := range s.KnownTypes(gv) {
		if strings.HasSuffix(t.PkgPath(), "/apis/meta/v1") {
			continue
		}
		obj := reflect.New(t).Interface().(runtime.Object)
		s.AddKnownTypeWithName(internal.WithKind(kind), obj)
	}
}

// storageCodec encodes built-in objects for etcd, each in the version of its
// group, and decodes what it finds there.
func storageCodec() (runtime.Codec, runtime.GroupVersioner) {
	info, ok := runtime.SerializerInfoForMediaType(builtinCodecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	if !ok {
		panic("no serializer for protobuf")
	}
	versions := schema.GroupVersions(groupVersions)
	return builtinCodecs.CodecForVersions(info.Serializer, builtinCodecs.UniversalDeserializer(), versions, runtime.InternalGroupVersioner), versions
}
