// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"
)

// resource is the resource in the errors of writers.
var resource = schema.GroupResource{Resource: "objects"}

// TooManyRequests returns a 429 with a Retry-After of retryAfter, rounded up to whole seconds.
func TooManyRequests(retryAfter time.Duration) error {
	return apierrors.NewTooManyRequests("scripted: too many requests", int(math.Ceil(retryAfter.Seconds())))
}

// Expired returns a 410 with the reason Expired, as for a compacted resourceVersion.
func Expired() error {
	return apierrors.NewResourceExpired("scripted: the resourceVersion was compacted")
}

// TooLargeResourceVersion returns the 504 for a resourceVersion that the server has not reached, with
// the cause that clients check.
func TooLargeResourceVersion(asked, current uint64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("resourceVersion %d is ahead of the current %d", asked, current), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    metav1.CauseTypeResourceVersionTooLarge,
		Message: "Too large resource version",
	}}
	return err
}

// InternalError returns a 500.
func InternalError() error {
	return apierrors.NewInternalError(errors.New("scripted: internal error"))
}

// ConnectionRefused returns the error of a dial to a port without a listener.
func ConnectionRefused() error {
	return &net.OpError{
		Op:   "dial",
		Net:  "tcp",
		Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 6443},
		Err:  os.NewSyscallError("connect", syscall.ECONNREFUSED),
	}
}

// ErrorEvent returns an ERROR event with the Status of err. An error without a Status becomes an
// internal error.
func ErrorEvent(err error) watch.Event {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		status = apierrors.NewInternalError(err)
	}
	s := status.Status()
	return watch.Event{Type: watch.Error, Object: &s}
}

// Garbage returns events that no API server should send, for a stream of objects of the type of
// example, which is a stored object: no object, objects of the wrong type (one without metadata, one
// with), a Table, and an unknown event type. None of them may stop a client or reach its handlers.
func Garbage(example runtime.Object) []watch.Event {
	events := []watch.Event{
		{Type: watch.Added, Object: nil},
		{Type: watch.Added, Object: &metav1.Status{Status: metav1.StatusSuccess}},
		{Type: watch.Added, Object: &metav1.Table{}},
		{Type: "NO-SUCH-TYPE", Object: example},
	}
	if _, same := example.(*metav1.PartialObjectMetadata); !same {
		events = append(events, watch.Event{Type: watch.Modified, Object: &metav1.PartialObjectMetadata{}})
	}
	return events
}

func expired(rv, compacted uint64) *apierrors.StatusError {
	return apierrors.NewResourceExpired(fmt.Sprintf("resourceVersion %d was compacted, the oldest held is %d", rv, compacted))
}

// unversioned returns the response of an API server to a watch from a version that is not a number: an
// internal error.
func unversioned(cause error) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusInternalServerError,
		Message: cause.Error(),
	}}
}

// nameless returns the error for an object without a name.
func nameless(obj runtime.Object) error {
	return apierrors.NewInvalid(obj.GetObjectKind().GroupVersionKind().GroupKind(), "", field.ErrorList{
		field.Required(field.NewPath("metadata", "name"), "the source makes no names from generateName"),
	})
}

func invalidOptions(errs field.ErrorList) error {
	return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
}
