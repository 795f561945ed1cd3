package listing

import (
	"strconv"
	"strings"
)

// vxworks reads "2048  Feb-28-1998  05:23:30  name <DIR>".
func (p *Parser) vxworks(line string) (Entry, bool) {
	w := split(line)
	if len(w) < 4 || !isNumber(w[0].text) {
		return Entry{}, false
	}
	at, ok := parseAny(w[1].text+" "+w[2].text, "Jan-02-2006 15:04:05")
	size, err := strconv.ParseInt(w[0].text, 10, 64)
	if !ok || err != nil {
		return Entry{}, false
	}
	e := Entry{Kind: File, Size: size, ModTime: at, Name: strings.TrimLeft(line[w[2].end:], " \t")}
	if dir, ok := strings.CutSuffix(strings.TrimRight(e.Name, " "), " <DIR>"); ok {
		e.Kind, e.Size, e.Name = Directory, -1, strings.TrimRight(dir, " ")
	}
	return e, e.Name != ""
}
