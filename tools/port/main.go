// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command port makes the tree for another minor version of client-go from this tree: for an earlier one,
// or for a later one that is not released yet.
//
//	cd tools && go run ./port -minor v0.36 -o /tmp/v0.36
//	cd tools && go run ./port -k8s v0.38.0-beta.0 -o /tmp/v0.38
//
// A build tag cannot depend on the version of a dependency, so another minor needs its own tree. The
// differences from this one are:
//
//   - files named _v0NN.go or _v0NN_test.go, which need v0.NN of client-go, are omitted from the trees for
//     earlier minors, and so is the module that builds programs of Kubernetes
//   - go.mod files require the versions of the minor, and the version of Go that its client-go requires
//   - internal/minor says which minor it is. In an earlier one it has the names that this client-go lacks, cut
//     out of the later one's source
//   - go generate has run
//   - the patches in testdata/ports/v0.NN, at most five, are applied
//
// In the tree for a later minor only the modules in ahead are ported: the others require modules for which
// no version for that minor exists. The files that git tracks are copied from the working tree, with
// uncommitted changes.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// kubernetes is the prefix of the names of go.mod and go.sum of a module that builds the programs of one release
// of Kubernetes, which the tree of another minor cannot have.
const kubernetes = "test/conformance/kubernetes/build/go."

// mostPatches is the maximum number of patches of a port. Differences belong into internal/minor.
const mostPatches = 5

// versions are the versions of modules for a minor, by their paths. "k8s.io/" means all modules that
// Kubernetes releases together.
var versions = map[string]map[string]string{
	"v0.36": {"k8s.io/": "v0.36.6", "sigs.k8s.io/controller-runtime": "v0.24.1"},
}

// ahead are the folders of the modules that the tree for a later minor has.
var ahead = []string{".", "test/conformance"}

// port makes one tree.
type port struct {
	from, to string
	minor    string
	k8s      string           // the version of the modules of Kubernetes for a later minor, or ""
	replaces []module.Version // that a later minor needs as long as it has no release
	versions map[string]string
}

// replace adds path=version or path=folder to the replaces.
func (p *port) replace(text string) error {
	path, target, ok := strings.Cut(text, "=")
	if !ok {
		return errors.New("it is not path=version or path=folder")
	}
	p.replaces = append(p.replaces, module.Version{Path: path, Version: target})
	return nil
}

func main() {
	p := port{}
	flag.StringVar(&p.from, "C", "..", "`folder` of the root module")
	flag.StringVar(&p.to, "o", "", "`folder` for the tree, empty or new")
	flag.StringVar(&p.minor, "minor", "v0.36", "the earlier `minor`")
	flag.StringVar(&p.k8s, "k8s", "", "make the tree for the later minor of this `version` of the modules of Kubernetes instead")
	flag.Func("replace", "replace a module, `path=version` or path=folder, in the tree for a later minor", p.replace)
	flag.Parse()
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := p.run(ctx); err != nil {
		log.Fatal("port: ", err)
	}
}

func (p *port) run(ctx context.Context) (err error) {
	p.versions = versions[p.minor]
	if p.k8s != "" {
		p.minor, p.versions = semver.MajorMinor(p.k8s), map[string]string{"k8s.io/": p.k8s}
	}
	if p.versions == nil {
		return fmt.Errorf("-minor %q: only v0.36 can be made, and later minors with -k8s", p.minor)
	}
	if p.to == "" {
		return errors.New("-o is needed: a folder for the tree")
	}
	if p.from, err = filepath.Abs(p.from); err != nil {
		return err
	}
	if p.to, err = filepath.Abs(p.to); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{p.copy, p.require, p.backfill, p.generate, p.tidy, p.patch} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// copy copies the tracked files, except those for the later minor only.
func (p *port) copy(ctx context.Context) error {
	there, err := os.ReadDir(p.to)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range there {
		if entry.Name() != ".git" { // a worktree without files has one
			return fmt.Errorf("-o %s: the folder must be empty or new, and has %s", p.to, entry.Name())
		}
	}
	listed, err := output(ctx, p.from, "git", "ls-files", "-z")
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(listed, "\x00"), "\x00") {
		if p.isLater(name) || strings.HasPrefix(name, kubernetes) {
			continue
		}
		if err := copyFile(filepath.Join(p.from, name), filepath.Join(p.to, name)); err != nil {
			return err
		}
	}
	return nil
}

var sinceMinor = regexp.MustCompile(`_v0(\d+)(_test)?\.go$`)

// isLater reports whether a file needs a later minor of client-go.
func (p *port) isLater(name string) bool {
	since := sinceMinor.FindStringSubmatch(name)
	return since != nil && semver.Compare("v0."+since[1], p.minor) > 0
}

func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
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

// generate runs go generate. It removes the generated files first: if one of them imports a package
// that the minor lacks, the go command would upgrade the module to a version that has the package.
func (p *port) generate(ctx context.Context) error {
	dir := filepath.Join(p.to, "factory")
	for _, name := range []string{"typed_table.go", "typed_groups.go"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	_, err := output(ctx, dir, "go", "generate", "./...")
	return err
}

// patch applies the recorded patches.
func (p *port) patch(ctx context.Context) error {
	patches, err := filepath.Glob(filepath.Join(p.from, "testdata", "ports", p.minor, "*.patch"))
	if err != nil {
		return err
	}
	if len(patches) > mostPatches {
		return fmt.Errorf("%d patches, and there may be %d: what differs belongs into internal/minor", len(patches), mostPatches)
	}
	for _, patch := range patches {
		if _, err := output(ctx, p.to, "git", "apply", patch); err != nil {
			return fmt.Errorf("%w\nwhoever changed these lines mends %s", err, patch)
		}
	}
	return nil
}

// output runs a command and returns its standard output. The error contains the standard output and
// error. The go command may change go.mod, and git does not look for a repository around the tree.
func output(ctx context.Context, dir string, name string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, &stdout, &stderr)
	}
	return stdout.String(), nil
}
