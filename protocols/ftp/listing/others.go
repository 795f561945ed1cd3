package listing

import (
	"strconv"
	"strings"
	"time"
)

// eplf reads the Easily Parsed LIST Format: "+", facts, a tab, a name.
func (p *Parser) eplf(line string) (Entry, bool) {
	list, name, ok := strings.Cut(line, "\t")
	if !ok || name == "" || !strings.HasPrefix(list, "+") {
		return Entry{}, false
	}
	e := Entry{Name: name, Size: -1}
	for fact := range strings.SplitSeq(list[1:], ",") {
		if fact == "" {
			continue
		}
		n, err := strconv.ParseInt(fact[1:], 10, 64)
		switch {
		case fact == "/":
			e.Kind = Directory
		case fact == "r":
			e.Kind = File
		case fact[0] == 's' && err == nil:
			e.Size = n
		case fact[0] == 'm' && err == nil:
			e.ModTime = time.Unix(n, 0).UTC()
		}
	}
	return e, true
}

// dosDates are the date formats of DIR.
var dosDates = []string{
	"01-02-06", "01-02-2006", "01/02/06", "01/02/2006", "02.01.06", "02.01.2006", "2006-01-02",
	"2006/01/02",
}

// dos reads the output of DIR: "04-27-00  09:09PM       <DIR>          name".
func (p *Parser) dos(line string) (Entry, bool) {
	w := split(line)
	if len(w) < 4 {
		return Entry{}, false
	}
	day, ok := parseAny(w[0].text, dosDates...)
	if !ok {
		return Entry{}, false
	}
	clock, ok := parseAny(w[1].text, "03:04PM", "15:04", "15:04:05")
	if !ok {
		return Entry{}, false
	}
	return dosEntry(line, w, day.Add(sinceMidnight(clock)))
}

// nameColumn is the distance from the end of "<DIR>" to the name, if the server aligns columns.
const nameColumn = 10

func dosEntry(line string, w []word, at time.Time) (Entry, bool) {
	e := Entry{Size: -1, ModTime: at}
	rest := line[w[2].end:]
	switch what := w[2].text; what {
	case "<DIR>":
		e.Kind = Directory
	case "<SYMLINK>", "<SYMLINKD>", "<JUNCTION>":
		e.Kind = Link
	default:
		size, err := strconv.ParseInt(strings.ReplaceAll(what, ",", ""), 10, 64)
		if err != nil || size < 0 || len(rest) < 2 {
			return Entry{}, false
		}
		e.Kind, e.Size, e.Name = File, size, rest[1:]
		return e, true
	}
	blanks := len(rest) - len(strings.TrimLeft(rest, " "))
	if e.Kind == Directory {
		blanks = min(blanks, nameColumn)
	}
	e.Name = rest[blanks:]
	if name, target, ok := strings.Cut(e.Name, " ["); ok && e.Kind == Link && strings.HasSuffix(target, "]") {
		e.Name, e.Target = name, strings.TrimSuffix(target, "]")
	}
	return e, e.Name != ""
}

// os2 reads "36611  A  04-23-103  10:57  name": the year counts from 1900, and directories have the
// attribute DIR.
func (p *Parser) os2(line string) (Entry, bool) {
	w := split(line)
	if len(w) < 4 || !isNumber(w[0].text) {
		return Entry{}, false
	}
	e := Entry{Kind: File, Size: -1}
	i := 1
	for ; i < len(w)-1 && (w[i].text == "DIR" || strings.Trim(w[i].text, "ARHS") == ""); i++ {
		if w[i].text == "DIR" {
			e.Kind = Directory
		}
	}
	day, ok := os2Day(w[i].text)
	if !ok || i+2 >= len(w) {
		return Entry{}, false
	}
	clock, ok := parseAny(w[i+1].text, "15:04", "15:04:05")
	if size, err := strconv.ParseInt(w[0].text, 10, 64); err == nil && e.Kind == File {
		e.Size = size
	}
	e.ModTime, e.Name = day.Add(sinceMidnight(clock)), strings.TrimLeft(line[w[i+1].end:], " ")
	return e, ok
}

// os2Day reads "04-23-103", which is in 2003, "04-23-97" or "04-23-2003".
func os2Day(s string) (time.Time, bool) {
	if day, ok := parseAny(s, "01-02-06", "01-02-2006"); ok {
		return day, true
	}
	if at := strings.LastIndexByte(s, '-'); at == len(s)-4 && at > 0 {
		if n, err := strconv.Atoi(s[at+1:]); err == nil {
			return parseAny(s[:at+1]+strconv.Itoa(1900+n), "01-02-2006")
		}
	}
	return time.Time{}, false
}

// vshell reads "206876  Apr 04, 2000 21:06 name".
func (p *Parser) vshell(line string) (Entry, bool) {
	w := split(line)
	if len(w) < 6 || !isNumber(w[0].text) || !strings.HasSuffix(w[2].text, ",") {
		return Entry{}, false
	}
	e, ok := p.dated(line, w)
	if !ok {
		return Entry{}, false
	}
	e.Kind = File
	if dir, ok := strings.CutSuffix(e.Name, "/"); ok {
		e.Name, e.Kind, e.Size = dir, Directory, -1
	}
	return e, e.Name != ""
}

func parseAny(s string, layouts ...string) (time.Time, bool) {
	for _, layout := range layouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// os400 reads "QSYS  77824 23/02/00 15:09:55 *DIR  QOpenSys/". The date is ignored, because its
// format depends on the job that wrote it.
func (p *Parser) os400(line string) (Entry, bool) {
	w := split(line)
	for i := 1; i < len(w)-1 && i <= 4; i++ {
		if w[i].text[0] != '*' || len(w[i].text) < 4 || strings.ToUpper(w[i].text) != w[i].text {
			continue
		}
		e := Entry{Kind: File, Size: -1, Name: strings.TrimLeft(line[w[i].end:], " ")}
		switch w[i].text {
		case "*DIR", "*DDIR", "*LIB", "*FLR":
			e.Kind, e.Name = Directory, strings.TrimSuffix(e.Name, "/")
		case "*SYMLNK":
			e.Kind = Link
		}
		if size, err := strconv.ParseInt(w[1].text, 10, 64); err == nil && e.Kind == File {
			e.Size = size
		}
		return e, true
	}
	return Entry{}, false
}

// vms reads "NAME.TXT;1  5/8  21-NOV-2024 10:11:12 [OWNER] (RWED,RE,,)". Sizes are in blocks, so
// the size in bytes is unknown. If a name is too long for its column, its details are on the next
// line and are ignored.
func (p *Parser) vms(line string) (Entry, bool) {
	w := split(line)
	if len(w) == 0 {
		return Entry{}, false
	}
	name, version, ok := strings.Cut(w[0].text, ";")
	if !ok || name == "" || !isNumber(version) || len(w) > 1 && !vmsDetails(w[1:]) {
		return Entry{}, false
	}
	p.lone = len(w) == 1
	e := Entry{Name: w[0].text, Kind: File, Size: -1}
	if dir, ok := strings.CutSuffix(strings.ToUpper(name), ".DIR"); ok {
		e.Name, e.Kind = name[:len(dir)], Directory
	}
	for i := 1; i < len(w); i++ {
		if day, ok := vmsDay(w[i].text); ok {
			e.ModTime = day
			if i+1 < len(w) {
				clock, _ := parseAny(w[i+1].text, "15:04:05", "15:04")
				e.ModTime = day.Add(sinceMidnight(clock))
			}
			break
		}
	}
	return e, true
}

func vmsDay(s string) (time.Time, bool) {
	// Months are in capitals, which time.Parse accepts.
	return parseAny(s, "2-Jan-2006", "2-Jan-06")
}

// vmsDetails reports whether the words follow a name: blocks and a date, or the reason for their
// absence.
func vmsDetails(w []word) bool {
	if _, ok := vmsDay(w[0].text); ok {
		return true
	}
	if len(w) > 1 {
		if _, ok := vmsDay(w[1].text); ok {
			return true
		}
	}
	return strings.HasPrefix(w[0].text, "%") || strings.EqualFold(w[0].text, "insufficient")
}

// skips reports whether a line is not an entry. If it is a heading, skips sets the dialect.
func (p *Parser) skips(line string) bool {
	w := split(line)
	switch {
	case len(w) == 0:
		return true
	case len(w) == 2 && w[0].text == "total" && isNumber(w[1].text):
		return true // "ls -l"
	case len(w) == 2 && w[0].text == "Directory" && strings.HasSuffix(w[1].text, "]"):
		return true // VMS
	case len(w) >= 4 && w[0].text == "Total" && w[1].text == "of" && isNumber(w[2].text):
		return true
	case (line[0] == ' ' || line[0] == '\t' || p.lone) && vmsDetails(w):
		return true
	case len(w) >= 4 && w[0].text == "Volume" && w[1].text == "Unit":
		p.dialect = (*Parser).dataset
		return true
	case len(w) >= 4 && w[0].text == "Name" && w[1].text == "VV.MM":
		p.dialect = (*Parser).member
		return true
	}
	return false
}

// dataset reads a line below the heading "Volume Unit Referred Ext Used Recfm Lrecl BlkSz Dsorg
// Dsname" of z/OS. Partitioned data sets are directories. The date is that of the last use and is
// ignored.
func (p *Parser) dataset(line string) (Entry, bool) {
	w := split(line)
	if len(w) < 2 || len(w) > 12 {
		return Entry{}, false
	}
	e := Entry{Name: w[len(w)-1].text, Kind: File, Size: -1}
	if org := w[len(w)-2].text; strings.HasPrefix(org, "PO") || org == "Directory" {
		e.Kind = Directory
	}
	return e, true
}

// member reads a line below the heading "Name VV.MM Created Changed Size Init Mod Id" of z/OS. The
// size is in records and is ignored.
func (p *Parser) member(line string) (Entry, bool) {
	w := split(line)
	e := Entry{Name: w[0].text, Kind: File, Size: -1}
	if len(w) > 4 {
		e.ModTime, _ = time.Parse("2006/01/02 15:04", w[3].text+" "+w[4].text)
	}
	return e, true
}
