package listing

import (
	"strconv"
	"strings"
)

// unix reads the output of "ls -l" in its many forms: with or without group, link count and owner,
// with several date formats, and with a mark for access lists or attributes after the mode.
func (p *Parser) unix(line string) (Entry, bool) {
	f := split(line)
	if len(f) > 1 && isNumber(f[0].text) && isMode(f[1].text) {
		f = f[1:] // an inode or a number of blocks
	}
	if len(f) < 4 || !isMode(f[0].text) {
		return Entry{}, false
	}
	e, ok := p.dated(line, f[1:])
	if !ok {
		return Entry{}, false
	}
	e.Mode = f[0].text
	switch e.Mode[0] {
	case '-':
		e.Kind = File
	case 'd':
		e.Kind = Directory
	case 'l':
		e.Kind = Link
		e.Name, e.Target, _ = strings.Cut(e.Name, " -> ")
	default:
		e.Kind = Other
	}
	if e.Kind != File {
		e.Size = -1 // not the size of a body
	}
	return e, true
}

// netware reads "d [RWCEAFMS] owner 512 Jan 16 18:53 name".
func (p *Parser) netware(line string) (Entry, bool) {
	f := split(line)
	if len(f) < 5 || f[0].text != "d" && f[0].text != "-" ||
		!strings.HasPrefix(f[1].text, "[") || !strings.HasSuffix(f[1].text, "]") {
		return Entry{}, false
	}
	e, ok := p.dated(line, f[2:])
	if !ok {
		return Entry{}, false
	}
	e.Name, e.Mode, e.Kind = strings.TrimLeft(e.Name, " "), f[0].text+f[1].text, File
	if f[0].text == "d" {
		e.Kind, e.Size = Directory, -1
	}
	return e, e.Name != ""
}

// dated finds a size followed by a date. The name begins one space after them and may itself begin
// with spaces, except after a numeric date without a time, which servers pad.
func (p *Parser) dated(line string, words []word) (Entry, bool) {
	for i := 1; i < len(words); i++ {
		if !isSize(words[i-1].text) {
			continue
		}
		at, n := p.date(words[i:])
		if n == 0 {
			continue
		}
		start := words[i+n-1].end + 1
		if start >= len(line) {
			return Entry{}, false
		}
		name := line[start:]
		if n == 1 {
			name = strings.TrimLeft(name, " ")
		}
		size, err := strconv.ParseInt(words[i-1].text, 10, 64)
		if err != nil {
			size = -1
		}
		return Entry{Name: name, Size: size, ModTime: at}, name != ""
	}
	return Entry{}, false
}

// A word is a part of a line without blanks.
type word struct {
	text string
	end  int // offset in the line
}

// most limits the words that are examined. Later ones are part of a name.
const most = 16

func split(line string) []word {
	words := make([]word, 0, most)
	for i := 0; i < len(line) && len(words) < most; {
		if line[i] == ' ' || line[i] == '\t' {
			i++
			continue
		}
		start := i
		for i < len(line) && line[i] != ' ' && line[i] != '\t' {
			i++
		}
		words = append(words, word{line[start:i], i})
	}
	return words
}

func isNumber(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// isSize reports whether s is a number of bytes, or a rounded size such as "33.5k".
func isSize(s string) bool {
	whole, tenths, _ := strings.Cut(strings.TrimRight(s, "kKMGT"), ".")
	return isNumber(whole) && (tenths == "" || isNumber(tenths))
}

// isMode reports whether s is a mode such as "-rw-r--r--", "drwxr-xr-x+" or "-rw-r--r--@".
func isMode(s string) bool {
	if len(s) != 10 && !(len(s) == 11 && strings.IndexByte("+.@*", s[10]) >= 0) {
		return false
	}
	return strings.IndexByte("-dlbcpsDCMPn?", s[0]) >= 0 && strings.Trim(s[1:10], "-rwxsStTlLH") == ""
}
