// Package gemtext reads the lines of gemtext, the hypertext format of Gemini, and of the formats that
// share its link lines: Spartan pages and Nex directories.
package gemtext

import (
	"bytes"
	"io"
	"iter"
	"strings"

	"github.com/urlget/urlget/fetch/driver/wire"
)

// MaxLink limits link lines, in bytes. Other lines are paragraphs and may be longer.
const MaxLink = 16 << 10

// A Kind is the kind of a line.
type Kind uint8

// The kinds of lines.
const (
	Text     Kind = iota
	Link          // "=>", a URL and an optional name
	Prompt        // "=:", the same for a URL that takes input (Spartan)
	Fence         // "```": begins or ends preformatted text
	Verbatim      // preformatted text
	Heading       // "#", "##" or "###" and a title
	Item          // "* " and an item of a list
	Quote         // ">" and quoted text
)

// A Line is a line of a page.
type Line struct {
	Kind Kind
	// Text is the line without its line ending. Links, fences, headings, items and quotes have no
	// leading mark and no surrounding blanks. It is valid until the next line is read. If Cut is
	// set, the line was too long and Text is its beginning.
	Text []byte
	Cut  bool
	// Level is the level of a heading, from 1 to 3.
	Level int
	// Target and Name are the parts of a link that is not cut. The target may be empty or invalid.
	Target, Name string
}

// Lines yields the lines of a page. If plain is set, there is no preformatted text, as in Nex
// directories. An error ends the sequence.
func Lines(r io.Reader, plain bool) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		verbatim := false
		for text, err := range wire.NewReader(r, MaxLink).All() {
			cut := wire.IsLineCut(err)
			if err != nil && !cut {
				yield(Line{}, err)
				return
			}
			line := Line{Text: text, Cut: cut}
			switch {
			case !plain && bytes.HasPrefix(text, []byte("```")):
				verbatim = !verbatim
				line.mark(Fence, 3)
			case verbatim:
				line.Kind = Verbatim
			case bytes.HasPrefix(text, []byte("=>")):
				line.link(Link)
			case bytes.HasPrefix(text, []byte("=:")):
				line.link(Prompt)
			case plain:
			case bytes.HasPrefix(text, []byte("#")):
				line.Level = 1
				for line.Level < 3 && line.Level < len(text) && text[line.Level] == '#' {
					line.Level++
				}
				line.mark(Heading, line.Level)
			case bytes.HasPrefix(text, []byte("* ")):
				line.mark(Item, 1)
			case bytes.HasPrefix(text, []byte(">")):
				line.mark(Quote, 1)
			}
			if !yield(line, nil) {
				return
			}
		}
	}
}

// mark sets the kind of a line and removes its leading mark of n bytes.
func (l *Line) mark(kind Kind, n int) { l.Kind, l.Text = kind, bytes.Trim(l.Text[n:], " \t") }

func (l *Line) link(kind Kind) {
	l.mark(kind, 2)
	if l.Cut {
		return
	}
	l.Target = string(l.Text)
	if i := strings.IndexAny(l.Target, " \t"); i >= 0 {
		l.Target, l.Name = l.Target[:i], strings.Trim(l.Target[i:], " \t")
	}
}
