// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kinformer/cache/internal/event"
)

// undecodable returns what can be said about an object that the decoder of the client cannot read either,
// or nil if it can. That decoder is apimachinery's, whose rules are those of the type.
func undecodable(of reflect.Type, data []byte, e Encoding) *event.Undecodable {
	why := readAsClient(of, data, e)
	if why == nil {
		return nil
	}
	bad := &event.Undecodable{Why: errors.New(whyUndecodable(why, e))}
	if of := identityOf(data, e); len(of.Name)+len(of.Namespace) <= longestKey {
		bad.Name, bad.Namespace, bad.UID, bad.ResourceVersion = of.Name, of.Namespace, of.UID, of.ResourceVersion
	}
	return bad
}

// longestKey is the most bytes of a namespace and a name.
const longestKey = 63 + 253

// identityOf returns the metadata of an encoded object that identify it, as far as they can be read.
func identityOf(data []byte, e Encoding) metav1.ObjectMeta {
	if e == Protobuf {
		var object metav1.PartialObjectMetadata // its other fields are skipped
		_ = object.Unmarshal(data)
		return object.ObjectMeta
	}
	var object struct {
		Metadata struct {
			Name            string    `json:"name"`
			Namespace       string    `json:"namespace"`
			UID             types.UID `json:"uid"`
			ResourceVersion string    `json:"resourceVersion"`
		} `json:"metadata"`
	}
	_ = kjson.Unmarshal(data, &object)
	of := &object.Metadata
	return metav1.ObjectMeta{Name: of.Name, Namespace: of.Namespace, UID: of.UID, ResourceVersion: of.ResourceVersion}
}

// readAsClient returns the error of client-go's decoder for an object, or nil also if that decoder panics.
func readAsClient(of reflect.Type, data []byte, e Encoding) (err error) {
	defer func() {
		if recover() != nil {
			err = nil
		}
	}()
	if of == reflect.TypeFor[*unstructured.Unstructured]() {
		return kjson.Unmarshal(data, &map[string]any{})
	}
	into := reflect.New(of.Elem()).Interface()
	if message, ok := into.(interface{ Unmarshal([]byte) error }); ok && e == Protobuf {
		return message.Unmarshal(data)
	}
	return kjson.Unmarshal(data, into)
}

// mismatch is the text of an error about a JSON value of another type than that of its field: the type of
// the value, and the path and type of the field.
var mismatch = regexp.MustCompile(`cannot unmarshal (\w+)(?: .*)? into Go (?:struct field [^. ]*\.(\S+)|value) of type (\S+)$`)

// harmless matches the other errors about JSON whose text has no data of the object: of syntax, and of base64.
var harmless = regexp.MustCompile(`^(invalid character '.{1,8}' |unexpected (EOF|end of JSON input)$|illegal base64 data )`)

// whyUndecodable returns the reason why an object cannot be decoded, without data. The errors of generated
// decoders of protobuf have none. Of those of a type's own decoder of JSON, which may quote what it has read,
// only their type is shown.
func whyUndecodable(err error, e Encoding) string {
	found := mismatch.FindStringSubmatch(err.Error())
	switch {
	case e == Protobuf, found == nil && harmless.MatchString(err.Error()):
		return event.RedactedAnswer(err).Error()
	case found == nil:
		return fmt.Sprintf("its decoder returns a %T", err)
	case found[2] == "":
		return fmt.Sprintf("%s instead of %s", found[1], found[3])
	default:
		return fmt.Sprintf("%s: %s instead of %s", found[2], found[1], found[3])
	}
}

// badItemError is the error of a list with an item that cannot be decoded. The place counts from 0.
type badItemError struct {
	place int
	*event.Undecodable
}

func (e *badItemError) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("item %d: %v", e.place, e.Undecodable)
	}
	return fmt.Sprintf("item %d, %v", e.place, e.Undecodable)
}

func (e *badItemError) Unwrap() error { return e.Undecodable }
