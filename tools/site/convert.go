package main

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/russross/blackfriday/v2"
)

// A converter converts one document.
type converter struct {
	from     document
	pages    map[string]string // by file
	index    terms
	title    string
	sections []section
}

// comment matches the comments of documents, which are for tests.
var comment = regexp.MustCompile(`(?s)<!--.*?-->\n?`)

// convert returns the content of the page.
func (c *converter) convert(text []byte) template.HTML {
	text = comment.ReplaceAll(text, nil)
	tree := blackfriday.New(blackfriday.WithExtensions(blackfriday.CommonExtensions)).Parse(text)
	here, where, used := c.from.page, c.from.page, make(map[string]bool)
	tree.Walk(func(n *blackfriday.Node, entering bool) blackfriday.WalkStatus {
		if !entering {
			return blackfriday.GoToNext
		}
		switch n.Type {
		case blackfriday.Heading:
			name := plain(n)
			n.HeadingID = anchor(name, used)
			if n.Level == 1 && c.title == "" {
				c.title = name
			}
			if n.Level == 2 {
				c.sections = append(c.sections, section{n.HeadingID, name})
			}
			here, where = c.from.page+"#"+n.HeadingID, c.title
			if name != c.title {
				where += ": " + name
			}
			c.index.add(name, here, where)
		case blackfriday.Code:
			if term := string(n.Literal); len(term) <= maxTerm && !strings.ContainsAny(term, " \n") {
				c.index.add(term, here, where)
			}
		case blackfriday.Link, blackfriday.Image:
			n.Destination = []byte(c.resolve(string(n.Destination)))
		}
		return blackfriday.GoToNext
	})
	r := blackfriday.NewHTMLRenderer(blackfriday.HTMLRendererParameters{})
	var out bytes.Buffer
	tree.Walk(func(n *blackfriday.Node, entering bool) blackfriday.WalkStatus {
		return r.RenderNode(&out, n, entering)
	})
	return template.HTML(out.String())
}

// plain returns the text of a node.
func plain(n *blackfriday.Node) string {
	var b strings.Builder
	n.Walk(func(n *blackfriday.Node, entering bool) blackfriday.WalkStatus {
		if entering {
			b.Write(n.Literal)
		}
		return blackfriday.GoToNext
	})
	return b.String()
}

// anchor returns the ID of a heading, as GitHub makes it.
func anchor(name string, used map[string]bool) string {
	id := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, name)
	one := id
	for n := 1; used[one]; n++ {
		one = fmt.Sprintf("%s-%d", id, n)
	}
	used[one] = true
	return one
}

// word matches terms that someone could look for.
var word = regexp.MustCompile(`\pL\pL`)

// maxTerm limits the length of a term.
const maxTerm = 40

// terms are the places of each section, flag and name: the titles of sections by address.
type terms map[string]map[string]string

func (t terms) add(term, place, title string) {
	if !word.MatchString(term) {
		return
	}
	if t[term] == nil {
		t[term] = make(map[string]string)
	}
	t[term][place] = title
}

// html returns the list of all terms.
func (t terms) html() template.HTML {
	var b strings.Builder
	b.WriteString("<h1>Sections, flags and names</h1>\n<p>To find one, use the search of your " +
		"browser.</p>\n<dl>\n")
	letters := func(s string) string { return strings.ToLower(strings.TrimLeft(s, "-$`\"./<{")) }
	names := slices.SortedFunc(maps.Keys(t), func(a, b string) int { return cmp.Or(cmp.Compare(letters(a), letters(b)), cmp.Compare(a, b)) })
	for _, name := range names {
		fmt.Fprintf(&b, "<dt>%s</dt><dd>", template.HTMLEscapeString(name))
		for i, place := range slices.Sorted(maps.Keys(t[name])) {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, `<a href="%s">%s</a>`, place, template.HTMLEscapeString(t[name][place]))
		}
		b.WriteString("</dd>\n")
	}
	b.WriteString("</dl>\n")
	return template.HTML(b.String())
}
