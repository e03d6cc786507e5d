// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
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

const ours = "github.com/kinformer/cache"

// require rewrites the go.mod files. Modules of this repository get the minor, Kubernetes modules
// the versions of the minor, and modules that these require get the required versions, as Go does that
// client-go requires. Indirect requirements are left to tidy.
func (p *port) require(ctx context.Context) error {
	return p.eachModule(func(m *modfile.File) error {
		var pinned []module.Version
		for _, r := range m.Require {
			if version := p.pin(r.Mod); version != "" && !r.Indirect {
				pinned = append(pinned, module.Version{Path: r.Mod.Path, Version: version})
			}
		}
		asked, goes, err := p.askedFor(ctx, pinned)
		if err != nil {
			return err
		}
		if goes != "" {
			if err := m.AddGoStmt(goes); err != nil {
				return err
			}
		}
		var requires []*modfile.Require
		for _, r := range m.Require {
			if version := p.pin(r.Mod); version != "" {
				r.Mod.Version = version
			} else if version := asked[r.Mod.Path]; version != "" {
				r.Mod.Version = version
			}
			if !r.Indirect {
				requires = append(requires, r)
			}
		}
		m.SetRequireSeparateIndirect(requires)
		return nil
	})
}

// pin returns the version of a module for the minor, or "" if it has none.
func (p *port) pin(m module.Version) string {
	isKubernetes := strings.HasPrefix(m.Path, "k8s.io/") && semver.Major(m.Version) == "v0" && !module.IsPseudoVersion(m.Version)
	switch {
	case m.Path == ours || strings.HasPrefix(m.Path, ours+"/"):
		return p.minor + strings.TrimPrefix(m.Version, semver.MajorMinor(m.Version))
	case isKubernetes:
		return p.versions["k8s.io/"]
	}
	return p.versions[m.Path]
}

// askedFor returns the newest versions that the given modules require, except those of this
// repository, and the version of Go that client-go requires, or "" if it is not among them.
func (p *port) askedFor(ctx context.Context, modules []module.Version) (newest map[string]string, goes string, err error) {
	newest = map[string]string{}
	for _, m := range modules {
		if strings.HasPrefix(m.Path, ours) {
			continue
		}
		said, err := output(ctx, p.to, "go", "mod", "download", "-json", m.String())
		if err != nil {
			return nil, "", err
		}
		var downloaded struct{ GoMod string }
		if err := json.Unmarshal([]byte(said), &downloaded); err != nil {
			return nil, "", err
		}
		file, err := readModule(downloaded.GoMod)
		if err != nil {
			return nil, "", err
		}
		if m.Path == "k8s.io/client-go" {
			goes = file.Go.Version
		}
		for _, r := range file.Require {
			if semver.Compare(r.Mod.Version, newest[r.Mod.Path]) > 0 {
				newest[r.Mod.Path] = r.Mod.Version
			}
		}
	}
	return newest, goes, nil
}

// tidy runs go mod tidy in each module and checks that it keeps the versions of the minor.
// Meanwhile, replace directives stand in for the versions of this repository's modules, which are
// not published yet.
func (p *port) tidy(ctx context.Context) error {
	var replaces []string
	err := p.eachModule(func(m *modfile.File) error {
		replaces = append(replaces, "-replace="+m.Module.Mod.Path+"="+filepath.Dir(m.Syntax.Name))
		return nil
	})
	if err != nil {
		return err
	}
	for _, r := range p.replaces {
		replaces = append(replaces, "-replace="+r.Path+"="+targetOf(r))
	}
	return p.eachModule(func(m *modfile.File) error {
		dir := filepath.Dir(m.Syntax.Name)
		if _, err := output(ctx, dir, "go", append([]string{"mod", "edit"}, replaces...)...); err != nil {
			return err
		}
		tidy := []string{"mod", "tidy"}
		if p.k8s != "" {
			tidy = append(tidy, "-e") // what does not exist for a pre-release is needed by tests of others only
		}
		if _, err := output(ctx, dir, "go", tidy...); err != nil {
			return err
		}
		tidied, err := readModule(m.Syntax.Name)
		if err != nil {
			return err
		}
		if err := p.checkPins(tidied); err != nil {
			return err
		}
		kept := m.Replace
		*m = *tidied
		if p.k8s != "" {
			return nil // with all replaces: the tree is not released
		}
		return replaceOnly(m, kept)
	})
}

// targetOf returns what a module is replaced by, as go mod edit writes it: a version of itself, or a folder.
func targetOf(r module.Version) string {
	if semver.IsValid(r.Version) {
		return r.Path + "@" + r.Version
	}
	return r.Version
}

// checkPins returns an error unless a module requires the versions of the minor.
func (p *port) checkPins(m *modfile.File) error {
	for _, r := range m.Require {
		if pinned := p.pin(r.Mod); pinned != "" && r.Mod.Version != pinned {
			return fmt.Errorf("go mod tidy selects %s: a package imports another one that %s lacks; move the import to a file named _v037.go or _v037_test.go", r.Mod, pinned)
		}
	}
	return nil
}

// replaceOnly sets the replace directives of a go.mod file to wanted.
func replaceOnly(m *modfile.File, wanted []*modfile.Replace) error {
	for _, replace := range slices.Clone(m.Replace) {
		if err := m.DropReplace(replace.Old.Path, replace.Old.Version); err != nil {
			return err
		}
	}
	for _, replace := range wanted {
		if err := m.AddReplace(replace.Old.Path, replace.Old.Version, replace.New.Path, replace.New.Version); err != nil {
			return err
		}
	}
	return nil
}

// eachModule calls change for each go.mod file of the tree, and writes the file.
func (p *port) eachModule(change func(*modfile.File) error) error {
	return filepath.WalkDir(p.to, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "go.mod" || !p.has(filepath.Dir(path)) {
			return err
		}
		m, err := readModule(path)
		if err != nil {
			return err
		}
		if err := change(m); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		m.Cleanup()
		text, err := m.Format()
		if err != nil {
			return err
		}
		return os.WriteFile(path, text, 0o644)
	})
}

// has reports whether the tree has the module in a folder.
func (p *port) has(dir string) bool {
	name, err := filepath.Rel(p.to, dir)
	return p.k8s == "" || err == nil && slices.Contains(ahead, filepath.ToSlash(name))
}

func readModule(path string) (*modfile.File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return modfile.Parse(path, text, nil)
}
