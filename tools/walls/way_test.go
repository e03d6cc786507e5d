// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package walls_test

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/cover"
)

// ways are those of an update from the body of a watch to a handler, with shared parts and one index, and the most
// functions of ours that each may execute. The numbers may only be lowered.
var ways = []struct {
	name string
	most int
}{
	{"direct protobuf", 287}, {"direct json", 294}, {"client protobuf", 199}, {"client json", 199},
}

// rooms are the packages on the way, in its order.
var rooms = []string{
	"internal/decode/stream", "internal/decode/scan", "internal/decode", "internal/tap/engine", "internal/decode/json", "internal/decode/document",
	"internal/decode/proto", "internal/decode/share", "internal/decode/mem", "internal/tap", "internal/reflector", "internal/shard",
	"internal/pipeline", "internal/event", "internal/queue", "", "internal/store", "internal/table", "internal/fanout", "internal/eventlog", "internal/minor",
}

const (
	mapFile  = "../../internal/README.md"
	mapBegin = "<!-- the functions of an update, by go test ./walls -run Way -update -->\n```text\n"
	mapEnd   = "```\n"
)

var update = flag.Bool("update", false, "write the functions of an update to "+mapFile)

// runs is how often TestWayOfAnUpdate compares the two numbers of updates. Parts are checked by chance, hashes have
// seeds and goroutines meet as they like: a function is on the way if most runs say so. The test fails only for
// what all of them say, because most may say something else on a busy machine.
const runs = 9

// more is the number of updates that one of two numbers has more.
const more = 3

// TestWayOfAnUpdate compares the counters of go test -cover of ten updates and of thirteen. None of the three is
// also verified by the client's decoding.
func TestWayOfAnUpdate(t *testing.T) {
	if os.Getenv("KINFORMER_NIGHT") == "" && !*update {
		t.Skip("for the night: set KINFORMER_NIGHT=1")
	}
	binary := filepath.Join(t.TempDir(), "updates")
	run(t, nil, "go", "test", "-c", "-vet=off", "-covermode=count", "-coverpkg="+modulePath+"/...", "-o", binary, "./kinformer")
	for i, way := range ways {
		found := runsOf(t, binary, way.name)
		functions, always := saidBy(found, runs/2+1), saidBy(found, runs)
		t.Logf("%s: %d functions in %d files of %d packages", way.name, len(functions), distinct(functions, fileOf), distinct(functions, roomOf))
		if len(always) > way.most {
			t.Errorf("%s: %d functions, at most %d:\n%s", way.name, len(always), way.most, drawn(always))
		}
		if i == 0 {
			compareMap(t, drawn(functions), drawn(always), drawn(saidBy(found, 1)))
		}
	}
}

// compareMap compares the functions of an update with those that internal/README.md shows: at least those of all
// runs, and none that is of no run.
func compareMap(t *testing.T, functions, always, ever string) {
	text, err := os.ReadFile(mapFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), mapBegin)
	shown, after, closed := strings.Cut(rest, mapEnd)
	switch {
	case !found || !closed:
		t.Errorf("%s has no place for the functions of an update", mapFile)
	case isWithin(always, shown) && isWithin(shown, ever):
	case *update:
		if err := os.WriteFile(mapFile, []byte(before+mapBegin+functions+mapEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s shows other functions than an update executes: go test ./walls -run Way -update", mapFile)
	}
}

// isWithin reports whether each function of the text some is in the text all.
func isWithin(some, all string) bool {
	in := map[string]bool{}
	for _, f := range named(all) {
		in[f] = true
	}
	return !slices.ContainsFunc(named(some), func(f string) bool { return !in[f] })
}

// named returns the functions in a text of drawn, each with its file.
func named(text string) (functions []string) {
	for line := range strings.Lines(text) {
		file, names, _ := strings.Cut(strings.TrimSpace(line), ": ")
		for name := range strings.SplitSeq(names, ", ") {
			functions = append(functions, file+": "+name)
		}
	}
	return functions
}

// function is a function of the library, in a file with its path.
type function struct {
	file string
	line int
	name string
}

func fileOf(f function) string { return f.file }

func roomOf(f function) string { return strings.TrimPrefix(path.Dir(f.file), ".") }

func distinct(functions []function, by func(function) string) int {
	seen := map[string]bool{}
	for _, f := range functions {
		seen[by(f)] = true
	}
	return len(seen)
}

// drawn returns a line for each file with its functions, in the order of the rooms.
func drawn(functions []function) string {
	var text strings.Builder
	slices.SortFunc(functions, func(a, b function) int {
		return cmp.Or(cmp.Compare(slices.Index(rooms, roomOf(a)), slices.Index(rooms, roomOf(b))), strings.Compare(a.file, b.file), a.line-b.line)
	})
	file := ""
	for _, f := range functions {
		separator := ", "
		if f.file != file {
			separator, file = "\n"+f.file+": ", f.file
		}
		text.WriteString(separator + f.name)
	}
	return strings.TrimPrefix(text.String()+"\n", "\n")
}

// runsOf returns in how many runs an update executes each function.
func runsOf(t *testing.T, binary, way string) map[function]int {
	found := map[function]int{}
	for range runs {
		for _, f := range functionsOf(t, binary, way) {
			found[f]++
		}
	}
	return found
}

// saidBy returns the functions that an update executes in so many runs or more.
func saidBy(found map[function]int, least int) (functions []function) {
	for f, n := range found {
		if n >= least {
			functions = append(functions, f)
		}
	}
	return functions
}

// functionsOf returns the functions that an update has executed in one run.
func functionsOf(t *testing.T, binary, way string) (functions []function) {
	few := blocksOf(t, binary, way, 10)
	for file, blocks := range blocksOf(t, binary, way, 10+more) {
		if strings.Contains(file, "/testkit/") || strings.Contains(file, "/taptest/") {
			continue // the server
		}
		functions = append(functions, executed(t, file, blocks, few[file])...)
	}
	for _, f := range functions {
		if !slices.Contains(rooms, roomOf(f)) {
			t.Errorf("%s: %s is in no room of the way", way, f.file)
		}
	}
	return functions
}

// run runs a command in the root of the module.
func run(t *testing.T, env []string, name string, args ...string) {
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), env...)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

// blocksOf returns the counters of each file after some updates, by the line and column of a block.
func blocksOf(t *testing.T, binary, way string, updates int) map[string]map[[2]int]int {
	out := filepath.Join(t.TempDir(), "profile")
	run(t, []string{fmt.Sprint("KINFORMER_UPDATES=", updates), "KINFORMER_WAY=" + way}, binary, "-test.run=^TestUpdates$", "-test.coverprofile="+out)
	profiles, err := cover.ParseProfiles(out)
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string]map[[2]int]int{}
	for _, p := range profiles {
		counts := map[[2]int]int{}
		for _, b := range p.Blocks {
			counts[[2]int{b.StartLine, b.StartCol}] = b.Count
		}
		blocks[p.FileName] = counts
	}
	return blocks
}

// executed returns the functions of a file with a block that each of the updates has run.
func executed(t *testing.T, file string, counts, before map[[2]int]int) (functions []function) {
	name, _ := inModule(file)
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, filepath.Join("../..", name), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range parsed.Decls {
		from, to := files.Position(d.Pos()).Line, files.Position(d.End()).Line
		for block, count := range counts {
			if f, ok := d.(*ast.FuncDecl); ok && from <= block[0] && block[0] <= to && count >= before[block]+more {
				functions = append(functions, function{name, from, nameOf(f)})
				break
			}
		}
	}
	return functions
}

// nameOf returns the name of a function, after that of the type of its receiver.
func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	of := f.Recv.List[0].Type
	for {
		switch t := of.(type) {
		case *ast.StarExpr:
			of = t.X
		case *ast.IndexExpr:
			of = t.X
		case *ast.Ident:
			return t.Name + "." + f.Name.Name
		default:
			return f.Name.Name
		}
	}
}
