// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kinformer/cache/internal/decode"
	"github.com/kinformer/cache/internal/event"
)

// undecodable returns what can be said about an object that the decoder of the client cannot read either,
// or nil if it can. That decoder is apimachinery's, whose rules are those of the type.
func undecodable(of reflect.Type, data []byte, e Encoding) *event.Undecodable {
	why := readAsClient(of, data, e)
	if why == nil {
		return nil
	}
	bad := &event.Undecodable{Why: errors.New(whyUndecodable(why))}
	name, namespace := string(decode.Name(data, e)), string(decode.Namespace(data, e))
	if len(name)+len(namespace) <= longestKey {
		bad.Name, bad.Namespace = strings.ToValidUTF8(name, ""), strings.ToValidUTF8(namespace, "")
	}
	bad.UID = types.UID(decode.UID(data, e))
	bad.ResourceVersion = string(decode.Version(data, e))
	return bad
}

// longestKey is the most bytes of a namespace and a name.
const longestKey = 63 + 253

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

// harmless matches other errors whose text has no data of the object: of syntax, of protobuf, and of base64.
var harmless = regexp.MustCompile(`^(invalid character|unexpected (EOF|end of JSON input)|proto: [A-Za-z: ]*\d*[A-Za-z ():=]*\d*[A-Za-z ()]*$|illegal base64 data)`)

// whyUndecodable returns the reason why an object cannot be decoded, without data: of the errors of a type's own
// decoder, which may quote what they have read, only their type is shown.
func whyUndecodable(err error) string {
	found := mismatch.FindStringSubmatch(err.Error())
	switch {
	case found == nil && harmless.MatchString(err.Error()):
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
