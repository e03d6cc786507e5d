// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// report is what was found out about a cluster.
type report struct {
	Limit     int64 `json:"limit"`     // objects that were read of a resource, at most
	BytesRead int64 `json:"bytesRead"` // of lists, uncompressed
	Resources []row `json:"resources"`
}

// row is what was found out about a resource. Skipped says why it has no figures.
type row struct {
	Resource string   `json:"resource"`
	Objects  int64    `json:"objects"`
	More     bool     `json:"more,omitempty"` // and the server does not say how many
	Read     int      `json:"read"`
	Encoding string   `json:"encoding,omitempty"`
	Direct   bool     `json:"direct"` // decoded by us
	Skipped  string   `json:"skipped,omitempty"`
	Notes    []string `json:"notes,omitempty"`

	WireBytes float64 `json:"wireBytesPerObject"` // as sent, uncompressed
	List      pair    `json:"listMicrosPerObject"`
	Event     pair    `json:"watchMicrosPerEvent"`
	Heap      pair    `json:"heapBytesPerObject"` // zero if there are too few to tell
	Saves     savings `json:"saves"`
}

// pair is a figure with client-go's decoder, and with ours.
type pair struct {
	ClientGo  float64 `json:"clientGo"`
	Kinformer float64 `json:"kinformer"`
}

func (p pair) saved() float64 { return p.ClientGo - p.Kinformer }

// savings are of one informer of all objects of the resource.
type savings struct {
	List      float64 `json:"listCPUMillis"`
	Events    float64 `json:"thousandEventsCPUMillis"`
	Megabytes float64 `json:"heapMegabytes"`
}

// extrapolate makes savings of what was measured on a part of the objects.
func (m *row) extrapolate() {
	m.Saves = savings{
		List:      m.List.saved() * float64(m.Objects) / 1000,
		Events:    m.Event.saved(),
		Megabytes: m.Heap.saved() * float64(m.Objects) / 1e6,
	}
}

func (r *report) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

const legend = `
Each pair is client-go's decoder and this library's (package direct). LIST and EVENT are microseconds of CPU for an object of a
list and an event of a watch, garbage collection included, without network and without what informers do besides; HEAP and WIRE
are bytes for an object. SAVED is for one informer of all OBJECTS: milliseconds of CPU for a list and for 1000 events, and MB of heap.
Measured on %d objects of a resource at most, %.1f MB in all.
`

func (r *report) writeText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "RESOURCE\tOBJECTS\tENCODING\tWIRE\tLIST\tEVENT\tHEAP\tSAVED LIST\t1000 EVENTS\tMB\tNOTES")
	var total savings
	for _, m := range r.Resources {
		fmt.Fprintln(t, strings.TrimRight(strings.Join(m.cells(), "\t"), "\t"))
		total.List += m.Saves.List
		total.Events += m.Saves.Events
		total.Megabytes += m.Saves.Megabytes
	}
	fmt.Fprintf(t, "all\t\t\t\t\t\t\t%.1f\t%.1f\t%.1f\n", total.List, total.Events, total.Megabytes)
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, legend, r.Limit, float64(r.BytesRead)/1e6)
	return err
}

func (m *row) cells() []string {
	objects := fmt.Sprint(m.Objects)
	if m.More {
		objects += "+"
	}
	if m.Skipped != "" {
		if m.Encoding == "" {
			objects = "-"
		}
		return []string{m.Resource, objects, "-", "-", "-", "-", "-", "-", "-", "-", m.Skipped}
	}
	return []string{
		m.Resource, objects, m.Encoding, fmt.Sprintf("%.0f", m.WireBytes),
		m.both("%.1f", m.List), m.both("%.1f", m.Event), m.both("%.0f", m.Heap),
		fmt.Sprintf("%.1f", m.Saves.List), fmt.Sprintf("%.1f", m.Saves.Events), fmt.Sprintf("%.1f", m.Saves.Megabytes),
		strings.Join(m.Notes, "; "),
	}
}

// both writes a pair, of which only client-go's figure is one if we do not decode.
func (m *row) both(format string, p pair) string {
	switch {
	case p == pair{}:
		return "-"
	case !m.Direct:
		return fmt.Sprintf(format+" / -", p.ClientGo)
	}
	return fmt.Sprintf(format+" / "+format, p.ClientGo, p.Kinformer)
}
