// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformerclient

import (
	"crypto/rand"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// token is a continue token. Its text is "reader-number/key", for example
// "K3J9XQ2A-17/ns0/p198". It is not signed: it gives access to nothing that a list without a token
// would not return. The options of the list are not part of it, since the Reader keeps them.
type token struct {
	reader string // the name of the Reader that made the token
	number uint64 // the number of the list in that Reader
	key    string // the key of the last object before the next page
}

// readerNameLength is the length of a Reader's name, at 5 bits for each character: with 40 bits,
// the tokens of a million other Readers lead to lists of this one with a probability of 1e-6.
const readerNameLength = 8

// newReaderName returns a random name, which distinguishes a Reader from those of other replicas,
// and of the process before a restart: all of them count their lists from one.
func newReaderName() string { return rand.Text()[:readerNameLength] }

func (t token) String() string { return fmt.Sprintf("%s-%d/%s", t.reader, t.number, t.key) }

// parseToken reports whether text is a token. The object of its key may not exist.
func parseToken(text string) (t token, ok bool) {
	list, key, hasKey := strings.Cut(text, "/")
	reader, digits, _ := strings.Cut(list, "-")
	number, err := strconv.ParseUint(digits, 10, 64)
	return token{reader, number, key}, hasKey && err == nil && len(reader) == readerNameLength
}

// property is a property of a request that must be the same for each page of a list, as text.
type property struct{ name, value string }

// properties returns the properties of a request for a list of that type, always in the same
// order. Two functions of Sorted cannot be compared: the property is whether there is one.
func (q *request) properties(list reflect.Type) []property {
	sorted := "none"
	if q.sorted {
		sorted = "given"
	}
	return []property{
		{"kind", q.kind.String()},
		{"type", list.String()},
		{"namespace", q.options.Namespace},
		{"label selector", labelsText(q.options.LabelSelector)},
		{"field selector", fieldsText(q.options.FieldSelector)},
		{"Sorted", sorted},
	}
}

// differences describes the properties of a request that are not those of the first page.
func differences(first, request []property) string {
	var list []string
	for i, p := range request {
		if p != first[i] {
			list = append(list, fmt.Sprintf("%s %q instead of %q", p.name, p.value, first[i].value))
		}
	}
	return strings.Join(list, ", ")
}

func labelsText(selector labels.Selector) string {
	if selector == nil {
		return ""
	}
	if _, selectable := selector.Requirements(); !selectable {
		return "<nothing>" // its String is that of everything
	}
	return selector.String()
}

// fieldsText sorts the fields, because a selector that is made of a map has them in any order.
func fieldsText(selector fields.Selector) string {
	if selector == nil {
		return ""
	}
	var list []string
	for _, field := range selector.Requirements() {
		list = append(list, field.Field+"="+fields.EscapeValue(field.Value))
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}
