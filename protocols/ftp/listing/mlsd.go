package listing

import (
	"strconv"
	"strings"
	"time"
)

// MLSD reads a line of MLSD: facts, a space, and a name (RFC 3659, section 7.2). The last semicolon
// may be missing, and the space may be a tab. Some servers put a space before the facts, as in the
// reply to MLST. It returns false for a blank line, the directory itself and its parent.
func (p *Parser) MLSD(line string) (Entry, bool) {
	if line == "" {
		return Entry{}, false
	}
	raw := line
	if rest, ok := strings.CutPrefix(line, " "); ok && beginsWithType(rest) {
		line = rest
	}
	blank := strings.IndexAny(line, " \t")
	if blank < 0 || blank == len(line)-1 {
		return unparsed(raw), true
	}
	list, name := line[:blank], line[blank+1:]
	last := list[strings.LastIndexByte(list, ';')+1:]
	if last != "" && !strings.Contains(last, "=") {
		return unparsed(raw), true
	}
	e := Entry{Name: name, Size: -1, Raw: raw, Facts: make(map[string]string)}
	for fact := range strings.SplitSeq(strings.TrimSuffix(list, ";"), ";") {
		if key, value, ok := strings.Cut(fact, "="); ok {
			e.Facts[strings.ToLower(key)] = value
		}
	}
	e.Mode = e.Facts["unix.mode"]
	if n, err := strconv.ParseInt(e.Facts["size"], 10, 64); err == nil && n >= 0 {
		e.Size = n
	}
	e.ModTime, _ = time.Parse("20060102150405", e.Facts["modify"])
	// Nonstandard types have the form "OS.name=type".
	switch typ := strings.ToLower(e.Facts["type"]); {
	case typ == "cdir", typ == "pdir":
		return Entry{}, false
	case typ == "file":
		e.Kind = File
	case typ == "dir":
		e.Kind = Directory
	case strings.HasPrefix(typ, "os.unix=slink"), strings.HasPrefix(typ, "os.unix=symlink"):
		e.Kind = Link
		_, e.Target, _ = strings.Cut(e.Facts["type"], ":")
	case typ != "":
		e.Kind = Other
	}
	return e, true
}

// beginsWithType reports whether a line begins with facts, of which one is the type, and a name. A
// line with a space before them could otherwise be a name without facts.
func beginsWithType(line string) bool {
	blank := strings.IndexAny(line, " \t")
	return blank > 0 && blank < len(line)-1 && strings.Contains(";"+strings.ToLower(line[:blank]), ";type=")
}
