package listing

import (
	"strconv"
	"strings"
	"time"
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

// dated finds a number followed by a date, which are the size and the time. The name begins one
// space after them and may itself begin with spaces.
func (p *Parser) dated(line string, words []word) (Entry, bool) {
	for i := 1; i < len(words); i++ {
		if !isNumber(words[i-1].text) {
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
		size, err := strconv.ParseInt(words[i-1].text, 10, 64)
		if err != nil {
			size = -1
		}
		return Entry{Name: line[start:], Size: size, ModTime: at}, true
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

// isMode reports whether s is a mode such as "-rw-r--r--", "drwxr-xr-x+" or "-rw-r--r--@".
func isMode(s string) bool {
	if len(s) != 10 && !(len(s) == 11 && strings.IndexByte("+.@*", s[10]) >= 0) {
		return false
	}
	return strings.IndexByte("-dlbcpsDCMPn?", s[0]) >= 0 && strings.Trim(s[1:10], "-rwxsStTlLH") == ""
}

// date reads a date at the beginning of the words. It returns the number of words used, 0 if there
// is no date. The zone is unknown and taken to be UTC.
func (p *Parser) date(w []word) (at time.Time, n int) {
	text := func(i int) string {
		if i < len(w) {
			return w[i].text
		}
		return ""
	}
	if day, err := time.Parse(time.DateOnly, text(0)); err == nil {
		return isoTime(day, text(1), text(2))
	}
	month, day := monthOf(text(0)), dayOf(text(1))
	if month == 0 {
		month, day = monthOf(text(1)), dayOf(text(0))
	}
	if month == 0 || day == 0 {
		return time.Time{}, 0
	}
	last := text(2)
	if year, err := strconv.Atoi(last); err == nil && len(last) == 4 {
		at, ok := exact(year, month, day)
		return at, count(ok, 3)
	}
	clock, err := time.Parse("15:04:05", last)
	if year, yerr := strconv.Atoi(text(3)); err == nil && yerr == nil && len(text(3)) == 4 {
		at, ok := exact(year, month, day)
		return at.Add(sinceMidnight(clock)), count(ok, 4)
	}
	if err != nil {
		if clock, err = time.Parse("15:04", last); err != nil {
			return time.Time{}, 0
		}
	}
	at, ok := p.recent(month, day, sinceMidnight(clock))
	return at, count(ok, 3)
}

func count(ok bool, n int) int {
	if ok {
		return n
	}
	return 0
}

// isoTime adds to a day the time that follows it and the zone, if present.
func isoTime(day time.Time, clock, zone string) (at time.Time, n int) {
	for _, layout := range []string{"15:04", "15:04:05"} {
		c, err := time.Parse(layout, clock)
		if err != nil {
			continue
		}
		at = day.Add(sinceMidnight(c))
		if z, err := time.Parse("-0700", zone); err == nil {
			_, offset := z.Zone()
			return at.Add(-time.Duration(offset) * time.Second), 3
		}
		return at, 2
	}
	return day, 1
}

func sinceMidnight(t time.Time) time.Duration { return t.Sub(t.Truncate(24 * time.Hour)) }

// exact returns midnight of a day, and whether the day exists.
func exact(year int, month time.Month, day int) (time.Time, bool) {
	at := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	return at, at.Day() == day && at.Month() == month
}

// recent returns the last existing such day before now; a leap day may be years ago. Servers in an
// eastern time zone may be a day ahead.
func (p *Parser) recent(month time.Month, day int, clock time.Duration) (time.Time, bool) {
	for year := p.now.Year() + 1; year > p.now.Year()-9; year-- {
		at, ok := exact(year, month, day)
		if at = at.Add(clock); ok && !at.After(p.now.Add(24*time.Hour)) {
			return at, true
		}
	}
	return time.Time{}, false
}

// dayOf returns the day of the month in s, or 0. In some languages a mark follows it.
func dayOf(s string) int {
	day, err := strconv.Atoi(strings.TrimRight(s, ".,"))
	if err != nil || day < 1 || day > 31 {
		return 0
	}
	return day
}

// monthOf returns the month with the English abbreviation s, or 0.
func monthOf(s string) time.Month {
	if len(s) != 3 {
		return 0
	}
	for m := time.January; m <= time.December; m++ {
		if strings.EqualFold(m.String()[:3], s) {
			return m
		}
	}
	return 0
}
