// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command tablegen writes the table of the types that client-go has generated informers for, and the
// accessors of its API groups, read from client-go's source in the module cache.
package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"go/format"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// kind has the properties of the type of one generated informer.
type kind struct {
	pkg, alias         string // of the package of the type
	name               string
	group, version, in string // in is the name of the resource in the API
	metric             string // the name of the resource in the informer's metrics, which may be an incorrect plural
	api                string // the call on the clientset that returns the client
}

// namespaced reports whether the objects have a namespace: the call that returns their client takes it.
func (k kind) namespaced() bool { return strings.Contains(k.api, "(ns)") }

var (
	apiCall    = regexp.MustCompile(`client\.(\w+\(\)\.\w+\((?:namespace)?\))\.List\(ctx, opts\)`)
	resourceOf = regexp.MustCompile(`gvr := schema\.GroupVersionResource\{Group: "(.*)", Version: "(.*)", Resource: "(.*)"\}`)
	exampleOf  = regexp.MustCompile(`&(\w+)\.(\w+)\{\},\n`)
	groupOf    = regexp.MustCompile(`func \(f \*sharedInformerFactory\) (\w+)\(\) (\w+)\.Interface`)
	genericOf  = regexp.MustCompile(`WithResource\("(\w+)"\):\s+return &genericInformer\{.* informer: f\.(\w+)\(\)\.(\w+)\(\)\.(\w+)\(\)`)
)

func main() {
	table := flag.String("table", "", "the file for the table")
	groups := flag.String("groups", "", "the file for the accessors of groups")
	flag.Parse()
	if err := run(*table, *groups); err != nil {
		log.Fatal(err)
	}
}

func run(table, groups string) error {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/client-go").Output()
	if err != nil {
		return fmt.Errorf("finding client-go: %w", err)
	}
	informers := filepath.Join(strings.TrimSpace(string(dir)), "informers")
	kinds, err := readKinds(informers)
	if err != nil {
		return err
	}
	factory, err := os.ReadFile(filepath.Join(informers, "factory.go"))
	if err != nil {
		return fmt.Errorf("reading the groups: %w", err)
	}
	accessors, err := renderGroups(factory)
	if err != nil {
		return err
	}
	return errors.Join(write(table, render(kinds)), write(groups, accessors))
}

func write(file string, src []byte) error {
	src, err := format.Source(src)
	if err != nil {
		return fmt.Errorf("formatting %s: %w", file, err)
	}
	return os.WriteFile(file, src, 0o644)
}

// readKinds reads all generated informers, in the order of their resources.
func readKinds(informers string) ([]kind, error) {
	files, err := filepath.Glob(filepath.Join(informers, "*", "*", "*.go"))
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", informers, err)
	}
	resources, err := readResources(filepath.Join(informers, "generic.go"))
	if err != nil {
		return nil, err
	}
	var kinds []kind
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading a generated informer: %w", err)
		}
		if !apiCall.Match(src) {
			continue // the group's interface.go
		}
		k, err := readKind(src)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if k.in = resources[k.api[:strings.LastIndex(k.api, "(")]]; k.in == "" {
			return nil, fmt.Errorf("%s: %s is not in generic.go", file, k.api)
		}
		kinds = append(kinds, k)
	}
	if len(kinds) == 0 {
		return nil, fmt.Errorf("no generated informer found in %s", informers)
	}
	slices.SortFunc(kinds, func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.version, b.version), cmp.Compare(a.in, b.in))
	})
	return kinds, nil
}

// readResources returns the names of the resources by the calls that return their clients, without
// arguments.
func readResources(generic string) (map[string]string, error) {
	src, err := os.ReadFile(generic)
	if err != nil {
		return nil, fmt.Errorf("reading the resources: %w", err)
	}
	resources := map[string]string{}
	for _, m := range genericOf.FindAllSubmatch(src, -1) {
		resources[fmt.Sprintf("%s%s().%s", m[2], m[3], m[4])] = string(m[1])
	}
	return resources, nil
}

func readKind(src []byte) (kind, error) {
	call, resource, example := apiCall.FindSubmatch(src), resourceOf.FindSubmatch(src), exampleOf.FindSubmatch(src)
	if resource == nil || example == nil {
		return kind{}, fmt.Errorf("no resource or no type of objects found")
	}
	imported := regexp.MustCompile(string(example[1]) + ` "(k8s\.io/api/(\w+)/(\w+))"`).FindSubmatch(src)
	if imported == nil {
		return kind{}, fmt.Errorf("import of %s not found", example[1])
	}
	return kind{
		pkg: string(imported[1]), alias: string(imported[2]) + string(imported[3]), name: string(example[2]),
		group: string(resource[1]), version: string(resource[2]), metric: string(resource[3]),
		api: strings.Replace(string(call[1]), "(namespace)", "(ns)", 1),
	}, nil
}

const head = "// Copyright The kinformer Authors.\n// SPDX-License-Identifier: Apache-2.0\n\n// Code generated by tablegen. DO NOT EDIT.\n\n"

func render(kinds []kind) []byte {
	var imports []string
	for _, k := range kinds {
		imports = append(imports, fmt.Sprintf("\t%s %q\n", k.alias, k.pkg))
	}
	slices.Sort(imports)
	var b bytes.Buffer
	b.WriteString(head + "//lint:file-ignore SA1019 the table has every type, deprecated ones too\n\npackage factory\n\nimport (\n")
	b.WriteString(strings.Join(slices.Compact(imports), ""))
	b.WriteString("\t\"k8s.io/apimachinery/pkg/runtime/schema\"\n\t\"k8s.io/client-go/kubernetes\"\n\n\t\"github.com/kinformer/cache\"\n)\n\n")
	b.WriteString("// typedTable lists every type that client-go has a generated informer for.\nfunc typedTable() []typedKind {\n\treturn []typedKind{\n")
	for _, k := range kinds {
		namespace := "ns"
		if !k.namespaced() {
			namespace = "_"
		}
		fmt.Fprintf(&b, "\t\t{schema.GroupVersionResource{Group: %q, Version: %q, Resource: %q}, %q, %t, &%s.%s{}, func(c kubernetes.Interface, %s string) *cache.ListWatch {\n\t\t\treturn listWatchOf(c.%s)\n\t\t}},\n",
			k.group, k.version, k.in, k.metric, k.namespaced(), k.alias, k.name, namespace, k.api)
	}
	b.WriteString("\t}\n}\n")
	return b.Bytes()
}

// renderGroups writes the accessors of the groups that client-go's factory has.
func renderGroups(factory []byte) ([]byte, error) {
	groups := groupOf.FindAllSubmatch(factory, -1)
	if len(groups) == 0 {
		return nil, errors.New("no API group found in client-go's factory")
	}
	var b bytes.Buffer
	b.WriteString(head + "package factory\n\nimport (\n")
	for _, g := range groups {
		fmt.Fprintf(&b, "\t%q\n", "k8s.io/client-go/informers/"+string(g[2]))
	}
	b.WriteString(")\n")
	for _, g := range groups {
		fmt.Fprintf(&b, "\n// %[1]s returns the accessors of this API group.\nfunc (f *typedFactory) %[1]s() %[2]s.Interface {\n"+
			"\treturn %[2]s.New(f.accessors, f.accessors.namespace, f.accessors.tweak)\n}\n", g[1], g[2])
	}
	return b.Bytes(), nil
}
