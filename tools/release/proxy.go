// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// stage makes a repository in a folder, with the working tree of this one as its only commit, and
// sets the tags there.
func (r *release) stage(ctx context.Context, into string) error {
	listed, err := git(ctx, r.dir, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	for file := range strings.SplitSeq(strings.TrimSuffix(listed, "\x00"), "\x00") {
		if err := copyFile(filepath.Join(into, file), filepath.Join(r.dir, file)); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{"init", "--quiet"},
		{"add", "--all", "--force"},
		{"-c", "user.name=release", "-c", "user.email=release@localhost", "-c", "commit.gpgsign=false", "commit", "--quiet", "-m", r.version},
	} {
		if _, err := git(ctx, into, args...); err != nil {
			return err
		}
	}
	for _, tag := range r.tags() {
		if _, err := git(ctx, into, "-c", "tag.gpgsign=false", "tag", tag); err != nil {
			return err
		}
	}
	return nil
}

// copyFile copies a regular file. One that git knows and somebody has deleted is left out.
func copyFile(to, from string) error {
	info, err := os.Lstat(from)
	switch {
	case os.IsNotExist(err):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file, which modules cannot have", from)
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, info.Mode().Perm())
}

// publish writes what a module proxy has of our modules into a folder, out of the tags of a
// repository.
func (r *release) publish(repository, proxy string) error {
	for _, folder := range r.folders() {
		if err := r.publishOne(repository, proxy, folder); err != nil {
			return fmt.Errorf("tag %s: %w", r.tag(folder), err)
		}
	}
	return nil
}

func (r *release) publishOne(repository, proxy, folder string) error {
	m := r.module(folder)
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return err
	}
	dir := filepath.Join(proxy, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{m.Version, time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	requirements, err := os.ReadFile(filepath.Join(repository, folder, "go.mod"))
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{"list": []byte(m.Version + "\n"), m.Version + ".info": info, m.Version + ".mod": requirements} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return writeZip(filepath.Join(dir, m.Version+".zip"), func(w io.Writer) error {
		return zip.CreateFromVCS(w, m, repository, r.tag(folder), folder)
	})
}

func writeZip(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(file); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}
