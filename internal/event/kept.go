// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"
)

// maxKept is how large an error may be that is held until the next one comes, perhaps for as long
// as the process runs. Those of servers and clients have less than a tenth of that; one that quotes
// an answer may have 100 MB.
const maxKept = 4 << 10

// keptError stands for an error of which not everything is kept.
type keptError struct {
	text   string
	causes []error
}

func (e *keptError) Error() string { return e.text }

func (e *keptError) Unwrap() []error { return e.causes }

// Kept returns what of err may be held for long: err itself, or an error with the same text, if
// that is not too long, that wraps what err wraps but for what holds an object or is too large.
// errors.Is and errors.As find all the rest, errors of a server and KeyErrors also where they had
// to be cut.
func Kept(err error) error {
	if err == nil {
		return nil
	}
	rest, cut := keep(err)
	if !cut {
		return err
	}
	return &keptError{text: strings.Clone(Shortened(err.Error())), causes: []error{rest}}
}

// keep returns err, or what is left of it if something had to be cut.
func keep(err error) (rest error, cut bool) {
	if known, cut, rest := keepKnown(err); known {
		return rest, cut
	}
	causes := make([]error, 0, 1)
	for _, cause := range causesOf(err) {
		if cause == nil {
			continue
		}
		rest, less := keep(cause)
		causes, cut = append(causes, rest), cut || less
	}
	switch {
	case !cut && len(err.Error()) <= maxKept:
		return err, false
	case len(causes) == 0:
		return fmt.Errorf("an error of type %T that was too large to be kept", err), true
	default:
		return &keptError{text: strings.Clone(Shortened(err.Error())), causes: causes}, true
	}
}

// keepKnown is keep for the types of errors that are cut in ways of their own.
func keepKnown(err error) (known, cut bool, rest error) {
	switch e := err.(type) {
	case clientgo.KeyError:
		return true, true, keyErrorWithout(e)
	case *apierrors.StatusError:
		if e.ErrStatus.Size() <= maxKept {
			return true, false, err
		}
		return true, true, statusWithout(e)
	}
	switch {
	case len(err.Error()) <= maxKept:
	case runtime.IsMissingKind(err):
		return true, true, runtime.NewMissingKindErr("...")
	case runtime.IsMissingVersion(err):
		return true, true, runtime.NewMissingVersionErr("...")
	}
	return false, false, nil
}

// keyErrorWithout is e without its object.
func keyErrorWithout(e clientgo.KeyError) clientgo.KeyError {
	cause := errors.New("no key")
	if e.Err != nil {
		cause, _ = keep(e.Err)
	}
	return clientgo.KeyError{Obj: fmt.Sprintf("of type %T", e.Obj), Err: cause}
}

// statusWithout is e with what decides about an error of a server, and the beginning of what it
// says.
func statusWithout(e *apierrors.StatusError) *apierrors.StatusError {
	said := e.ErrStatus
	rest := metav1.Status{Status: metav1.StatusFailure, Reason: Shortened(said.Reason), Code: said.Code, Message: Shortened(said.Message)}
	if d := said.Details; d != nil {
		rest.Details = &metav1.StatusDetails{Group: Shortened(d.Group), Kind: Shortened(d.Kind), RetryAfterSeconds: d.RetryAfterSeconds}
		for _, cause := range d.Causes[:min(len(d.Causes), 8)] {
			rest.Details.Causes = append(rest.Details.Causes, metav1.StatusCause{Type: Shortened(cause.Type)})
		}
	}
	return &apierrors.StatusError{ErrStatus: rest}
}
