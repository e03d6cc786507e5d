// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package snippets checks the Go code in the documents.
package snippets

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// packages are the packages that snippets may use, by their names in snippets.
var packages = func() map[string]string {
	all := map[string]string{
		"corev1": "k8s.io/api/core/v1", "metav1": "k8s.io/apimachinery/pkg/apis/meta/v1", "ctrl": "sigs.k8s.io/controller-runtime",
		"kinformerprom": ours + "/adapters/prom", "ctrlcache": "sigs.k8s.io/controller-runtime/pkg/cache", "typedcorev1": "k8s.io/client-go/kubernetes/typed/core/v1",
	}
	for _, named := range []string{
		"context", "flag", "fmt", "log", "net/http", "time", "github.com/prometheus/client_golang/prometheus",
		"k8s.io/apimachinery/pkg/fields", "k8s.io/apimachinery/pkg/labels", "k8s.io/apimachinery/pkg/runtime", "k8s.io/apimachinery/pkg/util/wait",
		"k8s.io/client-go/dynamic", "k8s.io/client-go/informers", "k8s.io/client-go/kubernetes", "k8s.io/client-go/metadata",
		"k8s.io/client-go/rest", "k8s.io/client-go/util/workqueue", "sigs.k8s.io/controller-runtime/pkg/metrics", ours,
		ours + "/audit", ours + "/cachetest", ours + "/debug", ours + "/direct", ours + "/test/e2e/apiserver", ours + "/factory", ours + "/inspect",
		ours + "/kinformer", ours + "/retry", ours + "/sources", ours + "/view",
	} {
		all[path.Base(named)] = named
	}
	return all
}()

const ours = "github.com/kinformer/cache"

// given holds the types of variables that snippets may use without a declaration.
var given = map[string]string{
	"background":     "workqueue.TypedRateLimitingInterface[string]",
	"client":         "kubernetes.Interface",
	"config":         "*rest.Config",
	"ctx":            "context.Context",
	"dynamicClient":  "dynamic.Interface",
	"handler":        "cache.ResourceEventHandler",
	"informer":       "cache.SharedIndexInformer",
	"lw":             "*cache.ListWatch",
	"metadataClient": "metadata.Interface",
	"mux":            "*http.ServeMux",
	"podsOf":         "func(namespace string, selectors ...string) cache.ListerWatcher",
	"queue":          "workqueue.TypedRateLimitingInterface[cache.ObjectName]",
	"registry":       "*prometheus.Registry",
	"share":          "factory.Option",
	"snapshot":       "*view.Snapshot",
	"transport":      "http.RoundTripper",
	"trimmed":        "cache.TransformFunc",
	"typedHandler":   "cache.TypedResourceEventHandler[*corev1.Pod]",
	"typedInformer":  "cache.TypedSharedIndexInformer[*corev1.Pod]",
	"urgent":         "workqueue.TypedRateLimitingInterface[string]",
}

// elsewhere are parts of snippets that this test does not compile. A copy of the test of the suite and
// tests of the module adapters/client cover them.
var elsewhere = []string{"impl implementation", "kinformerclient.", "clienttest."}

// TestSnippets checks that the Go code in README.md and in docs/ compiles. A snippet may have unused
// variables.
func TestSnippets(t *testing.T) {
	pages, err := filepath.Glob("../../../docs/*.md")
	require.NoError(t, err)
	imports := newImporter(t)
	count := 0
	for _, page := range append(pages, "../../../README.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for i, match := range regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllSubmatch(text, -1) {
			snippet := string(match[1])
			if slices.ContainsFunc(elsewhere, func(part string) bool { return strings.Contains(snippet, part) }) {
				continue
			}
			count++
			for _, err := range check(imports, snippet) {
				assert.NoError(t, err, "%s, snippet %d:\n%s", page, i+1, snippet)
			}
		}
	}
	assert.Greater(t, count, 8, "this test finds snippets")
}

// TestBadSnippets checks that check reports snippets that do not compile.
func TestBadSnippets(t *testing.T) {
	imports := newImporter(t)
	assert.Empty(t, check(imports, "pods, err := informer.GetIndexer().ByIndex(cache.NamespaceIndex, \"default\")"))
	for _, snippet := range []string{"cache.Nothing()", "informer.Run(", "var i int = ctx", "unknown.Call()"} {
		assert.NotEmpty(t, check(imports, snippet), snippet)
	}
}

const ourImport, theirImport = `"github.com/kinformer/cache"`, `"k8s.io/client-go/tools/cache"`

// beside matches a line that imports a package of this module which client-go does not have.
var beside = regexp.MustCompile(`(?m)^\t"github\.com/kinformer/cache/(\w+)"\n`)

// TestWayBack goes back to client-go's package with each example, as docs/migration.md says: the import
// is replaced, and the imports of packages beside it are deleted. The compiler then only reports uses of
// these packages, and the document has a row for each of them.
func TestWayBack(t *testing.T) {
	guide, err := os.ReadFile("../../../docs/migration.md")
	require.NoError(t, err)
	examples, err := filepath.Glob("../../*/main.go")
	require.NoError(t, err)
	imports, used := newImporter(t, "../../..."), 0
	for _, example := range examples {
		text, err := os.ReadFile(example)
		require.NoError(t, err)
		var reported []string // the names that the compiler does not find
		for _, failure := range compile(imports, beside.ReplaceAllString(strings.ReplaceAll(string(text), ourImport, theirImport), "")) {
			_, undefined, _ := strings.Cut(failure.Error(), "undefined: ")
			reported = append(reported, undefined)
			assert.Contains(t, beside.FindAllString(string(text), -1), "\t\"github.com/kinformer/cache/"+undefined+"\"\n", "%s: %v", example, failure)
		}
		for _, match := range beside.FindAllStringSubmatch(string(text), -1) {
			assert.Contains(t, reported, match[1], example)
			for _, name := range regexp.MustCompile(`\b`+match[1]+`\.[A-Z]\w*`).FindAllString(string(text), -1) {
				used++
				row := regexp.MustCompile("(?m)^\\|.*`(" + match[1] + "`|" + name + `\b)`)
				assert.True(t, row.Match(guide), "%s: docs/migration.md has no row for %s", example, name)
			}
		}
	}
	assert.Greater(t, used, 20)
}

// check returns the errors of a snippet, which consists of statements, declarations or a whole file.
func check(imports types.Importer, snippet string) (failures []error) {
	source := snippet
	switch {
	case strings.HasPrefix(snippet, "package "):
	case strings.HasPrefix(snippet, "func "), strings.HasPrefix(snippet, "type "):
		source = prelude() + snippet
	default:
		source = prelude() + "func _() (_ error) {\n" + snippet + "\nreturn nil\n}\n"
	}
	return compile(imports, source)
}

// compile returns the errors of the compiler for a file, except for unused names and imports.
func compile(imports types.Importer, source string) (failures []error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "snippet.go", source, parser.SkipObjectResolution)
	if err != nil {
		return []error{err}
	}
	config := types.Config{Importer: imports, Error: func(err error) {
		if failure := (types.Error{}); errors.As(err, &failure) && !failure.Soft {
			failures = append(failures, err)
		}
	}}
	_, _ = config.Check("snippet", files, []*ast.File{file}, nil) // Check returns only the first error
	return failures
}

// prelude returns the imports of all packages, and the declarations of given.
func prelude() string {
	var b strings.Builder
	b.WriteString("package snippet\n")
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		fmt.Fprintf(&b, "import %s %q\n", name, packages[name])
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		fmt.Fprintf(&b, "var %s %s\n", name, given[name])
	}
	return b.String()
}

// newImporter returns an importer of these packages, and more, from the build cache.
func newImporter(t *testing.T, more ...string) types.Importer {
	t.Helper()
	args := append([]string{"list", "-export", "-deps", "-json=ImportPath,Export"}, more...)
	cmd := exec.CommandContext(t.Context(), "go", append(args, slices.Sorted(maps.Values(packages))...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	exports := map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var listed struct{ ImportPath, Export string }
		if err := decoder.Decode(&listed); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			require.NoError(t, err)
		}
		exports[listed.ImportPath] = listed.Export
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(imported string) (io.ReadCloser, error) {
		return os.Open(exports[imported])
	})
}
