package listing

import (
	"strconv"
	"strings"
	"sync"
	"time"
)

// date reads a date at the beginning of the words. It returns the number of words used, 0 if there
// is no date. The zone is unknown and taken to be UTC. If the order of day and month is unknown, the
// time is zero.
func (p *Parser) date(w []word) (at time.Time, n int) {
	text := func(i int) string {
		if i < len(w) {
			return w[i].text
		}
		return ""
	}
	if day, ok := numericDay(text(0)); ok {
		at, n := isoTime(day, text(1), text(2))
		if day.IsZero() {
			at = day
		}
		return at, n
	}
	if year := yearOf(text(0)); year != 0 && isMarked(text(1)) {
		at, ok := exact(year, time.Month(marked(text(1))), dayOf(text(2)))
		return at, count(ok, 3)
	}
	if a, b, ok := strings.Cut(text(0), "-"); ok {
		month, day := monthAndDay(a, b)
		return p.yearOrClock(month, day, text(1), "", 1)
	}
	month, day := monthOf(text(0)), dayOf(text(1))
	if month == 0 {
		month, day = monthOf(text(1)), dayOf(text(0))
	}
	if month == 0 {
		if _, err := time.Parse("15:04", text(2)); err == nil {
			month, day = monthAndDay(text(0), text(1))
		}
	}
	next := ""
	_, err := time.Parse("15:04:05", text(2))
	if err == nil || strings.HasSuffix(text(1), ",") && yearOf(text(2)) != 0 {
		next = text(3)
	}
	return p.yearOrClock(month, day, text(2), next, 2)
}

// yearOrClock reads the year or the time that follows a day, after n words, and next, which is the
// other one or "".
func (p *Parser) yearOrClock(month time.Month, day int, s, next string, n int) (time.Time, int) {
	if month == 0 || day == 0 {
		return time.Time{}, 0
	}
	if s == "24:00" { // the end of the day (ISO 8601:2004, section 4.2.3)
		at, n := p.yearOrClock(month, day, "00:00", next, n)
		if n > 0 {
			at = at.AddDate(0, 0, 1)
		}
		return at, n
	}
	clock, isClock := parseAny(s, "15:04", "15:04:05")
	year := yearOf(s)
	if isClock {
		year = yearOf(next)
	}
	switch {
	case year == 0 && isClock:
		at, ok := p.recent(month, day, sinceMidnight(clock))
		return at, count(ok, n+1)
	case year == 0:
		return time.Time{}, 0
	}
	at, ok := exact(year, month, day)
	if isClock {
		return at.Add(sinceMidnight(clock)), count(ok, n+2)
	}
	if clock, isClock = parseAny(next, "15:04", "15:04:05"); isClock {
		return at.Add(sinceMidnight(clock)), count(ok, n+2)
	}
	return at, count(ok, n+1)
}

func count(ok bool, n int) int {
	if ok {
		return n
	}
	return 0
}

// dayLayouts are the dates with a known order of day and month.
var dayLayouts = []string{time.DateOnly, "2006/01/02", "2006.01.02", "02.01.2006", "2-Jan-06", "2-Jan-2006"}

// numericDay reads a date in one word. The time is zero if day and month could be exchanged.
func numericDay(s string) (day time.Time, ok bool) {
	if len(s) < len("1-Jan-06") || s[0] < '0' || s[0] > '9' {
		return time.Time{}, false
	}
	if day, ok := parseAny(s, dayLayouts...); ok {
		return day, true
	}
	s = strings.ReplaceAll(s, "/", "-")
	monthFirst, ok1 := parseAny(s, "01-02-2006")
	dayFirst, ok2 := parseAny(s, "02-01-2006")
	switch {
	case ok1 && ok2 && !monthFirst.Equal(dayFirst):
		return time.Time{}, true
	case ok1:
		return monthFirst, true
	}
	return dayFirst, ok2
}

// isoTime adds to a day the time that follows it and the zone, if present.
func isoTime(day time.Time, clock, zone string) (at time.Time, n int) {
	c, ok := parseAny(clock, "15:04", "15:04:05")
	if !ok {
		return day, 1
	}
	at = day.Add(sinceMidnight(c))
	if z, err := time.Parse("-0700", zone); err == nil {
		_, offset := z.Zone()
		return at.Add(-time.Duration(offset) * time.Second), 3
	}
	return at, 2
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

// monthAndDay reads two numbers, which are a month and a day, or else a day and a month. Month is 0
// if they are neither.
func monthAndDay(a, b string) (month time.Month, day int) {
	m, d := dayOf(a), dayOf(b)
	if m > 12 {
		m, d = d, m
	}
	if m > 12 || len(a) > 2 || len(b) > 2 {
		return 0, 0
	}
	return time.Month(m), d
}

// dayOf returns the day of the month in s, or 0. In some languages a mark follows it.
func dayOf(s string) int {
	if isMarked(s) {
		return marked(s)
	}
	day, err := strconv.Atoi(strings.TrimRight(s, ".,"))
	if err != nil || day < 1 || day > 31 {
		return 0
	}
	return day
}

// yearOf returns the year of four digits in s, or 0.
func yearOf(s string) int {
	if len(s) > 4 && s[4] >= 0x80 && len(s) <= 4+maxMark {
		s = s[:4] // a mark follows
	}
	if len(s) != 4 || !isNumber(s) {
		return 0
	}
	year, _ := strconv.Atoi(s)
	return year
}

// maxMark limits the bytes of the characters for year, month and day in Chinese, Japanese and
// Korean, in any encoding.
const maxMark = 3

// marked returns the number before a mark for month or day, at most 31, or 0. Encodings are unknown,
// and so the mark is any text that does not begin with ASCII.
func marked(s string) int {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	if i == 0 || i > 2 || i == len(s) || s[i] < 0x80 || len(s)-i > maxMark {
		return 0
	}
	n, _ := strconv.Atoi(s[:i])
	if n > 31 {
		return 0
	}
	return n
}

func isMarked(s string) bool { return marked(s) != 0 }

// monthOf returns the month with the name or abbreviation s in a language of monthNames, or the
// number s with a mark, or 0.
func monthOf(s string) time.Month {
	if n := marked(s); n > 0 && n <= 12 {
		return time.Month(n)
	}
	lower := []byte(strings.TrimRight(s, ".,"))
	for i, c := range lower {
		if c >= 'A' && c <= 'Z' {
			lower[i] += 'a' - 'A'
		}
	}
	return months()[string(lower)]
}

// monthNames are the names of the months in English, German, Hungarian, French, Spanish, Italian,
// Portuguese and Dutch.
var monthNames = [12]string{
	"january januar januar janvier enero gennaio janeiro januari jän",
	"february februar február février febrero febbraio fevereiro februari",
	"march märz március mars marzo marzo março maart mrz mrt",
	"april april április avril abril aprile abril april",
	"may mai május mai mayo maggio maio mei",
	"june juni június juin junio giugno junho juni",
	"july juli július juillet julio luglio julho juli",
	"august august augusztus août agosto agosto agosto augustus",
	"september september szeptember septembre septiembre settembre setembro september",
	"october oktober október octobre octubre ottobre outubro oktober",
	"november november november novembre noviembre novembre novembro november",
	"december dezember december décembre diciembre dicembre dezembro december",
}

// months maps the names of the months and their unambiguous abbreviations of at least three
// letters, in lower case, to the months. Letters beyond ASCII are in UTF-8 and in Latin-1.
var months = sync.OnceValue(func() map[string]time.Month {
	months := make(map[string]time.Month)
	add := func(s string, m time.Month) {
		if old, ok := months[s]; ok && old != m {
			m = 0 // "jui" is June or July in French
		}
		months[s] = m
	}
	for i, names := range monthNames {
		for name := range strings.FieldsSeq(names) {
			letters := []rune(name)
			latin1 := make([]byte, len(letters))
			for j, r := range letters {
				latin1[j] = byte(r) // all are below 256
			}
			for n := 3; n <= len(letters); n++ {
				add(string(letters[:n]), time.Month(i+1))
				add(string(latin1[:n]), time.Month(i+1))
			}
		}
	}
	return months
})
