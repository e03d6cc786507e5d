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

// styleHash and scriptHash are the hashes that the content security policy allows.
var styleHash, scriptHash = hashOf([]byte(style)), hashOf(script)

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// pages are the templates of all pages. They escape their arguments.
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

// page is the argument of a template.
type page struct {
	Data any
	links
}

// links are the links of a page. They have only a query, so that the path of the handler does not
// matter.
type links struct {
	Refresh    bool
	Every      int // seconds between refreshes by the script
	JSON, Text template.URL
	Toggle     template.URL // turns refreshing on or off
}

// longestLinked bounds parameters that are copied from the query: names and keys are shorter.
const longestLinked = 1 << 10

// linkTo returns the links of the page for a query.
func linkTo(query url.Values) links {
	with := func(name, value string) template.URL {
		changed := url.Values{}
		for _, parameter := range []string{"id", "from", "key", "keys", "index", "value", "refresh"} {
			if query.Has(parameter) && len(query.Get(parameter)) <= longestLinked {
				changed.Set(parameter, query.Get(parameter))
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
