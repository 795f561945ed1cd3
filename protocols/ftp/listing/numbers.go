package listing

import (
	"strconv"
	"strings"
	"time"
)

// numbers reads "0100644 500 101 12345 123456789 name": a mode in octal, the numbers of the owner and
// the group, the size, and the seconds since 1970.
func (p *Parser) numbers(line string) (Entry, bool) {
	w := split(line)
	if len(w) < 6 || len(w[0].text) != 7 || w[0].text[0] != '0' || !isNumber(w[1].text) ||
		!isNumber(w[2].text) {
		return Entry{}, false
	}
	mode, err1 := strconv.ParseUint(w[0].text, 8, 32)
	size, err2 := strconv.ParseInt(w[3].text, 10, 64)
	seconds, err3 := strconv.ParseInt(w[4].text, 10, 64)
	if err1 != nil || err2 != nil || err3 != nil || size < 0 || seconds < 0 {
		return Entry{}, false
	}
	e := Entry{Name: strings.TrimLeft(line[w[4].end:], " \t"), Size: -1, Mode: w[0].text,
		ModTime: time.Unix(seconds, 0).UTC()}
	switch mode >> 12 { // the types of sys/stat.h
	case 0o10:
		e.Kind, e.Size = File, size
	case 0o04:
		e.Kind = Directory
	case 0o12:
		e.Kind = Link
	default:
		e.Kind = Other
	}
	return e, e.Name != ""
}
