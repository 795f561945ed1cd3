package z3950

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/internal/codec/marc"
	codec "github.com/urlget/urlget/internal/codec/z3950"
)

type description struct{ title, author string }

// maxTitle limits titles and author names, in bytes.
const maxTitle = 500

func describeRecord(syntax string, b []byte) (a description) {
	media, _ := mediaType(syntax)
	switch {
	case media == "application/marc":
		if rec, err := marc.Parse(b); err == nil {
			a = description{rec.Title(), rec.Author()}
		}
	case media == "application/xml":
		a = describeXML(b)
	case syntax == codec.SyntaxSUTRS:
		for line := range strings.Lines(string(b)) {
			if a.title = strings.TrimSpace(line); a.title != "" {
				break
			}
		}
	}
	return description{shorten(a.title), shorten(a.author)}
}

func shorten(s string) string {
	s = strings.Join(strings.Fields(wire.Text(s)), " ")
	if len(s) > maxTitle {
		n := maxTitle
		for !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + "…"
	}
	return s
}

// The names of elements are those of MARCXML, Dublin Core, MODS and other formats.
func describeXML(b []byte) (a description) {
	d := xml.NewDecoder(bytes.NewReader(b))
	d.Strict = false
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	var field, code string
	var into *string
	depth := 0 // number of open elements inside the one that into collects
	for {
		token, err := d.Token()
		if err != nil { // b may be truncated
			return description{strings.TrimRight(strings.TrimSpace(a.title), " /:;"),
				strings.TrimRight(strings.TrimSpace(a.author), " ,")}
		}
		switch t := token.(type) {
		case xml.StartElement:
			if into != nil {
				depth++
				continue
			}
			switch t.Name.Local {
			case "datafield":
				field = attribute(t, "tag")
			case "subfield":
				code = attribute(t, "code")
				switch {
				case (field == "245" || field == "200") && (code == "a" || code == "b"):
					into = &a.title
					if *into != "" {
						*into += " "
					}
				case (field == "100" || field == "700") && code == "a" && a.author == "":
					into = &a.author
				}
			case "title", "Title":
				if a.title == "" {
					into = &a.title
				}
			case "creator", "author", "Creator":
				if a.author == "" {
					into = &a.author
				}
			}
		case xml.EndElement:
			switch {
			case into != nil && depth > 0:
				depth--
			default:
				into = nil
			}
		case xml.CharData:
			if into != nil && len(*into) <= maxTitle {
				*into += string(t)
			}
		}
	}
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
