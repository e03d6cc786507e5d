// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/url"
)

//go:embed style.css
var style string

//go:embed live.js
var script []byte

//go:embed pages.html
var pagesText string

// styleHash and scriptHash are what the content security policy allows.
var styleHash, scriptHash = hashOf([]byte(style)), hashOf(script)

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// pages are the templates of all pages. They escape whatever they are given.
var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"style":     func() template.CSS { return template.CSS(style) },
	"integrity": func() string { return scriptHash },
	"clean":     clean,
	"seconds":   seconds,
	"size":      size,
	"counted":   counted,
	"parts":     partsOf,
	"rate":      rateText,
	"charts":    chartsOf,
}).Parse(pagesText))

// page is what a template is given.
type page struct {
	Data any
	links
}

// links are where a page leads, by query only, so that it does not matter where the handler is.
type links struct {
	Refresh    bool
	Every      int // seconds between refreshes, by the script
	JSON, Text template.URL
	Toggle     template.URL // with or without refreshing
}

// longestLinked bounds what is taken over from the query: names and keys are shorter.
const longestLinked = 1 << 10

// linkTo returns the links of the page that was asked for by query.
func linkTo(query url.Values) links {
	with := func(name, value string) template.URL {
		changed := url.Values{}
		for _, kept := range []string{"id", "from", "key", "keys", "index", "value", "refresh"} {
			if query.Has(kept) && len(query.Get(kept)) <= longestLinked {
				changed.Set(kept, query.Get(kept))
			}
		}
		changed.Set(name, value)
		return template.URL("?" + changed.Encode())
	}
	refreshes := query.Get("refresh") != "off"
	l := links{Refresh: refreshes, Every: 10, JSON: with("format", "json"), Text: with("format", "text"), Toggle: with("refresh", "on")}
	if refreshes {
		l.Toggle = with("refresh", "off")
	}
	if asksForOne(query) {
		l.Every = 2 // for its charts
	}
	return l
}
