// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// modules parses the tracked go.mod files, the root's first.
func (r *release) modules() (modules []*modfile.File, err error) {
	listed, err := output(context.Background(), r.dir, nil, "git", "ls-files", "go.mod", "*/go.mod")
	if err != nil {
		return nil, err
	}
	files := strings.Fields(listed)
	if len(files) == 0 {
		return nil, fmt.Errorf("git tracks no go.mod in %s", r.dir)
	}
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

// checkModules requires that users get the versions that the tests use, although replace directives
// apply only in this repository.
func (r *release) checkModules(context.Context) error {
	modules, err := r.modules()
	if err != nil {
		return err
	}
	clientGo, err := clientGoOf(modules)
	if err != nil {
		return err
	}
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

// clientGoOf returns the version of client-go that the root module requires.
func clientGoOf(modules []*modfile.File) (string, error) {
	for _, require := range modules[0].Require {
		if require.Mod.Path == "k8s.io/client-go" {
			return require.Mod.Version, nil
		}
	}
	return "", errors.New("go.mod requires no client-go")
}

// checkRequire requires this version of this repository's modules, and one version of Kubernetes
// modules.
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

// checkReplaces requires that modules with a command have no replace directives, which go install refuses,
// and that the other published modules replace only modules of this repository.
func (r *release) checkReplaces(m *modfile.File) error {
	path := m.Module.Mod.Path
	isPublished := slices.ContainsFunc(r.folders(), func(folder string) bool { return r.module(folder).Path == path })
	hasCommand := path == r.root || strings.HasPrefix(r.root+"/"+r.server, path+"/")
	for _, replace := range m.Replace {
		if isPublished && (hasCommand || !r.isOurs(replace.Old.Path)) {
			return fmt.Errorf("%s replaces %s, which users do not get", path, replace.Old.Path)
		}
	}
	return nil
}

// checkUsers requires that, with an empty module cache, go get gets each published module, its
// packages compile, and go install installs the commands.
func (r *release) checkUsers(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	env, err := r.published(ctx, dir)
	if err != nil {
		return err
	}
	libraries := slices.DeleteFunc(r.folders(), func(folder string) bool { return folder != "" && strings.HasPrefix(r.server, folder+"/") })
	for i, folder := range libraries {
		got, user := r.module(folder), filepath.Join(dir, fmt.Sprint("user", i))
		if err := os.Mkdir(user, 0o755); err != nil {
			return err
		}
		for _, args := range [][]string{
			{"mod", "init", "example.com/user"}, {"get", got.Path + "/...@" + semver.MajorMinor(got.Version)}, {"build", got.Path + "/..."},
		} {
			if _, err := output(ctx, user, env, "go", args...); err != nil {
				return fmt.Errorf("a user of %s: %w", got.Path, err)
			}
		}
	}
	if err := r.install(ctx, dir, env, r.command); err != nil {
		return err
	}
	if r.resolve {
		_, err := output(ctx, dir, env, "go", "install", "-n", r.query(r.server))
		return err
	}
	return r.install(ctx, dir, env, r.server)
}

// query returns the argument with which users install a package: by minor, because with the full version,
// and GOPRIVATE or GONOPROXY set, the go command of 1.26 does not find packages of a nested module if the
// root is in its cache.
func (r *release) query(folder string) string {
	return r.root + "/" + folder + "@" + semver.MajorMinor(r.version)
}

// install installs a command as a user does, and runs it with -h.
func (r *release) install(ctx context.Context, dir string, env []string, command string) error {
	_, err := output(ctx, dir, env, "go", "install", r.query(command))
	if err == nil {
		_, err = output(ctx, dir, nil, filepath.Join(dir, "bin", path.Base(command)), "-h")
	}
	return err
}

// published makes a clone of this repository with the tags. It returns an environment in which the go
// command takes the modules of this repository from the clone, and has an empty module cache.
func (r *release) published(ctx context.Context, dir string) (env []string, err error) {
	clone := filepath.Join(dir, "repository")
	if _, err := output(ctx, r.dir, nil, "git", "clone", "--quiet", "--no-tags", ".", clone); err != nil {
		return nil, err
	}
	for _, tag := range r.tags() {
		if _, err := output(ctx, clone, nil, "git", "-c", "tag.gpgSign=false", "tag", tag); err != nil {
			return nil, err
		}
	}
	cache, err := output(ctx, dir, nil, "go", "env", "GOMODCACHE", "GOPROXY")
	if err != nil {
		return nil, err
	}
	others, proxies, _ := strings.Cut(strings.TrimSpace(cache), "\n")
	return []string{"GOPROXY=file://" + filepath.ToSlash(others) + "/cache/download," + proxies, "GONOPROXY=" + r.root, "GOPRIVATE=",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url." + clone + ".insteadOf", "GIT_CONFIG_VALUE_0=https://" + r.root,
		"GOMODCACHE=" + filepath.Join(dir, "modules"), "GOBIN=" + filepath.Join(dir, "bin"),
		"GOFLAGS=-modcacherw -trimpath", "GOSUMDB=off", "GOWORK=off"}, nil
}
