// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPut: values are escaped, whatever their type and content; markup is not.
func TestPut(t *testing.T) {
	var p page
	p.put(`<a b="{}">{}</a>{}`, `"'<>&`+"\x00", "{}<b>", markup("<i>"))
	p.put("<p>{}")
	p.link(url.Values{"k": {`"><b>&'` + "\x00"}}, "<b>")
	p.maybe("<u>{}", "")
	p.maybe("<u>{}", "<")
	assert.Equal(t, `<a b="&#34;&#39;&lt;&gt;&amp;`+"\uFFFD"+`">{}&lt;b&gt;</a>&lt;i&gt;`+
		`<p>{}`+`<a href="?k=%22%3E%3Cb%3E%26%27%00">&lt;b&gt;</a>`+`<u>&lt;`, p.out.String())
}

// TestMarkup: all markup is constant, with a value for each {}, in a text or in a quoted attribute
// that is no URL. No other code than html.go writes to a page, or makes markup of strings.
func TestMarkup(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	puts := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			where := fset.Position(call.Pos()).String()
			if f, ok := call.Fun.(*ast.Ident); ok && f.Name == "markup" {
				assert.Equal(t, "html.go", name, "%s makes markup of a string", where)
			}
			if of, ok := call.Fun.(*ast.SelectorExpr); ok && (of.Sel.Name == "put" || of.Sel.Name == "maybe") {
				puts++
				assert.Empty(t, faultOf(name, call), where)
			}
			return true
		})
		if name != "html.go" {
			source := fileText(t, name)
			assert.NotRegexp(t, `\.out\.(Write|Grow|Reset)|reflect\.|unsafe\.`, source, name)
		}
	}
	assert.Greater(t, puts, 60)
}

// faultOf returns what is wrong with the arguments of put or maybe.
func faultOf(file string, call *ast.CallExpr) string {
	literal, ok := call.Args[0].(*ast.BasicLit)
	if !ok {
		if name, ok := call.Args[0].(*ast.Ident); ok && (name.Name == "style" || file == "html.go") {
			return ""
		}
		return "markup that is no literal"
	}
	m, _ := strconv.Unquote(literal.Value)
	if want := strings.Count(m, "{}"); want != len(call.Args)-1 {
		return "not a value for each {}"
	}
	return misplaced(file, m)
}

var (
	tag       = regexp.MustCompile(`<[^<>]*>`)
	attribute = regexp.MustCompile(` [a-z-]+="[^"{}<>]*(\{\}[^"{}<>]*)*"`)
	urls      = regexp.MustCompile(` (href|src|srcset|action|formaction|data|style|on[a-z]+|http-equiv|content)="[^"]*\{\}`)
	raw       = regexp.MustCompile(`<(script|style|title|textarea|noscript)[^>]*>[^<]*\{\}`)
)

// misplaced returns why a {} of markup must not be there, or "".
func misplaced(file, m string) string {
	text := tag.ReplaceAllStringFunc(m, func(one string) string {
		if strings.Contains(attribute.ReplaceAllString(one, ""), "{}") {
			return "<"
		}
		return ""
	})
	switch {
	case strings.ContainsAny(text, "<>"):
		return "a {} in a tag, or a tag that is not complete"
	case urls.MatchString(m) && file != "html.go":
		return "a {} in an attribute with a meaning of its own"
	case raw.MatchString(m):
		return "a {} where nothing is escaped"
	default:
		return ""
	}
}

// TestMisplacedPlaceholders: the places of {} that are refused.
func TestMisplacedPlaceholders(t *testing.T) {
	for m, allowed := range map[string]bool{
		"{}": true, "<b>{}</b>": true, `<b title="{}, {}">`: true, `<i class="n {}" title="{}"/>`: true,
		`<b title={}>`: false, `<b {}>`: false, `<{}>`: false, `<b title="{}`: false, `{}">`: false, `<b title='{}'>`: false,
		`<a href="{}">`: false, `<b onclick="{}">`: false, `<b style="{}">`: false, `<style>{}</style>`: false, `<script>{}</script>`: false,
	} {
		assert.Equal(t, allowed, misplaced("x.go", m) == "", m)
	}
}
