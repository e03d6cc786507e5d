// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
)

//go:embed style.css
var style markup

//go:embed live.js
var script []byte

// styleHash and scriptHash are the hashes that the content security policy allows.
var styleHash, scriptHash = hashOf([]byte(style)), hashOf(script)

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// links are the links of a page. They have only a query, so that the path of the handler does not
// matter.
type links struct {
	known     url.Values // the parameters of the page's own query
	refreshes bool
	every     int // seconds between refreshes by the script
}

// longestLinked bounds parameters that are copied from the query: names and keys are shorter.
const longestLinked = 1 << 10

// linksOf returns the links of the page for a query.
func linksOf(query url.Values) links {
	l := links{known: url.Values{}, refreshes: query.Get("refresh") != "off", every: 10}
	for _, name := range []string{"id", "from", "sort", "key", "keys", "index", "value", "refresh"} {
		if query.Has(name) && len(query.Get(name)) <= longestLinked {
			l.known.Set(name, query.Get(name))
		}
	}
	if asksForOne(query) {
		l.every = 2 // for its charts
	}
	return l
}

// with returns the page's own query with another value of a parameter.
func (l links) with(name, value string) url.Values {
	changed := maps.Clone(l.known)
	changed.Set(name, value)
	return changed
}

// toggle returns the query that turns refreshing on or off, and the word for it.
func (l links) toggle() (query url.Values, word string) {
	if l.refreshes {
		return l.with("refresh", "off"), "do not refresh"
	}
	return l.with("refresh", "on"), "refresh"
}

// page returns the page for a query with the content of an answer.
func (a *answer) page(query url.Values) []byte {
	p := &page{links: linksOf(query)}
	p.head()
	a.html(p)
	p.foot()
	return p.out.Bytes()
}

// head begins the page.
func (p *page) head() {
	p.put(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
`)
	if p.refreshes {
		p.put(`<noscript><meta http-equiv="refresh" content="10"></noscript>`)
	}
	p.put(`<title>Informers</title><style>`)
	p.put(style)
	p.put("</style></head>\n")
	if p.refreshes {
		p.put(`<body data-every="{}"><noscript><p class="note">Without JavaScript this page loads itself again every 10 s.</p></noscript>
<p class="note" id="live" role="status"></p><script src="?script" integrity="{}" defer></script>
`, p.every, scriptHash)
	} else {
		p.put("<body>")
	}
	p.put("<main id=\"informers\">\n")
}

// foot ends the page.
func (p *page) foot() {
	p.put(`</main><footer>`)
	p.link(p.with("format", "json"), "JSON")
	p.put(" · ")
	p.link(p.with("format", "text"), "text")
	p.put(" · ")
	p.link(p.toggle())
	p.put("</footer>\n</body></html>\n")
}

// home writes a link to the table.
func (p *page) home() {
	p.put("<p>")
	p.link(nil, "All informers")
	p.put("</p>\n")
}

// up writes a link to the page of an informer.
func (p *page) up(id uint64, name string) {
	p.put("<p>")
	p.link(to("id", fmt.Sprint(id)), name)
	p.put("</p>")
}

// html writes the table.
func (v *tableView) html(p *page) {
	p.put("<h1>{}</h1>\n", v.Head())
	all := v.grid()
	all.sorts = sorting{head: memoryHead, to: p.with("sort", "memory"), done: v.ByMemory}
	all.sorts.to.Del("from")
	if v.ByMemory {
		all.sorts.to.Del("sort")
	}
	all.html(p)
	if v.Omitted > 0 {
		p.put("<p>")
		p.link(p.with("from", fmt.Sprint(v.Next)), fmt.Sprintf("%d more", v.Omitted))
		p.put("</p>")
	}
	v.clientGo().html(p)
}

// html writes the keys.
func (v *keysView) html(p *page) {
	p.up(v.ID, v.Name)
	p.put("<h1>Keys")
	if v.Index != "" {
		p.put(" of {} in {}", v.Value, v.Index)
	}
	p.put("</h1>\n<ul>")
	for _, key := range v.Keys {
		p.put("<li>")
		p.link(to("id", fmt.Sprint(v.ID), "key", key), clean(key))
		p.put("</li>\n")
	}
	p.put("</ul>")
	if v.More {
		p.put("<p>There are more.</p>")
	}
}

// html writes the object.
func (v *objectView) html(p *page) {
	p.up(v.ID, v.Name)
	p.put("<h1>{}</h1><p>At version {}.</p>\n", v.Key, v.ResourceVersion)
	p.maybe("<p>{}</p>", v.Withheld)
	p.maybe("<pre>{}</pre>", v.Text)
}
