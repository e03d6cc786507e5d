// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory

import (
	"k8s.io/client-go/informers/admissionregistration"
	"k8s.io/client-go/informers/apiserverinternal"
	"k8s.io/client-go/informers/apps"
	"k8s.io/client-go/informers/autoscaling"
	"k8s.io/client-go/informers/batch"
	"k8s.io/client-go/informers/certificates"
	"k8s.io/client-go/informers/coordination"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/informers/discovery"
	"k8s.io/client-go/informers/events"
	"k8s.io/client-go/informers/extensions"
	"k8s.io/client-go/informers/flowcontrol"
	"k8s.io/client-go/informers/lifecycle"
	"k8s.io/client-go/informers/networking"
	"k8s.io/client-go/informers/node"
	"k8s.io/client-go/informers/policy"
	"k8s.io/client-go/informers/rbac"
	"k8s.io/client-go/informers/resource"
	"k8s.io/client-go/informers/scheduling"
	"k8s.io/client-go/informers/storage"
	"k8s.io/client-go/informers/storagemigration"
)

// Admissionregistration returns the accessors of this API group.
func (f *typedFactory) Admissionregistration() admissionregistration.Interface {
	return admissionregistration.New(f.accessors, f.accessors.namespace, f.accessors.tweak)
}

// Internal returns the accessors of this API group.
func (f *typedFactory) Internal() apiserverinternal.Interface {
	return apiserverinternal.New(f.accessors, f.accessors.namespace, f.accessors.tweak)
}

// Apps returns the accessors of this API group.
func (f *typedFactory) Apps() apps.Interface {
	return apps.New(f.accessors, f.accessors.namespace, f.accessors.tweak)
}

// Autoscaling returns the accessors of this API group.
func (f *typedFactory) Autoscaling() autoscaling.Interface {
	return autoscaling.New(f.accessors, f.accessors.namespace, f.accessors.tweak)
}

// Batch returns the accessors of this API group.
func (f *typedFactory) Batch() batch.Interface {
	return batch.New(f.accessors, f.accessors.namespace, f.accessors.tweak)
}

// Certificates returns the accessors of this API group.
func (f *typedFactory) Certificates() certificates.Interface {
	return certificates.New(f.accessors, f.accessors.namespace, f.accessors.tweak)
}

// Coordination returns the accessors of this API group.
func (f *typedFactory) Coordination() coordination.Interface {
	return coordination.New(f.accessors, f.accessors.namespace, f.accessors.tweak)
}

// Core returns the accessors of this API group.
func (f *typedFactory) Core() core.Interface {
	return core.New(f.accessors, f.accessors.namespace, f.accessors.tweak)
}

// Discovery returns the accessors of this API group.
func (f *typedFactory) Discovery() discovery.Interface {
	return discovery.New(f.accessors, f.accessors.namespace, f.accessors.tweak)
}

// Events returns the accessors of this API group.
func (f *typedFactory) Events() events.Interface {
	return events.New(f.accessors, f.accessors.namespace, f.accessors.tweak)
}

// Extensions returns the accessors of this API group.
func (f *typedFactory) Extensions() extensions.Interface {
	return extensions.New(f.accessors, f.accessors.namespace, f.accessors.tweak)
}

// Flowcontrol returns the accessors of this API group.
func (f *typedFactory) Flowcontrol() flowcontrol.Interface {
	return flowcontrol.New(f.accessors, f.accessors.namespace, f.accessors.tweak)
}

// Lifecycle returns the accessors of this API group.
func (f *typedFactory) Lifecycle() lifecycle.Interface {
	return lifecycle.New(f.accessors, f.accessors.namespace, f.accessors.tweak)
}

// Networking returns the accessors of this API group.
func (f *typedFactory) Networking() networking.Interface {
	return networking.New(f.accessors, f.accessors.namespace, f.accessors.tweak)
}

// Node returns the accessors of this API group.
func (f *typedFactory) Node() node.Interface {
	return node.New(f.accessors, f.accessors.namespace, f.accessors.tweak)
}

// Policy returns the accessors of this API group.
func (f *typedFactory) Policy() policy.Interface {
	return policy.New(f.accessors, f.accessors.namespace, f.accessors.tweak)
}

// Rbac returns the accessors of this API group.
func (f *typedFactory) Rbac() rbac.Interface {
	return rbac.New(f.accessors, f.accessors.namespace, f.accessors.tweak)
}

// Resource returns the accessors of this API group.
func (f *typedFactory) Resource() resource.Interface {
	return resource.New(f.accessors, f.accessors.namespace, f.accessors.tweak)
}

// Scheduling returns the accessors of this API group.
func (f *typedFactory) Scheduling() scheduling.Interface {
	return scheduling.New(f.accessors, f.accessors.namespace, f.accessors.tweak)
}

// Storage returns the accessors of this API group.
func (f *typedFactory) Storage() storage.Interface {
	return storage.New(f.accessors, f.accessors.namespace, f.accessors.tweak)
}

// Storagemigration returns the accessors of this API group.
func (f *typedFactory) Storagemigration() storagemigration.Interface {
	return storagemigration.New(f.accessors, f.accessors.namespace, f.accessors.tweak)
}
