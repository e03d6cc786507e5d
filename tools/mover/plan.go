// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path"
	"strings"
)

// plan says where files and declarations go. Paths are relative to the root module.
type plan struct {
	Move   map[string]string              `json:"move"`   // file → file
	Merge  map[string]string              `json:"merge"`  // file → file
	Split  map[string]map[string][]string `json:"split"`  // file → file → declarations
	Rename map[string]string              `json:"rename"` // "name", "Type.member" → new name
}

func readPlan(file string) (*plan, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	p := &plan{}
	return p, json.Unmarshal(data, p)
}

// target returns the file for a declaration of a file.
func (p *plan) target(file, decl string) string {
	for to, decls := range p.Split[file] {
		for _, d := range decls {
			if d == decl {
				return p.through(to)
			}
		}
	}
	return p.through(file)
}

// named reports whether the plan names a declaration of a file.
func (p *plan) named(file, decl string) bool {
	for _, decls := range p.Split[file] {
		for _, d := range decls {
			if d == decl {
				return true
			}
		}
	}
	return false
}

func (p *plan) through(file string) string {
	if to, ok := p.Move[file]; ok {
		return to
	}
	if to, ok := p.Merge[file]; ok {
		return to
	}
	return file
}

const module = "github.com/kinformer/cache"

// roomOf names the package of a file: "" is the root.
func roomOf(file string) string {
	d := path.Dir(file)
	if d == "." {
		return ""
	}
	return d
}

func importPath(room string) string {
	if room == "" {
		return module
	}
	return module + "/" + room
}

func packageName(room string) string {
	if room == "" {
		return "cache"
	}
	return path.Base(room)
}

func isTest(file string) bool { return strings.HasSuffix(file, "_test.go") }

// allowed reports whether one room may import another.
func allowed(from, to string) bool {
	if from == to || from == "" {
		return true
	}
	engines := map[string]bool{"internal/reflector": true, "internal/queue": true, "internal/store": true, "internal/fanout": true}
	switch to {
	case "internal/event":
		return engines[from] || from == "internal/retry"
	case "internal/table":
		return from == "internal/store"
	case "internal/identical":
		return from == "internal/store"
	case "internal/eventlog":
		return from == "internal/fanout"
	}
	return false
}
