// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/internal/testkit"
)

const commandStart = `(?:[A-Z_]+=\S+ )*(?:make|cd|go (?:run|test|doc|build|vet|install|get|list|mod)|\.ci/|tools/(?:suites|mutants)|test/conformance/kubernetes/build/)`

var (
	command     = regexp.MustCompile("(?m)`(" + commandStart + "[^`\n]*)`" + `|^    (?:\$ )?(` + commandStart + `.*?)(?:\s+#.*)?$`) // in the text, or a block
	commandWord = regexp.MustCompile(`(?:[^\s'"]|'[^']*'|"[^"]*")+`)
	// instant and quick match the commands that are run, at each test and at night. They take less than
	// a minute, use no network, and write nothing.
	instant = regexp.MustCompile(`^(go doc \S+|make help)$`)
	quick   = regexp.MustCompile(`^(cd (examples|adapters/\w+|test/bench|test/conformance) && )?go (test -.*|run \S+ -h)$`)
	// programFlag matches the definition of a flag, setFlag a word that sets one.
	programFlag = regexp.MustCompile(`\b(?:Bool|Int|Uint|Float64|String|Duration|Func)\w*\((?:&[^",\n]+, )?"([\w.-]+)",`)
	setFlag     = regexp.MustCompile(`^--?([a-zA-Z][\w.-]*)`)
	testFlags   = strings.Fields("v race count short timeout run bench skip list fuzz fuzztime gcflags")
	// programs are the folders of the programs and tests whose flags a variable of the Makefile sets.
	programs = map[string]string{
		"BENCH_FLAGS": "test/bench", "CLUSTER_FLAGS": "test/bench/cluster", "DEMO_FLAGS": "test/bench/demo", "KUBERNETES_FLAGS": "test/conformance/kubernetes",
		"OUTAGE_FLAGS": "test/e2e/blindness", "SOAK_FLAGS": "test/e2e/soak",
	}
)

// TestCommandsInDocuments checks that commands in documents name existing targets, variables,
// folders, flags and tests, and runs those that are quick.
func TestCommandsInDocuments(t *testing.T) {
	all := map[string]bool{}
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range command.FindAllStringSubmatch(string(text), -1) {
			assert.Empty(t, commandFaults(match[1]+match[2]), "%s: %s", file, match[0])
			all[match[1]+match[2]] = true
		}
	}
	for text := range all {
		isQuick := quick.MatchString(text)
		if isQuick || instant.MatchString(text) {
			t.Run(text, func(t *testing.T) {
				if isQuick {
					testkit.AtNight(t)
				}
				out, err := exec.CommandContext(t.Context(), "bash", "-c", text).CombinedOutput()
				require.NoError(t, err, "%s", out)
			})
		}
	}
}

// TestBadCommands checks that faults of commands are found, and only these.
func TestBadCommands(t *testing.T) {
	for _, bad := range []string{
		"make nothing", "make test NOTHING=1", `make kubernetes KUBERNETES_FLAGS="-nothing 1"`, "cd nothing && go test .", "go test ./nothing",
		"go test -nothing .", "go test -run TestNothing ./view", "cd test/bench && go run . -nothing", "cd test/bench && go run . -run '^nothing$'",
		"go run " + modulePath + "/cmd/nothing@v0.37", "tools/suites/nothing",
	} {
		assert.NotEmpty(t, commandFaults(bad), bad)
	}
	for _, good := range []string{"make bench >FILE && make charts", "cd test/e2e && go test -run 'TestInformer.*/x' -v .", "mkdir hello && cd hello && go run ."} {
		assert.Empty(t, commandFaults(good), good)
	}
}

// commandFaults returns what a command names that does not exist.
func commandFaults(text string) (faults []string) {
	folder := "."
	for _, step := range regexp.MustCompile(`&&|;|\|`).Split(text, -1) {
		words := commandWord.FindAllString(strings.TrimSpace(step), -1)
		for len(words) > 0 && regexp.MustCompile(`^[A-Z_]+=`).MatchString(words[0]) {
			words = words[1:]
		}
		for i := range words {
			words[i] = strings.NewReplacer("'", "", `"`, "").Replace(words[i])
		}
		switch {
		case len(words) > 0 && strings.Contains(words[0], "/"):
			faults = append(faults, missing(words[0])...)
		case len(words) < 2:
		case words[0] == "mkdir": // the user's own folder
			return faults
		case words[0] == "cd":
			folder = filepath.Join(folder, words[1])
			faults = append(faults, missing(folder)...)
		case words[0] == "make":
			faults = append(faults, makeFaults(words[1:])...)
		case words[0] == "go" && words[1] != "doc" && words[1] != "mod":
			faults = append(faults, goFaults(folder, words[1], words[2:])...)
		}
	}
	return faults
}

func missing(path string) []string {
	if _, err := os.Stat(path); err != nil {
		return []string{err.Error()}
	}
	return nil
}

func makeFaults(words []string) (faults []string) {
	makefile, _ := os.ReadFile("Makefile")
	for _, word := range words {
		name, value, isVariable := strings.Cut(word, "=")
		switch {
		case strings.HasPrefix(word, ">"):
		case isVariable && !regexp.MustCompile(`(?m)\$\((or )?`+name+`\b|^`+name+` |\b`+name+`\)`).Match(makefile),
			!isVariable && !regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(name)+`:`).Match(makefile):
			faults = append(faults, "the Makefile has no "+name)
		case programs[name] != "":
			faults = append(faults, flagFaults(programs[name], strings.Fields(value), true)...)
		}
	}
	return faults
}

// goFaults checks the packages, flags and tests of a command of the go tool in a folder.
func goFaults(folder, verb string, words []string) (faults []string) {
	for i, word := range words {
		path, _, _ := strings.Cut(strings.TrimSuffix(word, "/..."), "@")
		if inside, ours := strings.CutPrefix(path, modulePath); ours {
			path = filepath.Join(".", inside)
		} else if path = filepath.Join(folder, path); !strings.HasPrefix(word, ".") || path == "." && verb == "run" {
			continue
		}
		faults = append(faults, missing(path)...)
		if verb == "run" {
			return append(faults, flagFaults(path, words[i+1:], false)...)
		} else if verb == "test" {
			faults = append(faults, flagFaults(path, words, true)...)
		}
	}
	return faults
}

// flagFaults returns the flags that the program or the tests in a folder do not have, and patterns of
// tests and benchmarks that match none.
func flagFaults(folder string, words []string, tests bool) (faults []string) {
	for i, word := range words {
		flag := setFlag.FindStringSubmatch(word)
		if flag == nil || flag[1] == "h" || tests && slices.Contains(testFlags, flag[1]) && flag[1] != "run" && flag[1] != "bench" {
			continue
		}
		flags, names := defined(folder, tests, map[string]bool{})
		if !slices.Contains(flags, flag[1]) && !(tests && slices.Contains(testFlags, flag[1])) {
			faults = append(faults, folder+" has no flag "+word)
		} else if (flag[1] == "run" || flag[1] == "bench") && i+1 < len(words) && words[i+1] != "^$" {
			pattern := words[i+1]
			if tests {
				pattern, _, _ = strings.Cut(pattern, "/")
			}
			if !slices.ContainsFunc(names, regexp.MustCompile(pattern).MatchString) {
				faults = append(faults, folder+" has nothing that matches "+pattern)
			}
		}
	}
	return faults
}

// defined returns the flags of a folder and of the packages beside it that it imports, and the names
// of its tests, or of its rows if it is test/bench.
func defined(folder string, tests bool, seen map[string]bool) (flags, names []string) {
	seen[folder] = true
	files, _ := filepath.Glob(folder + "/*.go")
	for _, path := range files {
		text, _ := os.ReadFile(path)
		if !strings.HasSuffix(path, "_test.go") || tests {
			flags = append(flags, found(text, programFlag.String())...)
			names = append(names, found(text, `(?m)^func ((?:Test|Benchmark|Example|Fuzz)\w*)\(`)...)
		}
		for _, imported := range found(text, `(?m)^\s(?:\w+ )?"`+modulePath+`/((?:examples|test|tools)/[\w/-]+)"$`) {
			if !seen[imported] {
				more, _ := defined(imported, false, seen)
				flags = append(flags, more...)
			}
		}
	}
	if rows, err := os.ReadFile("docs/benchmarks/README.md"); err == nil && folder == "test/bench" {
		names = append(names, found(rows, "(?m)^\\| `([^`]+)`")...)
	}
	return flags, names
}
