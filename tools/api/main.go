// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command api compares the exported names of the published modules with those of a version, by
// golang.org/x/exp/apidiff.
//
//	cd tools && go run ./api               # with the version in api/baseline.txt
//	cd tools && go run ./api -old v0.37.0  # with another one
//
// It gets that version as users do, from the module proxy, so it needs no tags here. It lists what
// is gone or has changed so that code may no longer compile, and then what is new. The first is an
// error as long as the minor is the same; see docs/versioning.md.
//
// The exit status is 1 if there is such an error, and 2 if nothing could be compared. As long as no
// version is tagged, there is nothing to compare with: it says so.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

//go:embed baseline.txt
var baselineFile string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errIncompatible):
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(2)
	}
}

var errIncompatible = errors.New("a patch keeps all names; see docs/versioning.md")

// library is where the names are.
type library struct {
	dir     string   // of the root module
	root    string   // its path
	folders []string // of the modules, the root's being empty
}

func run(ctx context.Context, args []string, out, complaints io.Writer) error {
	flags := flag.NewFlagSet("api", flag.ContinueOnError)
	flags.SetOutput(complaints)
	l := library{root: "github.com/kinformer/cache", folders: []string{"", "kinformerprom", "kinformerotel"}}
	flags.StringVar(&l.dir, "C", "..", "`folder` of the root module")
	old := flags.String("old", baseline(baselineFile), "the `version` to compare with, or none")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	return l.guard(ctx, *old, out)
}

// baseline returns the line of a baseline file that is no comment.
func baseline(file string) string {
	for line := range strings.Lines(file) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	return ""
}

// guard compares with a version, and prints what is different.
func (l library) guard(ctx context.Context, old string, out io.Writer) error {
	if old == "none" {
		if tag := newestTag(ctx, l.dir); tag != "" {
			return fmt.Errorf("%s is tagged: name it in tools/api/baseline.txt", tag)
		}
		fmt.Fprintln(out, "no version is tagged yet (tools/api/baseline.txt): nothing to compare with")
		return nil
	}
	if !semver.IsValid(old) {
		return fmt.Errorf("%q is no version", old)
	}
	minor, err := l.minor(ctx)
	if err != nil {
		return err
	}
	before, err := loadVersion(ctx, l.modules(old), l.root+"/...")
	if err != nil {
		return fmt.Errorf("loading %s: %w", old, err)
	}
	now, err := l.load(ctx)
	if err != nil {
		return fmt.Errorf("loading this tree: %w", err)
	}
	incompatible := report(out, compare(before, now))
	fmt.Fprintf(out, "%d packages compared with %s: %d incompatible changes\n", len(before), old, incompatible)
	if incompatible > 0 && semver.MajorMinor(old) == minor {
		return errIncompatible
	}
	return nil
}

// modules are those of a version.
func (l library) modules(version string) (modules []module.Version) {
	for _, folder := range l.folders {
		modules = append(modules, module.Version{Path: strings.TrimSuffix(l.root+"/"+folder, "/"), Version: version})
	}
	return modules
}

// load loads the packages of the working tree.
func (l library) load(ctx context.Context) (surface, error) {
	all := surface{}
	for _, folder := range l.folders {
		some, err := load(ctx, filepath.Join(l.dir, folder), nil, "./...")
		if err != nil {
			return nil, err
		}
		maps.Copy(all, some)
	}
	return all, nil
}

// minor is that of the next version, which is client-go's.
func (l library) minor(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", "k8s.io/client-go")
	cmd.Dir = l.dir
	version, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("version of client-go: %w", err)
	}
	return semver.MajorMinor(strings.TrimSpace(string(version))), nil
}

// newestTag returns the newest version that is tagged here, or nothing. A clone may have no tags.
func newestTag(ctx context.Context, dir string) (newest string) {
	cmd := exec.CommandContext(ctx, "git", "tag", "--list")
	cmd.Dir = dir
	listed, err := cmd.Output()
	if err != nil {
		return ""
	}
	for _, tag := range strings.Fields(string(listed)) {
		if semver.IsValid(tag) && semver.Compare(tag, newest) > 0 {
			newest = tag
		}
	}
	return newest
}
