package serve

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/charmap"
	utf "golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/message"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetch/uri/find"
)

const (
	maxText     = 4 << 20  // bytes of text on a page
	maxTextLine = 16 << 10 // bytes of a line; longer lines are split
)

type piece struct{ Text, Link string }

func decodeText(r io.Reader, contentType string) io.Reader {
	decoder := transform.Transformer(transform.Nop)
	if _, params, err := mime.ParseMediaType(contentType); err == nil {
		if enc, _ := charset.Lookup(params["charset"]); enc != nil {
			decoder = enc.NewDecoder()
		}
	}
	return transform.NewReader(r, utf.BOMOverride(decoder))
}

type textStyle int

const (
	fixedWidth textStyle = iota
	quoted               // lines that begin with ">" are set off
	folded               // several such lines are hidden behind the first one
	prose                // in a column, in the font of the page
)

func styleOf(kind string, body *bufio.Reader) textStyle {
	if first, _ := body.Peek(body.Buffered()); kind == "text/plain" && isProse(first) {
		return prose
	}
	return fixedWidth
}

func (p *page) text(r io.Reader, contentType string, style textStyle) error {
	p.put("texthead", struct{ Prose bool }{style == prose})
	limited := &io.LimitedReader{R: decodeText(r, contentType), N: maxText}
	in := bufio.NewReaderSize(limited, maxTextLine)
	lines := 0
	isFolded := false
	var err error
	for err == nil {
		var line []byte
		if in.Buffered() == 0 && lines > 0 {
			p.flush() // the next read may wait
		}
		line, err = in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			err = nil
		}
		if len(line) > 0 {
			text, name := readable(line), "line"
			switch isQuote := strings.HasPrefix(text, ">"); {
			case isQuote && style == folded && !isFolded && startsWithQuote(in):
				name, isFolded = "fold", true
			case isQuote && (style == folded || style == quoted):
				name = "quotedline"
			case isFolded && !isQuote:
				p.put("foldend", nil)
				isFolded = false
			}
			p.put(name, p.pieces(text))
		}
		lines++
	}
	if isFolded {
		p.put("foldend", nil)
	}
	p.put("textend", nil)
	if limited.N <= 0 {
		p.putCut()
	}
	if err == io.EOF {
		return nil
	}
	return err
}

func startsWithQuote(in *bufio.Reader) bool {
	next, _ := in.Peek(1)
	return string(next) == ">"
}

// isProse reports whether a text is prose: lines of words, without columns, drawings
// and code. In doubt it is not, because columns require a font with a fixed width.
func isProse(text []byte) bool {
	words, symbols, letters := 0, 0, 0
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, " \r\n")
		columns := bytes.Contains(bytes.TrimLeft(line, " "), []byte("   "))
		if columns || bytes.IndexByte(line, '\t') >= 0 || bytes.HasPrefix(line, []byte("        ")) {
			return false
		}
		words += len(bytes.Fields(line))
	}
	for _, r := range string(text) {
		switch {
		case unicode.IsLetter(r):
			letters++
		case strings.ContainsRune("{}[]<>=|\\/_*#~^+$@&;%", r), unicode.Is(unicode.So, r), r == 0x1b:
			symbols++
		}
	}
	return words >= 40 && symbols*30 < letters && letters*3 > len(text)
}

func (p *page) putFile(name, kind string, size int64) {
	p.put("file", struct{ Name, Type, Size, Link string }{fetch.Printable(name), fetch.Printable(kind),
		sizeText(size), p.s.link("/download", p.address)})
}

func (p *page) putCut() {
	p.put("cut", struct{ Size, Link string }{sizeText(maxText), p.s.link("/download", p.address)})
}

// readable returns a printable line. A line that is not valid UTF-8 is decoded as Windows-1252.
func readable(line []byte) string {
	end := ""
	if n := len(line); n > 0 && line[n-1] == '\n' {
		end, line = "\n", bytes.TrimSuffix(line[:n-1], []byte("\r"))
	}
	if !utf8.Valid(line) {
		line, _ = charmap.Windows1252.NewDecoder().Bytes(line)
	}
	parts := strings.Split(string(line), "\t")
	for i, part := range parts {
		parts[i] = fetch.Printable(part)
	}
	return strings.Join(parts, "\t") + end
}

func (p *page) pieces(line string) []piece {
	if !strings.Contains(line, ":") {
		return []piece{{Text: line}}
	}
	var list []piece
	rest := line
	for u, err := range find.InText(line) {
		if err != nil || !u.IsAbs() {
			continue
		}
		text := u.String()
		at := strings.Index(rest, text)
		if at < 0 {
			continue // the text has another form of the URL
		}
		if at > 0 {
			list = append(list, piece{Text: rest[:at]})
		}
		list = append(list, piece{text, p.s.link("/view", p.here.to(u))})
		rest = rest[at+len(text):]
	}
	return append(list, piece{Text: rest})
}

var shownHeader = []string{"From", "To", "Cc", "Newsgroups", "Date", "Organization", "Followup-To"}

func (p *page) message(resp *fetch.Response, r io.Reader) error {
	text, readErr := io.ReadAll(io.LimitReader(r, maxCachedBody))
	head, err := message.ReadHead(bytes.NewReader(text), 0)
	if err != nil {
		return err
	}
	fields, _ := message.SplitHead(head)
	header := message.ParseHeader(fields)
	var list []fact
	for _, name := range shownHeader {
		for _, v := range header.Values(name) {
			if name == "Newsgroups" {
				list = append(list, p.groups(v)...)
				continue
			}
			list = append(list, fact{Name: name, Value: fetch.Printable(message.Decode(v))})
		}
	}
	for i, id := range strings.Fields(header.Get("References")) {
		if i < maxReferences {
			list = append(list,
				fact{Name: "In reply to", Value: fetch.Printable(id), Link: p.articleLink(id)})
		}
	}
	if articles, _ := p.s.readings.thread(p.address); len(articles) > 1 && p.address.part == "" {
		list = append(list, fact{Name: "Thread", Value: fmt.Sprintf("%d articles", len(articles)),
			Link: p.s.link("/thread", p.address)})
	}
	p.put("message", list)
	if err := p.text(message.Text(bytes.NewReader(text)), "", quoted); err != nil {
		return err
	}
	cut := len(text) == maxCachedBody || readErr != nil
	if !cut {
		p.here.cacheID = p.s.bodies.add(resp.URL.WithoutPassword(), p.address.part, resp.Meta, text)
	}
	p.parts(text, cut)
	return readErr
}

const maxGroups = 50

func (p *page) groups(list string) []fact {
	var facts []fact
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if name == "" || len(facts) == maxGroups {
			continue
		}
		f := fact{Name: "Newsgroup", Value: fetch.Printable(name)}
		u, err := p.here.url.Article("a@b") // a news URL of the same server
		if n, bad := uri.ParseNews(u); err == nil && bad == nil {
			n.MessageID, n.Group = "", name
			if group, err := n.URI(); err == nil {
				f.Link = p.s.link("/view", p.here.to(group))
			}
		}
		facts = append(facts, f)
	}
	return facts
}

const maxReferences = 50

func (p *page) articleLink(id string) string {
	u, err := p.here.url.Article(strings.Trim(id, "<>"))
	if err != nil {
		return ""
	}
	return p.s.link("/view", p.here.to(u))
}
