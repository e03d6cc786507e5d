// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/keep"
	"github.com/kinformer/cache/kinformer"
)

// keepRules are what a program would keep of the objects of its resources, by their names, as in a file of -keep.
type keepRules map[string]struct {
	Keep  []string `json:"keep"`
	Whole string   `json:"whole"`
}

// keepRulesOf reads a file.
func keepRulesOf(file string) (rules keepRules, err error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if err = yaml.Unmarshal(content, &rules); err != nil {
		return nil, fmt.Errorf("%s is not YAML like \"pods: {keep: [spec.nodeName], whole: mine=yes}\": %w", file, err)
	}
	if len(rules) == 0 {
		return nil, fmt.Errorf("%s names no resource: write \"pods: {keep: [spec.nodeName]}\"", file)
	}
	return rules, nil
}

// names returns the resources of the rules.
func (r keepRules) names() []string { return slices.Sorted(maps.Keys(r)) }

// of returns the rule for the objects of a resource, or the reason why an informer would refuse it.
func (r keepRules) of(name string, resource resource) (*keep.Rule, error) {
	rule := r[name]
	paths := append([]string{}, rule.Keep...)
	decoding := kinformer.Decoding{Keep: paths}
	if rule.Whole != "" {
		selector, err := labels.Parse(rule.Whole)
		if err != nil {
			return nil, fmt.Errorf("%s: whole: %w", name, err)
		}
		decoding.Whole = selector
	}
	var example kruntime.Object = &unstructured.Unstructured{}
	if resource.hasGoType() {
		var err error
		if example, err = scheme.Scheme.New(resource.gvk()); err != nil {
			return nil, err
		}
	}
	status, err := inspect.StatusOf(kinformer.New(&cache.ListWatch{}, example, kinformer.Options{Decoding: decoding}))
	if err == nil {
		err = status.LastError
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	fields, _ := keep.New(paths)
	return &keep.Rule{Fields: fields, Paths: paths, Whole: decoding.Whole}, nil
}
