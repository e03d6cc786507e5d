// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decode reads Kubernetes objects from JSON and protobuf straight into Go values, by a plan
// that is made once per type from its struct tags. What it returns is deeply equal to what
// client-go's decoder would have made of the same bytes.
//
//	plan, err := decode.PlanOf(reflect.TypeFor[corev1.Pod]())
//	pod := new(corev1.Pod)
//	err = plan.JSON(data, pod, decode.Options{Intern: table})
//
// What it promises:
//
//  1. It may give up, it may not guess. Any error is [ErrGiveUp], and says nothing about the data:
//     the caller decodes it once more with client-go's decoder, into a new value, and whether it is
//     bad is that one's judgement. Everything that client-go's decoder refuses is given up, but for
//     an object of another kind, or of none, than the caller has asked for: see its TypeMeta.
//  2. The whole input is checked, also what no field takes: a syntax error anywhere is given up.
//  3. The value never refers to the input, which may be written to as soon as the call returns.
//  4. Types with UnmarshalJSON or UnmarshalText are read by these methods, which get a copy of the
//     bytes.
//  5. Strings may be shared between values by an [Intern] table, but none from the data of a
//     Secret.
//  6. Any number of goroutines may use a plan at a time.
//
// A value must be new: zero, but for what the caller wants to find in fields that are not in the
// data.
package decode
