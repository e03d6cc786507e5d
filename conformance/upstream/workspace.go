// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/kinformer/cache/conformance/internal/prune"
)

// runModule is the path of the temporary module. It lies under the project's, so that shims may
// import the project's internal packages.
const runModule = homeModule + "/upstreamrun"

// homeModule is the module that this package belongs to; the rig needs its reflector engines.
const homeModule = "github.com/kinformer/cache/conformance"

// workspace is a temporary module with the requirements of the conformance module.
type workspace struct {
	dir string
	// clientGoDir is client-go's root in the module cache.
	clientGoDir string
}

// newWorkspace writes the module's files into dir, which must be empty. It has to be called with
// the current directory inside the conformance module.
func newWorkspace(ctx context.Context, dir string) (*workspace, error) {
	home, err := goOutput(ctx, "", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return nil, err
	}
	from := strings.TrimSpace(string(home))
	cg, err := goOutput(ctx, from, "list", "-m", "-f", "{{.Dir}}", clientGo)
	if err != nil {
		return nil, err
	}
	mod, err := moduleFile(ctx, from)
	if err != nil {
		return nil, err
	}
	sums, err := os.ReadFile(filepath.Join(from, "go.sum"))
	if err != nil {
		return nil, fmt.Errorf("reading the checksums: %w", err)
	}
	w := &workspace{dir: dir, clientGoDir: strings.TrimSpace(string(cg))}
	if err := w.write("go.mod", mod); err != nil {
		return nil, err
	}
	return w, w.write("go.sum", sums)
}

// moduleFile is the temporary module's go.mod: the requirements of the module at home, its
// replacements with absolute paths, and that module itself.
func moduleFile(ctx context.Context, home string) ([]byte, error) {
	raw, err := goOutput(ctx, home, "mod", "edit", "-json")
	if err != nil {
		return nil, err
	}
	var m struct {
		Go      string
		Require []struct{ Path, Version string }
		Replace []struct {
			Old, New struct{ Path, Version string }
		}
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("reading go.mod: %w", err)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "module %s\n\ngo %s\n\n", runModule, m.Go)
	for _, r := range m.Require {
		fmt.Fprintf(&out, "require %s %s\n", r.Path, r.Version)
	}
	for _, r := range m.Replace {
		to := r.New.Path
		if r.New.Version == "" && !filepath.IsAbs(to) {
			to = filepath.Join(home, to)
		}
		fmt.Fprintf(&out, "replace %s => %s\n", strings.TrimSpace(r.Old.Path+" "+r.Old.Version),
			strings.TrimSpace(to+" "+r.New.Version))
	}
	fmt.Fprintf(&out, "require %[1]s v0.0.0\nreplace %[1]s => %[2]s\n", homeModule, home)
	return out.Bytes(), nil
}

// write stores a file at a path relative to the workspace.
func (w *workspace) write(name string, data []byte) error {
	full := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return fmt.Errorf("making the workspace: %w", err)
	}
	if err := os.WriteFile(full, data, 0o644); err != nil {
		return fmt.Errorf("writing into the workspace: %w", err)
	}
	return nil
}

// testFiles reads the test files of one package of client-go.
func (w *workspace) testFiles(s source) ([]prune.File, error) {
	paths, err := filepath.Glob(filepath.Join(w.clientGoDir, filepath.FromSlash(s.path), "*_test.go"))
	if err != nil {
		return nil, fmt.Errorf("listing the tests of %s: %w", s.path, err)
	}
	out := make([]prune.File, 0, len(paths))
	for _, p := range paths {
		src, err := os.ReadFile(p)
		if err != nil {
			return nil, fmt.Errorf("reading the tests of %s: %w", s.path, err)
		}
		out = append(out, prune.File{Name: filepath.Base(p), Src: src})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no tests in %s", filepath.Join(w.clientGoDir, s.path))
	}
	return out, nil
}

// importerFor compiles the packages and what they depend on, and returns an importer that reads the
// result. They are compiled as the tests will be, so that the work is done once.
func (w *workspace) importerFor(ctx context.Context, packages []string) (types.Importer, error) {
	args := append([]string{"list", "-race", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}"}, packages...)
	raw, err := goOutput(ctx, w.dir, args...)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		if path, file, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			exports[path] = file
		}
	}
	lookup := func(path string) (io.ReadCloser, error) {
		file, ok := exports[path]
		if !ok {
			return nil, fmt.Errorf("package %s was not compiled", path)
		}
		return os.Open(file)
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", lookup), nil
}

// goOutput runs the go command in dir and returns what it prints. An error carries what it
// complained of.
func goOutput(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, complaints.Bytes())
	}
	return out, nil
}
