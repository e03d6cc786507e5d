// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/view"
)

// keysView has some of the keys of an informer's store.
type keysView struct {
	ID    uint64   `json:"id"`
	Name  string   `json:"name"`
	Index string   `json:"index,omitempty"`
	Value string   `json:"value,omitempty"`
	Keys  []string `json:"keys"`
	More  bool     `json:"more"` // whether there are more
}

// objectView has an object.
type objectView struct {
	ID              uint64          `json:"id"`
	Name            string          `json:"name"`
	Key             string          `json:"key"`
	ResourceVersion string          `json:"resourceVersion"`
	Object          json.RawMessage `json:"object,omitempty"`
	Withheld        string          `json:"withheld,omitempty"` // why there is no object
	Text            string          `json:"-"`
}

// keys returns the answer with the keys of all objects, or of those that an index has for a value.
func keys(informer cache.Controller, of *inspect.Inspection, query url.Values) answer {
	snapshot, err := view.Of(informer)
	if err != nil {
		return problem(http.StatusNotFound, "The store of this controller is not known.")
	}
	defer snapshot.Close()
	view := &keysView{ID: of.ID, Name: clean(of.Name)}
	found := snapshot.All()
	if query.Has("index") {
		view.Index, view.Value = clean(query.Get("index")), clean(query.Get("value"))
		if found, err = snapshot.ByIndex(query.Get("index"), query.Get("value")); err != nil {
			return problem(http.StatusNotFound, "There is no such index.")
		}
	}
	view.Keys, view.More = firstKeys(found)
	return answer{http.StatusOK, view, view.html, func(b *bytes.Buffer) {
		for _, key := range view.Keys {
			fmt.Fprintln(b, clean(key))
		}
	}}
}

// firstKeys returns the first keys, and whether there are more. Keys that are too long for an
// object's name are cut.
func firstKeys(found iter.Seq2[string, any]) (first []string, more bool) {
	for key := range found {
		if len(first) == mostKeys {
			return first, true
		}
		if len(key) > longestLinked {
			key = clean(key)
		}
		first = append(first, key)
	}
	return first, false
}

// object returns the answer with an object.
func object(informer cache.Controller, of *inspect.Inspection, key string) answer {
	snapshot, err := view.Of(informer)
	if err != nil {
		return problem(http.StatusNotFound, "The store of this controller is not known.")
	}
	obj, exists := snapshot.Get(key)
	snapshot.Close()
	if !exists {
		return problem(http.StatusNotFound, "The store has no object under this key.")
	}
	view := &objectView{ID: of.ID, Name: clean(of.Name), Key: clean(key)}
	if accessor, err := meta.Accessor(obj); err == nil {
		view.ResourceVersion = clean(accessor.GetResourceVersion())
	}
	if isSecret(obj, of) {
		view.Withheld = "The content of Secrets is not shown."
		return answer{http.StatusOK, view, view.html, nil}
	}
	switch text, err := contentOf(obj); {
	case err != nil:
		view.Withheld = clean("It cannot be written as JSON: " + err.Error())
	case len(text) > mostObject:
		view.Withheld = fmt.Sprintf("It is too large: %d bytes.", len(text))
	default:
		view.Object, view.Text = text, string(printable(text))
	}
	return answer{http.StatusOK, view, view.html, nil}
}

// isSecret reports whether an object is, or may be, a Secret, judging by its type, its kind, and
// its informer's resource.
func isSecret(obj any, of *inspect.Inspection) bool {
	names := []string{of.Name, of.Type, of.Status.Resource.Resource, fmt.Sprintf("%T", obj)}
	if typed, ok := obj.(runtime.Object); ok {
		names = append(names, typed.GetObjectKind().GroupVersionKind().Kind)
	}
	for _, name := range names {
		if strings.Contains(strings.ToLower(name), "secret") {
			return true
		}
	}
	return false
}

// contentOf returns an object as JSON, without its managed fields and kubectl's last-applied
// annotation, which repeats the object.
func contentOf(obj any) (text json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("its MarshalJSON panicked")
		}
	}()
	raw, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var content any
	if err := decoder.Decode(&content); err != nil {
		return nil, err
	}
	if fields, ok := content.(map[string]any); ok {
		strip(fields)
	}
	return json.MarshalIndent(content, "", "  ")
}

// printable escapes unprintable characters, which may change the display of other text, in JSON.
func printable(text []byte) []byte {
	var all []byte
	done := 0
	for at, c := range string(text) {
		if c < utf8.RuneSelf && c != '\x7f' || unicode.IsPrint(c) { // JSON has escaped the others of ASCII
			continue
		}
		all = append(all, text[done:at]...)
		for _, unit := range utf16.Encode([]rune{c}) {
			all = fmt.Appendf(all, `\u%04x`, unit)
		}
		_, size := utf8.DecodeRune(text[at:])
		done = at + size
	}
	return append(all, text[done:]...)
}

func strip(fields map[string]any) {
	metadata, ok := fields["metadata"].(map[string]any)
	if !ok {
		return
	}
	delete(metadata, "managedFields")
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
	}
}
