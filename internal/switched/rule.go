// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package switched puts client-go's informers and stores in the place of this module's, if the environment or an
// option says so, and knows those that run, for the packages that show informers.
package switched

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/event"
)

// Variable is the environment variable that selects client-go's informers. It is read when an informer or a
// store is made.
const Variable = "KINFORMER"

// ClientGo is the name of client-go's engine, for the option of an informer, and for those that show informers.
const ClientGo = "client-go"

// rule is the meaning of a value of Variable. The zero rule says nothing.
type rule struct {
	on, off bool     // everything
	names   []string // of what is off
	only    []string // of what is on, if everything else is off
}

// nameForm is the form of a name in a rule: a resource, a kind or a Go type.
var nameForm = regexp.MustCompile(`^\*?[A-Za-z0-9][A-Za-z0-9._-]*$`)

// versionForm is the form of a version in the names that logs and the page have, as in pods.v1.
var versionForm = regexp.MustCompile(`(?i)^v[0-9]+((alpha|beta)[0-9]+)?$`)

// ruleOf returns the meaning of a value, and whether it has one.
func ruleOf(value string) (r rule, understood bool) {
	word, list, listed := strings.Cut(strings.TrimSpace(value), ":")
	if !listed {
		off, known := event.SwitchedOff(word)
		return rule{on: !off, off: off}, known
	}
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if !nameForm.MatchString(name) {
			return rule{}, false
		}
		names = append(names, name)
	}
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "off":
		return rule{names: names}, true
	case "only":
		return rule{only: names}, true
	}
	return rule{}, false
}

// ofProcess is the rule of the environment. A value without a meaning is logged once, and means off.
func ofProcess() (r rule, value string) {
	value = os.Getenv(Variable)
	if value == "" {
		return rule{}, ""
	}
	r, understood := ruleOf(value)
	if !understood {
		once("value "+value, func() {
			klog.Background().Error(nil, "A variable of the environment has a value that is not understood: all informers are client-go's",
				"variable", Variable, "value", value, "use", "off, off:pods,nodes or only:widgets.example.com")
		})
		return rule{off: true}, value
	}
	return r, value
}

// told has the texts that once has logged.
var told sync.Map

// once calls log for the first call with a text in the process.
func once(text string, log func()) {
	if _, before := told.LoadOrStore(text, true); !before {
		log()
	}
}

// Forget makes once log again what it has logged. It is for tests.
func Forget() { told.Clear() }

// Subject describes the objects of an informer, as far as they are known. That of a store is empty.
type Subject struct {
	Resource schema.GroupVersionResource
	Example  any
}

// Decide returns why the informer of a ListerWatcher is client-go's, and "" if it is this module's: because of
// the environment, or of the option engine of an informer about which the environment says nothing. An informer
// without a ListerWatcher, which never runs or follows sources, is this module's; see also Keep.
func Decide(lw clientgo.ListerWatcher, of Subject, engine string) (why string) {
	why = DecideStore(of, engine)
	if _, keep := lw.(kept); keep || event.IsNil(lw) {
		if why != "" {
			stays("informers of several sources, and those that cannot run", why)
		}
		return ""
	}
	return why
}

// StaysQueue logs that a queue is this module's, if stores are client-go's.
func StaysQueue() {
	if why := DecideStore(Subject{}, ""); why != "" {
		stays("queues that the program makes", why)
	}
}

// stays logs, once for each what and why, that something has no counterpart of client-go's.
func stays(what, why string) {
	once("stays "+what+" "+why, func() {
		klog.Background().Info("Some of what is to be client-go's stays as it is", "what", what, "because", why)
	})
}

// DecideStore is Decide for what has no ListerWatcher: a store, or a controller with the user's queue.
func DecideStore(of Subject, engine string) (why string) {
	r, value := ofProcess()
	switch {
	case r.on:
		return ""
	case r.off:
		return Variable + "=" + value
	case r.only != nil:
		if of.matched(r.only) == "" {
			return Variable + "=" + value
		}
		return ""
	}
	if name := of.matched(r.names); name != "" {
		return Variable + "=off:" + name
	}
	if engine == ClientGo {
		return "Options.Engine"
	}
	return ""
}

// matched returns the first of the names that is one of the objects', or "".
func (s Subject) matched(names []string) string {
	for _, name := range names {
		if s.has(name) {
			return name
		}
	}
	return ""
}

// has reports whether name is the objects' resource or kind, with or without the group, or their Go type. A
// name with a group is that of a type whose group is not known. A version before the group counts for nothing.
func (s Subject) has(name string) bool {
	if s.Example != nil {
		if of := fmt.Sprintf("%T", s.Example); name == of || name == strings.TrimPrefix(of, "*") {
			return true
		}
	}
	for _, word := range s.words() {
		if word.has(name) {
			return true
		}
	}
	return false
}

// word is a resource or a kind, with its group.
type word struct {
	text    string
	inGroup func(group string) bool
}

func (w word) has(name string) bool {
	if strings.EqualFold(name, w.text) {
		return true
	}
	if len(name) <= len(w.text) || name[len(w.text)] != '.' || !strings.EqualFold(name[:len(w.text)], w.text) {
		return false
	}
	group := name[len(w.text)+1:]
	version, rest, grouped := strings.Cut(group, ".")
	return w.inGroup(group) || versionForm.MatchString(version) && (w.inGroup(rest) || !grouped && w.inGroup("core"))
}

// words returns the resource that is known, the kind, and the resource that most servers have for the kind.
func (s Subject) words() (words []word) {
	if r := s.Resource; r.Resource != "" {
		words = append(words, word{r.Resource, func(group string) bool { return strings.EqualFold(group, r.Group) }})
	}
	kind, inGroup := kindOf(s.Example)
	if kind == "" {
		return words
	}
	guess, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: kind})
	for _, text := range []string{kind, guess.Resource, kind + "s", kind + "es"} { // the guess makes gatewaies of Gateway
		words = append(words, word{text, inGroup})
	}
	return words
}

// name returns the resource of the objects if it is known, otherwise their kind with its group, or their Go type.
func (s Subject) name() string {
	if s.Resource.Resource != "" {
		return s.Resource.GroupResource().String()
	}
	if object, ok := s.Example.(runtime.Object); ok && !event.IsNil(object) {
		if gvk := object.GetObjectKind().GroupVersionKind(); gvk.Kind != "" {
			return gvk.GroupKind().String()
		}
	}
	if s.Example == nil {
		return "objects of any type"
	}
	return fmt.Sprintf("%T", s.Example)
}

// kindOf returns the kind of an example, and a function that reports whether a group can be the kind's: the
// kind and the group of its metadata, or those that a Go type has by its name and its package.
func kindOf(example any) (kind string, inGroup func(group string) bool) {
	object, ok := example.(runtime.Object)
	if !ok || event.IsNil(object) {
		return "", nil
	}
	if gvk := object.GetObjectKind().GroupVersionKind(); gvk.Kind != "" {
		return gvk.Kind, func(group string) bool { return strings.EqualFold(group, gvk.Group) }
	}
	t := reflect.TypeOf(example)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	path, builtIn := strings.CutPrefix(t.PkgPath(), "k8s.io/api/")
	if !builtIn {
		return t.Name(), func(string) bool { return true }
	}
	folder, _, _ := strings.Cut(path, "/")
	return t.Name(), func(group string) bool {
		first, rest, _ := strings.Cut(strings.ToLower(group), ".")
		if folder == "apiserverinternal" {
			return first == "internal" && rest == "apiserver.k8s.io"
		}
		return first == folder && (rest == "" || rest == "k8s.io" || strings.HasSuffix(rest, ".k8s.io"))
	}
}

// kept is a ListerWatcher whose informer is this module's.
type kept struct{ clientgo.ListerWatcher }

// Keep returns a ListerWatcher whose informer is this module's, whatever the environment says: that of an
// informer that follows other sources, or was decided about before.
func Keep(lw clientgo.ListerWatcher) clientgo.ListerWatcher {
	if _, already := lw.(kept); already {
		return lw
	}
	return kept{lw}
}

// Kept returns the ListerWatcher that was passed to Keep, or lw.
func Kept(lw clientgo.ListerWatcher) clientgo.ListerWatcher {
	if k, ok := lw.(kept); ok {
		return k.ListerWatcher
	}
	return lw
}
