// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// modules reads the go.mod files, the root's first.
func (r *release) modules() (modules []*modfile.File, err error) {
	listed, err := output(context.Background(), r.dir, nil, "git", "ls-files", "go.mod", "*/go.mod")
	if err != nil {
		return nil, err
	}
	files := strings.Fields(listed)
	slices.SortFunc(files, func(a, b string) int { return strings.Compare(filepath.Dir(a), filepath.Dir(b)) })
	for _, file := range files {
		path := filepath.Join(r.dir, file)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		m, err := modfile.Parse(path, text, nil)
		if err != nil {
			return nil, err
		}
		modules = append(modules, m)
	}
	return modules, nil
}

func (r *release) isOurs(path string) bool {
	return path == r.root || strings.HasPrefix(path, r.root+"/")
}

// checkModules requires that users get what the tests have, although a replace directive counts
// only in this repository.
func (r *release) checkModules(context.Context) error {
	modules, err := r.modules()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(modules[0].Require, func(r *modfile.Require) bool { return r.Mod.Path == "k8s.io/client-go" })
	clientGo := modules[0].Require[i].Mod.Version
	if semver.MajorMinor(r.version) != semver.MajorMinor(clientGo) {
		return fmt.Errorf("go.mod requires client-go %s: the minor of a version is client-go's", clientGo)
	}
	var faults []error
	for _, m := range modules {
		for _, require := range m.Require {
			faults = append(faults, r.checkRequire(m, require.Mod, clientGo))
		}
		faults = append(faults, r.checkReplaces(m))
	}
	return errors.Join(faults...)
}

// checkRequire requires this version of our modules, and one version of those of Kubernetes.
func (r *release) checkRequire(m *modfile.File, required module.Version, clientGo string) error {
	isStaging := strings.HasPrefix(required.Path, "k8s.io/") && semver.Major(required.Version) == "v0" && !module.IsPseudoVersion(required.Version)
	switch {
	case r.isOurs(required.Path) && required.Version != r.version:
		return fmt.Errorf("%s requires %s, and not %s", m.Module.Mod.Path, required, r.version)
	case isStaging && required.Version != clientGo:
		return fmt.Errorf("%s requires %s, and client-go is %s", m.Module.Mod.Path, required, clientGo)
	}
	return nil
}

// checkReplaces requires that the root replaces nothing, which go install refuses, and that the
// other published modules replace only modules of ours.
func (r *release) checkReplaces(m *modfile.File) error {
	path := m.Module.Mod.Path
	isPublished := slices.ContainsFunc(r.folders(), func(folder string) bool { return r.module(folder).Path == path })
	for _, replace := range m.Replace {
		if isPublished && (path == r.root || !r.isOurs(replace.Old.Path)) {
			return fmt.Errorf("%s replaces %s, which users do not get", path, replace.Old.Path)
		}
	}
	return nil
}
