// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"bufio"
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Machine is what the figures were taken on. What the operating system does
// not tell is empty or zero.
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
		MemoryBytes: memory("MemTotal"),
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

// AvailableMemory is how many bytes the system could give to this process
// without swapping, or 0 where that is not known.
func AvailableMemory() uint64 { return memory("MemAvailable") }

func memory(name string) uint64 {
	kib, err := strconv.ParseUint(strings.TrimSuffix(field("/proc/meminfo", name), " kB"), 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}

// Load returns the load averages over 1, 5 and 15 minutes as the system writes
// them, and the first as a number; "unknown" and 0 where there are none.
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

// field is the value of the first "name: value" line of a file of the kernel,
// or nothing when there is none.
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
