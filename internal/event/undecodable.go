// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Undecodable stands for an object that no decoder can read, and takes its place in a list or a watch. A
// Reader refuses it, as it refuses an object for which the transform function fails: the store keeps the
// version of the object that it has, if any. It is also the error that says so, without data of the object.
type Undecodable struct {
	metav1.ObjectMeta // only name, namespace, UID and resourceVersion, as far as they can be read
	Why               error
}

// Error names the object and the reason.
func (u *Undecodable) Error() string {
	if name := u.Key(); name != "" {
		return name + ": " + u.Why.Error()
	}
	return u.Why.Error()
}

// Key returns the object's namespace/name, or its name if it has no namespace, or "" if its name is not known.
func (u *Undecodable) Key() string {
	if u.Name == "" || u.Namespace == "" {
		return u.Name
	}
	return u.Namespace + "/" + u.Name
}

// GetObjectKind returns an empty kind.
func (*Undecodable) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns a copy with the same reason.
func (u *Undecodable) DeepCopyObject() runtime.Object {
	return &Undecodable{*u.ObjectMeta.DeepCopy(), u.Why}
}

// isUndecodable reports whether err is about an object that cannot be decoded.
func isUndecodable(err error) bool {
	var bad *Undecodable
	return errors.As(err, &bad)
}
