package links

import (
	"bytes"
	"errors"
	"io"
)

// A token is the kind of a piece of markup. The end comes once the input ends, also within a tag.
type token byte

const (
	endToken token = iota
	textToken
	startToken
	endTagToken
	commentToken // also what browsers read as a comment: processing instructions and malformed tags
	doctypeToken
)

const (
	// maxToken bounds one tag, text or script that is kept, in bytes.
	maxToken = 16 << 20
	// longValue is the size from which the bytes of comments and data URLs are not kept if texts are not.
	longValue = 256 << 10
)

// maxAttributes bounds the attributes of a tag. Others count only if they are in linkKeys.
const maxAttributes = 1 << 14

var errTokenTooLong = errors.New("token too long")

// A scanner splits a page into tokens (HTML, section 13.2.5), whose bytes together are those of the page.
// It looks for the next "<" and reads only tags byte by byte. It decodes nothing.
type scanner struct {
	skipsTexts  bool   // texts are not tokens, and are not kept; nor are long comments and data URLs
	allowsCDATA bool   // CDATA sections are texts, not comments
	allKeys     bool   // all attributes are wanted, not only those of linkKeys
	rawName     string // the next text ends before the end tag of this element

	name        extent     // of a tag
	attrs       []attrScan // of a start tag
	selfClosing bool       // a start tag ends with "/>"
	rawText     bool       // a text was one of rawName
	isCDATA     bool       // a text is a CDATA section, and has its marks
	keys        *words[linkKey]
	in          io.Reader
	buf         []byte
	start       int // offset of the token in buf
	n           int // its length
	readErr     error
	err         error // no more input is read
}

// An extent is a part of a token, from one offset to the other.
type extent struct{ from, to int }

// An attrScan is an attribute. Known is its name in lower case, if it is one of linkKeys.
type attrScan struct {
	key, val extent
	known    string
}

func (s *scanner) raw() []byte { return s.buf[s.start : s.start+s.n] }

func (s *scanner) slice(e extent) []byte { return s.buf[s.start+e.from : s.start+e.to] }

// has reports whether the token has a byte at the offset i, and reads it.
func (s *scanner) has(i int) bool {
	for s.start+i >= len(s.buf) {
		if !s.more() {
			return false
		}
	}
	return true
}

func (s *scanner) at(i int) byte { return s.buf[s.start+i] }

// rest is the length of the token if all that was read belongs to it.
func (s *scanner) rest() int { return len(s.buf) - s.start }

func (s *scanner) more() bool {
	switch {
	case s.err != nil:
		return false
	case s.rest() >= maxToken:
		s.err = errTokenTooLong
		return false
	case len(s.buf) < cap(s.buf):
	case s.start > cap(s.buf)/2:
		s.buf = s.buf[:copy(s.buf, s.buf[s.start:])]
		s.start = 0
	default:
		larger := make([]byte, s.rest(), 2*cap(s.buf))
		copy(larger, s.buf[s.start:])
		s.buf, s.start = larger, 0
	}
	n, empty := 0, 0
	for ; n == 0 && s.readErr == nil; empty++ {
		if n, s.readErr = s.in.Read(s.buf[len(s.buf):cap(s.buf)]); empty == 100 && s.readErr == nil {
			s.readErr = io.ErrNoProgress
		}
	}
	s.buf = s.buf[:len(s.buf)+n]
	if n == 0 {
		s.err = s.readErr
	}
	return n > 0
}

// find returns the offset of the first c at i or after it, or -1 at the end of the input.
func (s *scanner) find(i int, c byte) int {
	for {
		if j := bytes.IndexByte(s.buf[s.start+i:], c); j >= 0 {
			return i + j
		}
		if i = s.rest(); !s.more() {
			return -1
		}
	}
}

// findTag returns the offset of the first "<" of a text at i or after it. It does not keep the text before
// it if skipsTexts is set, so that the offset is then 0.
func (s *scanner) findTag(i int) int {
	if !s.skipsTexts {
		return s.find(i, '<')
	}
	for {
		j := bytes.IndexByte(s.buf[s.start+i:], '<')
		if j >= 0 {
			s.start += i + j
			return 0
		}
		s.start = len(s.buf)
		if i = 0; !s.more() {
			return -1
		}
	}
}

// findLong is find. If skipsTexts is set and isUseless reports true for the long text after the offset from,
// it keeps only the last bytes of that, and short is set.
func (s *scanner) findLong(from, i int, c byte, isUseless func(text []byte) bool) (end int, short bool) {
	for {
		if j := bytes.IndexByte(s.buf[s.start+i:], c); j >= 0 {
			return i + j, short
		}
		i = s.rest()
		text := s.slice(extent{from, i})
		if s.skipsTexts && len(text) > longValue && (short || isUseless(text)) {
			short = true
			i = from + copy(text, text[len(text)-len("--!"):])
			s.buf = s.buf[:s.start+i]
		}
		if !s.more() {
			return -1, short
		}
	}
}

func isDataURL(value []byte) bool {
	value = bytes.TrimLeft(value, blanks)
	return len(value) > len("data:") && equalFold(value[:len("data:")], "data:")
}

// next reads the next token.
func (s *scanner) next() token {
	s.start += s.n
	s.n, s.selfClosing, s.isCDATA = 0, false, false
	name := s.rawName
	s.rawText, s.rawName = name != "", ""
	if name != "" {
		end := s.rawTextEnd(name)
		if s.n = end; end > 0 && !s.skipsTexts {
			return textToken
		}
		s.start += end
		s.n, s.rawText = 0, false
	}
	for i := 0; ; i++ {
		if i = s.findTag(i); i < 0 || !s.has(i+1) {
			return s.last()
		}
		c := s.at(i + 1)
		if !isLetter(c) && c != '/' && c != '!' && c != '?' {
			continue
		}
		if i > 0 {
			s.n = i
			return textToken
		}
		switch c {
		case '!':
			return s.declaration()
		case '?':
			return s.comment()
		case '/':
			switch {
			case !s.has(2):
				return s.last()
			case isLetter(s.at(2)):
				return s.tag(2, endTagToken)
			}
			return s.comment()
		}
		return s.tag(1, startToken)
	}
}

// last returns the text at the end of the input.
func (s *scanner) last() token {
	s.n = s.rest()
	if s.n == 0 || s.skipsTexts {
		return endToken
	}
	return textToken
}

// comment reads a malformed comment, which ends at the first ">".
func (s *scanner) comment() token {
	end, _ := s.findLong(2, 2, '>', isComment)
	s.endAt(end)
	return commentToken
}

func isComment([]byte) bool { return true }

// endAt ends the token after the offset i or, if that is -1, at the end of the input.
func (s *scanner) endAt(i int) {
	if s.n = i + 1; i < 0 {
		s.n = s.rest()
	}
}

func (s *scanner) declaration() token {
	switch {
	case s.hasPrefix(2, "--"):
		s.endAt(s.commentEnd(len("<!--")))
		return commentToken
	case s.hasPrefix(2, "doctype"):
		s.endAt(s.find(2, '>'))
		return doctypeToken
	case s.allowsCDATA && s.hasPrefix(2, "[cdata[") && string(s.slice(extent{2, 9})) == "[CDATA[":
		i := s.find(len(cdata), '>')
		for i >= 0 && !bytes.HasSuffix(s.slice(extent{len(cdata), i}), []byte("]]")) {
			i = s.find(i+1, '>')
		}
		s.endAt(i)
		if s.isCDATA = true; s.skipsTexts {
			return commentToken
		}
		return textToken
	}
	return s.comment()
}

// commentEnd returns the offset of the ">" that ends the comment whose data are at the offset from.
func (s *scanner) commentEnd(from int) int {
	for i := from; ; i++ {
		if i, _ = s.findLong(from, i, '>', isComment); i < 0 {
			return -1
		}
		data := s.slice(extent{from, i})
		if len(data) == 0 || string(data) == "-" || bytes.HasSuffix(data, []byte("--")) ||
			bytes.HasSuffix(data, []byte("--!")) {
			return i
		}
	}
}

// hasPrefix reports whether the input has a word at the offset i, in whatever case. The word is in lower
// case.
func (s *scanner) hasPrefix(i int, word string) bool {
	return s.has(i+len(word)-1) && equalFold(s.slice(extent{i, i + len(word)}), word)
}

// isTag reports whether the input has a tag at the offset i, of which begin is "<" or "</".
func (s *scanner) isTag(i int, begin, name string) bool {
	if !s.hasPrefix(i, begin) || !s.hasPrefix(i+len(begin), name) {
		return false
	}
	end := i + len(begin) + len(name)
	return s.has(end) && endsName(s.at(end))
}

// rawTextEnd returns the length of a text that ends before the end tag of an element.
func (s *scanner) rawTextEnd(name string) int {
	if name == "script" {
		return s.scriptEnd()
	}
	for i := 0; ; i++ {
		if i = s.findTag(i); i < 0 {
			return s.rest()
		}
		if name != "plaintext" && s.isTag(i, "</", name) {
			return i
		}
	}
}

// scriptEnd returns the length of a script (HTML, sections 13.2.5.4 and 13.2.5.15 to 13.2.5.31): in a
// comment, a script tag and its end tag are a pair.
func (s *scanner) scriptEnd() int {
	const name = "script"
	const (
		plain   = iota
		escaped // after "<!--"
		paired  // and in a script element therein
	)
	state, dashes := plain, 0
	for i := 0; ; i++ {
		if state == plain {
			if i = s.findTag(i); i < 0 {
				return s.rest()
			}
		} else if !s.has(i) {
			return s.rest()
		}
		if s.skipsTexts && (s.at(i) == '<' || i >= smallBuffer/2) {
			s.start += i
			i = 0
		}
		switch s.at(i) {
		case '-':
			dashes++
			continue
		case '>':
			if dashes >= 2 {
				state = plain
			}
		case '<':
			switch {
			case state == plain && s.hasPrefix(i, "<!--"):
				state, dashes = escaped, 2
				i += len("!--")
				continue
			case state == escaped && s.isTag(i, "<", name):
				state = paired
			case s.isTag(i, "</", name) && state != paired:
				return i
			case state == paired && s.isTag(i, "</", name):
				state = escaped
			}
		}
		dashes = 0
	}
}

// tag reads a tag whose name is at the offset i. An attribute without a name is one that begins with "=".
func (s *scanner) tag(i int, kind token) token {
	s.name, s.attrs = extent{i, s.until(i, blank|slash|greater)}, s.attrs[:0]
	unquoted := 0     // end of a value without quotes
	seen := uint64(0) // bits of linkKeys
	for i = s.until(s.name.to, equals|greater|other); s.has(i); i = s.until(i, equals|greater|other) {
		if s.at(i) == '>' {
			s.n = i + 1
			s.selfClosing = s.at(i-1) == '/' && i != unquoted
			return kind
		}
		a, isShort := attrScan{key: extent{i, s.until(i+1, blank|slash|greater|equals)}}, false
		if i = s.until(a.key.to, ^blank); s.has(i) && s.at(i) == '=' {
			i = s.until(i+1, ^blank)
			switch {
			case !s.has(i) || s.at(i) == '>':
			case s.at(i) == '"' || s.at(i) == '\'':
				a.val.from = i + 1
				a.val.to, isShort = s.findLong(i+1, i+1, s.at(i), isDataURL)
				if i = a.val.to + 1; i == 0 {
					s.n = s.rest()
					return endToken
				}
			default:
				a.val = extent{i, s.until(i, blank|greater)}
				i, unquoted = a.val.to, a.val.to
			}
		}
		if kind == startToken {
			known, isKnown := s.keys.get(s.slice(a.key))
			a.known = known.name
			if !isShort && (isKnown && seen&known.bit == 0 ||
				!isKnown && s.allKeys && len(s.attrs) < maxAttributes) {
				s.attrs = append(s.attrs, a)
			}
			seen |= known.bit
		}
	}
	s.n = s.rest()
	return endToken
}

// until returns the offset of the first character of these kinds at i or after it, or that of the end of the
// input.
func (s *scanner) until(i int, kinds charKind) int {
	for {
		text := s.buf[s.start:]
		for ; i < len(text); i++ {
			if charKinds[text[i]]&kinds != 0 {
				return i
			}
		}
		if !s.more() {
			return i
		}
	}
}

// A charKind is a kind of characters in tags.
type charKind byte

const (
	blank charKind = 1 << iota
	slash
	greater
	equals
	other
)

var charKinds = func() (kinds [256]charKind) {
	for c := range kinds {
		kinds[c] = other
	}
	for _, c := range blanks {
		kinds[c] = blank
	}
	kinds['/'], kinds['>'], kinds['='] = slash, greater, equals
	return kinds
}()

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func endsName(c byte) bool { return charKinds[c]&(blank|slash|greater) != 0 }
