// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// user is somebody who gets one module and writes a program that uses it.
type user struct {
	folder  string // of the module; empty is the root
	program string // the source
	prints  string
}

var (
	//go:embed testdata/users/root/main.go
	rootProgram string
	//go:embed testdata/users/prom/main.go
	promProgram string
	//go:embed testdata/users/otel/main.go
	otelProgram string
)

func ourUsers() []user {
	return []user{
		{"", rootProgram, "2 pods\n"},
		{"kinformerprom", promProgram, "kinformer_objects 2\n"},
		{"kinformerotel", otelProgram, "kinformer.sync\n"},
	}
}

// checkUsers: with an empty module cache, go get has each published module, a program with it
// builds and works, and go install has the commands. All of them come from a proxy in a folder,
// filled from tags in a copy of the working tree, so that no tag is needed for it.
func (r *release) checkUsers(ctx context.Context) (note string, err error) {
	dir, err := os.MkdirTemp("", "release-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	place, err := newSite(ctx, dir)
	if err != nil {
		return "", err
	}
	if err := os.Mkdir(filepath.Join(dir, "repository"), 0o755); err != nil {
		return "", err
	}
	if err := r.stage(ctx, filepath.Join(dir, "repository")); err != nil {
		return "", err
	}
	if err := r.publish(filepath.Join(dir, "repository"), filepath.Join(dir, "proxy")); err != nil {
		return "", err
	}
	var did []string
	for _, u := range r.users {
		if err := r.use(ctx, place, u); err != nil {
			return "", fmt.Errorf("a user of %s: %w", r.module(u.folder).Path, err)
		}
		did = append(did, "go get "+path.Base(r.module(u.folder).Path))
	}
	for _, command := range r.commands {
		if err := r.install(ctx, place, command); err != nil {
			return "", fmt.Errorf("a user of %s: %w", command, err)
		}
		did = append(did, "go install "+path.Base(command))
	}
	return strings.Join(did, ", ") + ": from a proxy, into an empty module cache", nil
}

// site is where users work: a folder, their environment of the go command, and the one of this
// machine with the same proxies.
type site struct {
	dir      string
	env, own []string
	files    string // the proxies that are folders
}

// newSite is that of users who have nothing yet. Modules of others come from the module cache of
// this machine, or else from its proxy.
func newSite(ctx context.Context, dir string) (site, error) {
	found, err := output(ctx, dir, nil, "go", "env", "GOMODCACHE", "GOPROXY")
	if err != nil {
		return site{}, err
	}
	cache, proxies, _ := strings.Cut(strings.TrimSpace(found), "\n")
	files := "file://" + filepath.ToSlash(dir) + "/proxy,file://" + filepath.ToSlash(cache) + "/cache/download"
	own := []string{
		"GOPROXY=" + files + "," + proxies, "GOBIN=" + filepath.Join(dir, "bin"),
		"GOFLAGS=", "GOSUMDB=off", "GOWORK=off", "GONOPROXY=none", "GOPRIVATE=",
	}
	env := append(slices.Clip(own), "GOFLAGS=-modcacherw", "GOMODCACHE="+filepath.Join(dir, "modules"))
	return site{dir, env, own, files}, nil
}

// got is where a module of ours is that users have got.
func (s site) got(m module.Version) string {
	return filepath.Join(s.dir, "modules", filepath.FromSlash(m.String()))
}

// use gets a module, as documents say, and runs a program that uses it.
func (r *release) use(ctx context.Context, place site, u user) error {
	dir, err := os.MkdirTemp(place.dir, "user-")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(u.program), 0o644); err != nil {
		return err
	}
	got := r.module(u.folder)
	err = inTurn(ctx, dir, place.env,
		[]string{"mod", "init", "example.com/user"},
		[]string{"get", got.Path + "@" + semver.MajorMinor(got.Version)},
		[]string{"get", "."}, // what the program imports besides
	)
	if err != nil {
		return err
	}
	if err := r.sameVersion(ctx, place, dir); err != nil {
		return err
	}
	program, err := r.build(ctx, place, dir)
	if err != nil {
		return err
	}
	said, err := output(ctx, dir, nil, program)
	if err == nil && said != u.prints {
		err = fmt.Errorf("the program prints %q and not %q", said, u.prints)
	}
	return err
}

// sameVersion: whatever a user gets, the root comes with the version of this release.
func (r *release) sameVersion(ctx context.Context, place site, dir string) error {
	version, err := output(ctx, dir, place.env, "go", "list", "-m", "-f", "{{.Version}}{{with .Replace}} replaced{{end}}", r.root)
	if err == nil && strings.TrimSpace(version) != r.version {
		err = fmt.Errorf("%s comes as %s", r.root, strings.TrimSpace(version))
	}
	return err
}

// install installs a command, and asks it for its flags. What go install does with a version, it
// does short of compiling. That is then done in the module that it has got; see build for why. The
// go command asks whether each folder of its path is a module, which only folders can deny for
// certain: so others are not asked. What this takes of others is in the module cache by now.
func (r *release) install(ctx context.Context, place site, command string) error {
	env := append(slices.Clip(place.env), "GOPROXY="+place.files)
	if _, err := output(ctx, place.dir, env, "go", "install", "-n", r.root+"/"+command+"@"+r.version); err != nil {
		return err
	}
	if _, err := output(ctx, place.got(r.module("")), place.own, "go", "install", "./"+command); err != nil {
		return err
	}
	_, err := output(ctx, place.dir, nil, filepath.Join(place.dir, "bin", path.Base(command)), "-h")
	return err
}

// build compiles the program of a user, and returns its path. Our packages are those in the
// user's module cache. Those of others have the versions, with the checksums, that the user got,
// and are taken from the module cache of this machine: what is compiled is kept by path, and there
// the other tests have most of it compiled.
func (r *release) build(ctx context.Context, place site, dir string) (string, error) {
	edit := []string{"mod", "edit"}
	for _, folder := range r.folders() {
		m := r.module(folder)
		edit = append(edit, "-replace="+m.Path+"="+place.got(m))
	}
	binary := filepath.Join(dir, "program")
	return binary, inTurn(ctx, dir, place.own, append(edit, "go.mod"), []string{"build", "-o", binary, "."})
}

// inTurn runs the go command several times.
func inTurn(ctx context.Context, dir string, env []string, all ...[]string) error {
	for _, args := range all {
		if _, err := output(ctx, dir, env, "go", args...); err != nil {
			return err
		}
	}
	return nil
}
