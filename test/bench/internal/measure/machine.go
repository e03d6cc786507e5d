// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// Machine describes the machine of a measurement. Properties that the operating system does not
// report are empty or zero.
type Machine struct {
	CPU        string `json:"cpu"`
	Cores      int    `json:"cores"`
	GOMAXPROCS int    `json:"gomaxprocs"`
	// MemoryBytes is the size of the main memory.
	MemoryBytes uint64 `json:"memoryBytes"`
	OS          string `json:"os"`
	Go          string `json:"go"`
}

// ThisMachine describes the machine that the process runs on.
func ThisMachine() Machine {
	return Machine{
		CPU:         field("/proc/cpuinfo", "model name"),
		Cores:       runtime.NumCPU(),
		GOMAXPROCS:  runtime.GOMAXPROCS(0),
		MemoryBytes: memory(),
		OS:          operatingSystem(),
		Go:          runtime.Version(),
	}
}

func operatingSystem() string {
	name := runtime.GOOS + "/" + runtime.GOARCH
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		name += ", kernel " + strings.TrimSpace(string(release))
	}
	return name
}

func memory() uint64 {
	kib, err := strconv.ParseUint(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB"), 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}

// Load returns the load averages over 1, 5 and 15 minutes as in /proc/loadavg, and the first as a
// number; "unknown" and 0 if there are none.
func Load() (text string, oneMinute float64) {
	content, err := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(content))
	if err != nil || len(fields) < 3 {
		return "unknown", 0
	}
	oneMinute, err = strconv.ParseFloat(fields[0], 64)
	if err != nil {
		return "unknown", 0
	}
	return strings.Join(fields[:3], " "), oneMinute
}

// field returns the value of the first "name: value" line of a kernel file, or "" if there is none.
func field(path, name string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for lines := bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); {
		key, value, found := strings.Cut(lines.Text(), ":")
		if found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// The modules that are compared.
const (
	ClientGo  = "k8s.io/client-go"
	Kinformer = "github.com/kinformer/cache"
)

// Version returns the version of a module in this program, or the commit of the working directory if
// go.mod replaces the module with a folder.
func Version(ctx context.Context, module string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unknownVersion
	}
	version, beside := versionIn(info, module)
	if beside {
		return revision(ctx)
	}
	return version
}

const unknownVersion = "unknown"

// versionIn returns the version of a module in a program. beside reports whether the module is
// replaced.
func versionIn(info *debug.BuildInfo, module string) (version string, beside bool) {
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			return dependency.Version, dependency.Replace != nil
		}
	}
	return unknownVersion, false
}

// revision returns the commit from git, because `go run` does not embed it in the program.
func revision(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "working tree"
	}
	return strings.TrimSpace(string(out))
}

// ForgetPeak resets the peak of the memory of a process.
func ForgetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// FirstToGo makes the kernel kill the process before others when memory runs out.
func FirstToGo(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte("1000"), 0)
}

// Ticks are the ticks of all cores so far. Stolen are those that other machines of the host ran.
type Ticks struct{ All, Stolen uint64 }

// Cores reads the ticks of all cores.
func Cores() (t Ticks, err error) {
	stat, err := os.ReadFile("/proc/stat")
	first, _, _ := strings.Cut(string(stat), "\n")
	fields := strings.Fields(first)
	const stolen = 8 // the name is field 0; the guest fields after it are contained in user
	if err != nil || len(fields) <= stolen {
		return t, fmt.Errorf("read CPU steal: %q: %w", first, err)
	}
	for i, field := range fields[1 : stolen+1] {
		ticks, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return t, fmt.Errorf("read CPU steal: %w", err)
		}
		if t.All += ticks; i+1 == stolen {
			t.Stolen = ticks
		}
	}
	return t, nil
}

// StolenSince returns the share of the ticks since then that were stolen.
func (t Ticks) StolenSince(then Ticks) float64 {
	return float64(t.Stolen-then.Stolen) / float64(max(1, t.All-then.All))
}

// GC returns the CPU time that this process has spent on garbage collection, without that on idle
// cores.
func GC() time.Duration {
	all := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/gc/mark/idle:cpu-seconds"}}
	metrics.Read(all)
	return time.Duration((all[0].Value.Float64() - all[1].Value.Float64()) * float64(time.Second))
}
