// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kinformer/cache/conformance/internal/prune"
	"github.com/kinformer/cache/conformance/internal/rewrite"
)

// Mode says what stands for client-go's Reflector in a run.
type Mode string

// The modes of a run.
const (
	// Alias runs the tests as they are: Reflector is whatever the package under test exports.
	Alias Mode = "alias"
	// Rig replaces Reflector and its constructors by the rig, and runs only the tests that make
	// one.
	Rig Mode = "rig"
)

// source is one package whose tests are run.
type source struct {
	// path is relative to client-go's root.
	path string
	// modes are the ways in which it is run.
	modes []Mode
	// floor is the number of tests that must be kept, by mode: fewer means that an exported name
	// was lost.
	floor map[Mode]int
	// assertions are read as the exported interface in its place.
	assertions map[string]string
}

// sources are the packages of client-go that this project stands in for.
var sources = []source{
	{
		path:  "tools/cache",
		modes: []Mode{Alias, Rig},
		floor: map[Mode]int{Alias: 106, Rig: 21},
		assertions: map[string]string{
			"sharedIndexInformer": "SharedIndexInformer",
			"threadSafeMap":       "ThreadSafeStoreWithTransaction",
		},
	},
	{path: "tools/cache/synctrack", modes: []Mode{Alias}, floor: map[Mode]int{Alias: 10}},
	{path: "tools/cache/testing", modes: []Mode{Alias}, floor: map[Mode]int{Alias: 2}},
}

// clientGo is the module whose tests are run.
const clientGo = "k8s.io/client-go"

// engines is the folder of the reflectors that the rig can drive.
const engines = "github.com/kinformer/cache/conformance/internal/engine/"

// Target is an implementation that the tests run against.
type Target struct {
	// Name is how the command line calls it.
	Name string
	// paths maps client-go's import paths to the target's.
	paths map[string]string
	// shims is the file with the target's answers to questions about an informer.
	shims string
	// engine is the package whose New makes what the rig drives.
	engine string
}

// Targets lists what the tests can run against: this project, and client-go itself. The latter
// proves that the rewriting is sound: whatever fails there is a fault of the machinery, not of an
// implementation.
func Targets() []Target {
	ours := map[string]string{}
	theirs := map[string]string{}
	for _, s := range sources {
		from := path.Join(clientGo, s.path)
		ours[from] = path.Join("github.com/kinformer/cache", s.path[len("tools/cache"):])
		theirs[from] = from
	}
	return []Target{
		{Name: "kinformer", paths: ours, shims: "shims/ours/informer.go", engine: engines + "kinformer"},
		{Name: "clientgo", paths: theirs, shims: "shims/clientgo/informer.go", engine: engines + "clientgo"},
	}
}

// TargetNamed finds a target by its name.
func TargetNamed(name string) (Target, error) {
	all := Targets()
	i := slices.IndexFunc(all, func(t Target) bool { return t.Name == name })
	if i < 0 {
		return Target{}, fmt.Errorf("no target is called %q", name)
	}
	return all[i], nil
}

// rules says how the tests of s are rewritten for the target.
func (t Target) rules(s source, mode Mode) rewrite.Rules {
	r := rewrite.Rules{
		DotImport:  t.paths[path.Join(clientGo, s.path)],
		Imports:    t.paths,
		Assertions: s.assertions,
	}
	if mode == Rig {
		r.Rig = &rewrite.Rig{
			Constructors: map[string]string{
				"NewReflector":            "newRig",
				"NewNamedReflector":       "newNamedRig",
				"NewReflectorWithOptions": "newRigWithOptions",
			},
			Type:    "Reflector",
			RigType: "rig",
		}
	}
	return r
}

//go:embed shims/ours/informer.go shims/clientgo/informer.go shims/rig/rig.go
var shimFiles embed.FS

// shimmed are upstream's own helpers that look inside the implementation; the shims declare their
// equals.
var shimmed = []string{"isStarted", "eventHandlerCount", "isRegistered"}

// shimsFor returns our files that the tests of s need, as files of a package called name.
func (t Target) shimsFor(s source, mode Mode, name string) ([]prune.File, error) {
	if s.assertions == nil {
		return nil, nil
	}
	sources := []string{t.shims}
	if mode == Rig {
		sources = append(sources, "shims/rig/rig.go")
	}
	var out []prune.File
	for _, from := range sources {
		src, err := shimFiles.ReadFile(from)
		if err != nil {
			return nil, fmt.Errorf("reading a shim: %w", err)
		}
		base := strings.TrimSuffix(path.Base(from), ".go")
		f, err := rewrite.Rename(prune.File{Name: "shim_" + base + "_test.go", Src: src}, name)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	if mode == Rig {
		src := fmt.Appendf(nil, "package %s\n\nimport engines %q\n\nfunc init() { engineOf = engines.New }\n", name, t.engine)
		out = append(out, prune.File{Name: "shim_engine_test.go", Src: src})
	}
	return out, nil
}
