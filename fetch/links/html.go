package links

import (
	"errors"
	"io"
	"iter"
	"strings"

	"golang.org/x/net/html"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

const (
	maxToken = 16 << 20 // octets of one tag, text or script
	maxName  = 256      // octets of a link's text that are kept
)

// HTML reads an HTML page as it comes and yields its links, in the order in
// which they end. base is the URL of the page; a base element changes it for
// what follows.
//
// Rel is "a" for anchors and areas, the first word of rel for link elements
// ("stylesheet", "icon"), "refresh" for a meta element, and otherwise the name
// of the element, such as "img", "script" or "iframe". Name is the text of an
// anchor or the alt text of an image. A reference that cannot be read as a URL
// becomes an entry of kind fetch.EntryError.
func HTML(r io.Reader, base uri.URI) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		p := &page{tokens: html.NewTokenizer(r), base: base, yield: yield}
		p.tokens.SetMaxBuf(maxToken)
		for !p.left {
			switch p.tokens.Next() {
			case html.ErrorToken:
				p.end()
				return
			case html.TextToken:
				p.text(p.tokens.Text())
			case html.StartTagToken, html.SelfClosingTagToken:
				p.tag()
			case html.EndTagToken:
				if name, _ := p.tokens.TagName(); string(name) == "a" {
					p.closeAnchor()
				}
			}
		}
	}
}

// A page is an HTML page being read.
type page struct {
	tokens  *html.Tokenizer
	base    uri.URI
	hasBase bool // only the first base element counts
	anchor  *fetch.Entry
	yield   func(fetch.Entry, error) bool
	left    bool // the caller wants no more
}

func (p *page) emit(e fetch.Entry) {
	p.left = p.left || !p.yield(e, nil)
}

func (p *page) end() {
	p.closeAnchor()
	err := p.tokens.Err()
	switch {
	case p.left || err == io.EOF:
		return
	case errors.Is(err, html.ErrBufferExceeded):
		err = tooLong("a piece of HTML", maxToken, p.base)
	}
	p.yield(fetch.Entry{}, err)
}

// text adds to the name of the anchor that is open.
func (p *page) text(text []byte) {
	if p.anchor == nil || len(p.anchor.Name) >= maxName {
		return
	}
	words := strings.Join(strings.Fields(string(text)), " ")
	if words != "" && p.anchor.Name != "" {
		words = " " + words
	}
	p.anchor.Name += words[:min(len(words), maxName)]
}

func (p *page) closeAnchor() {
	if p.anchor != nil {
		p.anchor.Name = strings.ToValidUTF8(p.anchor.Name, "\uFFFD")
		p.emit(*p.anchor)
		p.anchor = nil
	}
}

// sources are the elements whose attribute leads to what belongs to the page.
var sources = map[string]string{
	"audio": "src", "embed": "src", "frame": "src", "iframe": "src", "img": "src", "input": "src", "object": "data",
	"script": "src", "source": "src", "track": "src", "video": "src", "body": "background",
}

// tag handles a start tag.
func (p *page) tag() {
	tagName, more := p.tokens.TagName()
	name, attr := string(tagName), map[string]string{}
	for more {
		var k, v []byte
		k, v, more = p.tokens.TagAttr()
		if _, again := attr[string(k)]; !again { // the first counts
			attr[string(k)] = string(v)
		}
	}
	switch name {
	case "base":
		if u, err := uri.ParseLoose(attr["href"]); err == nil && !p.hasBase && attr["href"] != "" {
			p.base, p.hasBase = p.base.Resolve(u), true
		}
	case "a", "area":
		p.closeAnchor()
		href, ok := attr["href"]
		if !ok {
			return
		}
		e := entry(p.base, href, "a")
		e.ContentType = attr["type"]
		if name == "area" {
			e.Name = attr["alt"]
			p.emit(e)
		} else if e.Kind == fetch.EntryError {
			p.emit(e)
		} else {
			p.anchor = &e
		}
	case "link":
		if href, ok := attr["href"]; ok {
			rel, _, _ := strings.Cut(strings.TrimSpace(strings.ToLower(attr["rel"])), " ")
			e := entry(p.base, href, rel)
			e.ContentType = attr["type"]
			p.emit(e)
		}
	case "meta":
		if _, ref, ok := strings.Cut(attr["content"], ";"); ok && strings.EqualFold(attr["http-equiv"], "refresh") {
			if key, value, ok := strings.Cut(ref, "="); ok && strings.EqualFold(strings.TrimSpace(key), "url") {
				p.emit(entry(p.base, strings.Trim(strings.TrimSpace(value), `"'`), "refresh"))
			}
		}
	default:
		p.source(name, attr)
	}
}

// source handles elements that are shown or run as a part of the page.
func (p *page) source(name string, attr map[string]string) {
	if ref, ok := attr[sources[name]]; ok && sources[name] != "" && strings.TrimSpace(ref) != "" {
		e := entry(p.base, ref, name)
		e.ContentType = attr["type"]
		if name == "img" && e.Kind != fetch.EntryError {
			e.Name = attr["alt"]
		}
		if name == "input" {
			e.ContentType = "" // its type is that of the field
		}
		p.emit(e)
	}
	if name == "video" && attr["poster"] != "" {
		p.emit(entry(p.base, attr["poster"], "img"))
	}
	if name == "img" || name == "source" {
		for _, ref := range srcset(attr["srcset"]) {
			p.emit(entry(p.base, ref, "img"))
		}
	}
}

// srcset returns the URLs of an image's candidates: each ends at white space,
// or at a comma that white space or the end follows.
func srcset(s string) []string {
	var refs []string
	for {
		s = strings.TrimLeft(s, " \t\r\n\f,")
		if s == "" {
			return refs
		}
		ref := s
		if i := strings.IndexAny(s, " \t\r\n\f"); i >= 0 {
			ref = s[:i]
		}
		s = s[len(ref):]
		if bare := strings.TrimRight(ref, ","); bare != ref {
			refs = append(refs, bare)
			continue // no descriptor
		}
		refs = append(refs, ref)
		if i := strings.IndexByte(s, ','); i >= 0 {
			s = s[i:]
		} else {
			s = ""
		}
	}
}
