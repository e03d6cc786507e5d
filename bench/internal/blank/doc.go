// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package blank has the bytes of the objects of a world: forms that were encoded beforehand, with
// places of fixed width that are filled in when an object is sent. So a server that sends 150,000
// pods of 7 KB has forms for some thousands, and what it does for each is a copy of the bytes.
//
// A form is made of an object whose variable texts and times are marks, which are then looked for
// in its encoding. What is around it in a frame or a list is apimachinery's.
package blank
