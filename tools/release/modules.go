// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// mod is one go.mod file.
type mod struct {
	folder string // slashes, relative to the root's; empty for the root
	path   string // of the file
	*modfile.File
}

// readModules reads the root's go.mod file, and then those of all nested modules.
func readModules(dir string) (modules []*mod, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != dir && ignored(entry.Name()):
			return filepath.SkipDir
		case entry.Name() != "go.mod":
			return nil
		}
		m, err := readModule(dir, path)
		if err == nil {
			modules = append(modules, m)
		}
		return err
	})
	slices.SortFunc(modules, func(a, b *mod) int { return strings.Compare(a.folder, b.folder) })
	if err == nil && (len(modules) == 0 || modules[0].folder != "") {
		err = fmt.Errorf("%s has no go.mod", dir)
	}
	return modules, err
}

// ignored reports whether a folder holds no module of the repository.
func ignored(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "bin" || name == "testdata"
}

func readModule(dir, path string) (*mod, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	file, err := modfile.Parse(path, text, nil)
	if err != nil {
		return nil, err
	}
	folder, err := filepath.Rel(dir, filepath.Dir(path))
	if folder == "." {
		folder = ""
	}
	return &mod{filepath.ToSlash(folder), path, file}, err
}

// clientGo is the version of client-go that the root requires.
func (r *release) clientGo() string { return r.modules[0].version("k8s.io/client-go") }

// version is the one that a module requires of another, or empty.
func (m *mod) version(path string) string {
	for _, require := range m.Require {
		if require.Mod.Path == path {
			return require.Mod.Version
		}
	}
	return ""
}

// isOurs reports whether a module is one of this repository.
func (r *release) isOurs(path string) bool {
	return path == r.root || strings.HasPrefix(path, r.root+"/")
}

// checkModules: what users get has the same requirements as what we test, although the replace
// directives count only here.
func (r *release) checkModules(context.Context) (string, error) {
	var faults []error
	fault := func(m *mod, format string, args ...any) {
		faults = append(faults, fmt.Errorf("%s: %s", filepath.ToSlash(filepath.Join(m.folder, "go.mod")), fmt.Sprintf(format, args...)))
	}
	for _, folder := range r.published {
		if !slices.ContainsFunc(r.modules, func(m *mod) bool { return m.folder == folder }) {
			faults = append(faults, fmt.Errorf("%s has no go.mod", folder))
		}
	}
	for _, m := range r.modules {
		if want := r.module(m.folder).Path; m.Module.Mod.Path != want {
			fault(m, "is of module %s, which has to be %s", m.Module.Mod.Path, want)
		}
		if want := r.modules[0].Go.Version; m.Go == nil || m.Go.Version != want {
			fault(m, "has another go line than the root: go %s", want)
		}
		r.checkRequires(m, fault)
		r.checkReplaces(m, fault)
	}
	return fmt.Sprintf("%d; published: %s; %s in all of them", len(r.modules), strings.Join(r.paths(), ", "), r.clientGo()), errors.Join(faults...)
}

// paths are those of the modules that are published.
func (r *release) paths() (paths []string) {
	for _, folder := range r.folders() {
		paths = append(paths, r.module(folder).Path)
	}
	return paths
}

type faultFunc func(m *mod, format string, args ...any)

// checkRequires: our own modules are required at this version, and those of Kubernetes at one.
func (r *release) checkRequires(m *mod, fault faultFunc) {
	for _, require := range m.Require {
		path, version := require.Mod.Path, require.Mod.Version
		switch {
		case r.isOurs(path):
			if version != r.version {
				fault(m, "requires %s %s: go run ./release -version %s -write", path, version, r.version)
			}
			if slices.Contains(r.folders(), m.folder) && !slices.Contains(r.paths(), path) {
				fault(m, "requires %s, which is not published", path)
			}
		case strings.HasPrefix(path, "k8s.io/") && semver.Major(version) == "v0" && !module.IsPseudoVersion(version):
			if version != r.clientGo() {
				fault(m, "requires %s %s, and client-go is %s", path, version, r.clientGo())
			}
		}
	}
}

// checkReplaces: go install refuses a module with replace and exclude directives, and who requires
// one does not get what they say. So the root has none, and published modules only such as put the
// folder of a module of ours in the place of its version.
func (r *release) checkReplaces(m *mod, fault faultFunc) {
	if !slices.Contains(r.folders(), m.folder) {
		return
	}
	for _, exclude := range m.Exclude {
		fault(m, "excludes %s, which users do not get", exclude.Mod)
	}
	for _, replace := range m.Replace {
		switch {
		case m.folder == "":
			fault(m, "replaces %s: go install refuses that", replace.Old.Path)
		case !r.isOurs(replace.Old.Path) || replace.New.Version != "":
			fault(m, "replaces %s, which users do not get", replace.Old.Path)
		case m.version(replace.Old.Path) == "":
			fault(m, "replaces %s, but does not require it", replace.Old.Path)
		}
	}
}

// write has all go.mod files require our modules at this version.
func (r *release) write() error {
	for _, m := range r.modules {
		changed := false
		for _, require := range slices.Clone(m.Require) {
			if !r.isOurs(require.Mod.Path) || require.Mod.Version == r.version {
				continue
			}
			changed = true
			if err := m.AddRequire(require.Mod.Path, r.version); err != nil {
				return err
			}
		}
		if !changed {
			continue
		}
		text, err := m.Format()
		if err != nil {
			return err
		}
		if err := os.WriteFile(m.path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
