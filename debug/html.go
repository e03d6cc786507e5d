// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"
)

// markup is HTML that is written as it is. It consists of constants of this package: a string does
// not become markup without a conversion, and no other file has one (TestMarkup).
type markup string

// page writes a page for browsers. Its methods escape everything but markup.
//
// This package does not use html/template, nor text/template, which call methods by their names: a
// program that links one of them keeps every exported method of all its types, which are many
// megabytes with the clients of Kubernetes.
type page struct {
	out bytes.Buffer // written in this file only
	links
}

// put writes markup, in which each {} is replaced by the next value, escaped. A {} may be in a text
// or in a quoted attribute without a URL, and not in a tag, a script or a style.
func (p *page) put(m markup, values ...any) {
	for _, value := range values {
		before, after, _ := strings.Cut(string(m), "{}")
		p.out.WriteString(before)
		p.escape(fmt.Sprint(value))
		m = markup(after)
	}
	p.out.WriteString(string(m))
}

// escape writes a text, or the value of a quoted attribute.
func (p *page) escape(text string) {
	for _, c := range []byte(text) {
		switch c {
		case '&':
			p.out.WriteString("&amp;")
		case '<':
			p.out.WriteString("&lt;")
		case '>':
			p.out.WriteString("&gt;")
		case '"':
			p.out.WriteString("&#34;")
		case '\'':
			p.out.WriteString("&#39;")
		case 0:
			p.out.WriteString("\uFFFD")
		default:
			p.out.WriteByte(c)
		}
	}
}

// link writes a link to a query of this handler, whatever its path.
func (p *page) link(to url.Values, text string) {
	p.put(`<a href="{}">{}</a>`, "?"+to.Encode(), text)
}

// to returns a query of names and values.
func to(pairs ...string) url.Values {
	query := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		query.Set(pairs[i], pairs[i+1])
	}
	return query
}

// maybe writes markup with a value, unless the value is empty.
func (p *page) maybe(m markup, value string) {
	if value != "" {
		p.put(m, value)
	}
}
