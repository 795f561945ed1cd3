package z3950

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/codec/ber"
	codec "github.com/urlget/urlget/internal/codec/z3950"
)

// The first of the names, which are those of URLs, is the preferred one.
var syntaxes = []struct {
	oid, media, suffix string
	names              []string
}{
	{codec.SyntaxUSMARC, "application/marc", ".mrc", []string{"usmarc", "marc21", "marc"}},
	{codec.SyntaxXML, "application/xml", ".xml", []string{"xml"}},
	{codec.SyntaxSUTRS, "text/plain", ".txt", []string{"sutrs", "text"}},
	{codec.SyntaxHTML, "text/html", ".html", []string{"html"}},
	{"1.2.840.10003.5.1", "application/marc", ".mrc", []string{"unimarc"}},
	{"1.2.840.10003.5.11", "application/marc", ".mrc", []string{"ukmarc"}},
	{"1.2.840.10003.5.12", "application/marc", ".mrc", []string{"normarc"}},
	{"1.2.840.10003.5.14", "application/marc", ".mrc", []string{"danmarc"}},
	{"1.2.840.10003.5.15", "application/marc", ".mrc", []string{"finmarc"}},
	{codec.SyntaxOPAC, "application/octet-stream", ".ber", []string{"opac"}},
	{codec.SyntaxGRS1, "application/octet-stream", ".ber", []string{"grs-1", "grs1"}},
	{codec.SyntaxExplain, "application/octet-stream", ".ber", []string{"explain"}},
	{"1.2.840.10003.5.109.1", "application/pdf", ".pdf", []string{"pdf"}},
	{"1.2.840.10003.5.109.2", "application/postscript", ".ps", []string{"postscript"}},
	{"1.2.840.10003.5.109.4", "image/tiff", ".tiff", []string{"tiff"}},
	{"1.2.840.10003.5.109.5", "image/gif", ".gif", []string{"gif"}},
	{"1.2.840.10003.5.109.6", "image/jpeg", ".jpg", []string{"jpeg"}},
	{"1.2.840.10003.5.109.7", "image/png", ".png", []string{"png"}},
	{"1.2.840.10003.5.109.9", "text/sgml", ".sgml", []string{"sgml"}},
}

func isOID(s string) bool {
	_, err := ber.OIDContent(s)
	return err == nil
}

func syntaxOf(name string) string {
	for _, s := range syntaxes {
		if slices.Contains(s.names, strings.ToLower(name)) {
			return s.oid
		}
	}
	if isOID(name) {
		return name
	}
	return ""
}

func syntaxName(oid string) string {
	for _, s := range syntaxes {
		if s.oid == oid {
			return s.names[0]
		}
	}
	return oid
}

func syntaxNames() string {
	var names []string
	for _, s := range syntaxes {
		names = append(names, s.names[0])
	}
	return strings.Join(names, ", ")
}

func mediaType(oid string) (media, suffix string) {
	for _, s := range syntaxes {
		if s.oid == oid {
			return s.media, s.suffix
		}
	}
	return "application/octet-stream", ""
}

func matchesSyntax(oid, want string) bool {
	media, _ := mediaType(oid)
	return strings.EqualFold(want, media) || syntaxOf(want) == oid
}

// formChoices lists forms of a record to request, in order of preference.
type formChoices struct {
	syntaxes   []string // "" is the server's choice
	elements   []string // "" is the server's choice
	marcAsText bool     // text is requested: format a MARC record as text
	required   bool     // a record with another syntax is an error
}

// MARC is the default because catalogues store records as MARC and derive less from it.
func (t *target) choose(req *fetch.Request, elements ...string) (formChoices, error) {
	c := formChoices{syntaxes: t.syntaxes, elements: elements}
	if t.elements != "" {
		c.elements = []string{t.elements}
	}
	if req.View != "" {
		c.syntaxes, c.required = nil, true
		for _, s := range syntaxes {
			if matchesSyntax(s.oid, req.View) {
				c.syntaxes = append(c.syntaxes, s.oid)
			}
		}
		if c.syntaxes == nil && isOID(req.View) {
			c.syntaxes = []string{req.View}
		}
		if c.marcAsText = matchesSyntax(codec.SyntaxSUTRS, req.View); c.marcAsText {
			c.syntaxes = append(c.syntaxes, codec.SyntaxUSMARC, "")
		}
		if c.syntaxes == nil {
			return c, &fetch.Error{Code: fetch.ErrNotFound, Err: fmt.Errorf("unknown view %q", req.View),
				Hint: "use one of the views " + syntaxNames() + ", or an object identifier"}
		}
		return c, nil
	}
	if c.syntaxes == nil {
		for _, want := range req.Accept {
			for _, s := range syntaxes {
				if matchesSyntax(s.oid, want) {
					c.syntaxes = append(c.syntaxes, s.oid)
				}
			}
		}
		for _, oid := range []string{codec.SyntaxUSMARC, codec.SyntaxXML, codec.SyntaxSUTRS, ""} {
			if !slices.Contains(c.syntaxes, oid) {
				c.syntaxes = append(c.syntaxes, oid)
			}
		}
	}
	return c, nil
}
