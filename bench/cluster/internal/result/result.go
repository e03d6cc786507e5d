// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package result holds what runs of the cluster rig gave, keeps it in files, and writes it as
// Markdown and pictures.
package result

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kinformer/cache/bench/cluster/internal/follow"
	"github.com/kinformer/cache/bench/cluster/internal/serve"
	"github.com/kinformer/cache/bench/internal/measure"
)

// Spec is what a run is of. Runs with the same are compared.
type Spec struct {
	Nodes    int     `json:"nodes"`
	Side     string  `json:"side"`
	Encoding string  `json:"encoding"` // json or protobuf
	Speed    float64 `json:"speed"`
	Seed     uint64  `json:"seed"`
	// Lists takes whole states by lists, instead of watch-lists.
	Lists  bool          `json:"lists"`
	Steady time.Duration `json:"steady"`
	// Churn multiplies how often pods and nodes change.
	Churn float64 `json:"churn"`
	// Procs is the client's GOMAXPROCS; 0: as many as there are cores.
	Procs int `json:"procs,omitempty"`
}

// Phase is what a time of a run gave.
type Phase struct {
	Name string        `json:"name"`
	Wall time.Duration `json:"wall"`
	CPU  time.Duration `json:"cpu"`
	// RSS is the median over the phase, and Peak the most, in bytes.
	RSS         uint64               `json:"rss"`
	Peak        uint64               `json:"peak"`
	Collections int                  `json:"collections"`
	CollectCPU  time.Duration        `json:"collectCPU"`
	Latency     follow.PhaseReport   `json:"latency"`
	Notes       map[string]NoteCount `json:"notes,omitempty"`
}

// NoteCount is what the server did in a phase, for a resource.
type NoteCount struct {
	Changes uint64 `json:"changes"`
	Watches int    `json:"watches"`
	Lists   int    `json:"lists"`
	Gone    int    `json:"gone"`
}

// Share is CPU time as a share of one core.
func (p Phase) Share() float64 { return float64(p.CPU) / float64(max(p.Wall, 1)) }

// Result is a run.
type Result struct {
	Spec    Spec            `json:"spec"`
	Version string          `json:"version"` // of the side
	Machine measure.Machine `json:"machine"`
	Started time.Time       `json:"started"`
	Took    time.Duration   `json:"took"`
	// Steal is the share of CPU time that went to other machines. Thrown is how many runs before
	// this one had too much of that.
	Steal     float64        `json:"steal"`
	Thrown    int            `json:"thrown"`
	Objects   map[string]int `json:"objects"` // at the end, by resource
	FormBytes int            `json:"formBytes"`
	Server    serve.Lateness `json:"server"` // in the steady phase
	Sync      time.Duration  `json:"sync"`   // from the start of the informers
	Join      time.Duration  `json:"join"`   // of the late handler
	// Recovered is how long after the end of the outage the last event was late.
	Recovered time.Duration `json:"recovered"`
	Phases    []Phase       `json:"phases"`
	// Failed is why the run came to no end, if it did not; what is above is then as far as it came.
	Failed string `json:"failed,omitempty"`
}

// The phases of a run.
const (
	Start  = "start"  // until all informers have synced
	Steady = "steady" // with restarts of watches, and a handler that joins late
	Gone   = "gone"   // each resource once has to be listed anew
	Storm  = "storm"  // all connections are cut, and after an outage all is listed anew
)

// Phase returns the phase of a name, empty if there is none.
func (r Result) Phase(name string) Phase {
	for _, p := range r.Phases {
		if p.Name == name {
			return p
		}
	}
	return Phase{}
}

// file is the name of the file that a result is kept in.
func (s Spec) file() string {
	more := ""
	if s.Lists {
		more = "-lists"
	}
	if s.Procs > 0 {
		more += fmt.Sprintf("-%d", s.Procs)
	}
	return fmt.Sprintf("%06d-%s-%s%s.json", s.Nodes, s.Encoding, s.Side, more)
}

// Keep writes a result to its file in a folder, in the place of an earlier one.
func Keep(folder string, r Result) error {
	content, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return fmt.Errorf("keep the result: %w", err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("keep the result: %w", err)
	}
	path := filepath.Join(folder, r.Spec.file())
	if err := os.WriteFile(path+".new", append(content, '\n'), 0o644); err != nil {
		return fmt.Errorf("keep the result: %w", err)
	}
	return os.Rename(path+".new", path)
}

// Kept returns the result of the same spec that a folder has.
func Kept(folder string, s Spec) (r Result, there bool, err error) {
	r, err = read(filepath.Join(folder, s.file()))
	if errors.Is(err, os.ErrNotExist) {
		return r, false, nil
	}
	return r, err == nil && r.Spec == s, err
}

// AllKept returns all results that a folder has.
func AllKept(folder string) (all []Result, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	for _, file := range files {
		r, err := read(file)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

func read(file string) (r Result, err error) {
	content, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(content, &r)
	}
	if err != nil {
		return r, fmt.Errorf("read a result: %w", err)
	}
	return r, nil
}

// Sort brings results into the order of reports: groups, and in them sizes and sides.
func Sort(all []Result) {
	place := func(side string) int { return slices.Index(follow.Sides(), side) }
	slices.SortFunc(all, func(a, b Result) int {
		return cmp.Or(cmp.Compare(a.Spec.Procs, b.Spec.Procs), compareBool(a.Spec.Lists, b.Spec.Lists),
			cmp.Compare(a.Spec.Encoding, b.Spec.Encoding), cmp.Compare(a.Spec.Nodes, b.Spec.Nodes),
			cmp.Compare(place(a.Spec.Side), place(b.Spec.Side)))
	})
}

// compareBool puts what is not so first.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// group is what results have in common that are compared with each other.
func (s Spec) group() string {
	how := "watch-lists"
	if s.Lists {
		how = "lists"
	}
	if s.Procs > 0 {
		how += fmt.Sprintf(", GOMAXPROCS %d", s.Procs)
	}
	return s.Encoding + ", " + how
}
