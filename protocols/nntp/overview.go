package nntp

import (
	"bytes"
	"net/mail"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/message"
)

// An Overview is the overview record of an article (RFC 3977, section 8.3). It is the Sys of the
// entries of a group. The texts are not decoded.
type Overview struct {
	Number     uint64 // the article number in the group
	Subject    string
	From       string
	Date       string
	MessageID  string // leaseSession angle brackets
	References []string
	Bytes      int64 // -1 if unknown
	Lines      int64 // -1 if unknown
	Xref       string
}

// EntryFacts implements [fetch.EntryRecord]. The subject and the author are decoded (RFC 2047).
func (o Overview) EntryFacts() fetch.Facts {
	return fetch.Facts{Driver: "nntp", Word: "article", List: []fetch.Fact{
		{Name: "number", Value: o.Number},
		{Name: "subject", Value: message.Decode(o.Subject)},
		{Name: "from", Value: message.Decode(o.From)},
		{Name: "date", Value: o.Date},
		{Name: "message_id", Value: o.MessageID},
		{Name: "references", Value: o.References, Optional: true},
		{Name: "bytes", Value: o.Bytes},
		{Name: "lines", Value: o.Lines},
		{Name: "xref", Value: o.Xref, Optional: true},
	}}
}

// ParseOverview parses one line of a reply to OVER or XOVER, without its line end. Missing fields are
// empty or -1. It returns false if the line does not start with an article number.
func ParseOverview(line []byte) (Overview, bool) {
	o := Overview{Bytes: -1, Lines: -1}
	s := string(line) // a single copy, which all fields share
	number, rest, _ := strings.Cut(s, "\t")
	var err error
	if o.Number, err = strconv.ParseUint(number, 10, 64); err != nil || o.Number == 0 {
		return Overview{}, false
	}
	o.Subject, rest, _ = strings.Cut(rest, "\t")
	o.From, rest, _ = strings.Cut(rest, "\t")
	o.Date, rest, _ = strings.Cut(rest, "\t")
	o.MessageID, rest, _ = strings.Cut(rest, "\t")
	references, rest, _ := strings.Cut(rest, "\t")
	size, rest, _ := strings.Cut(rest, "\t")
	lines, rest, _ := strings.Cut(rest, "\t")
	if references != "" {
		o.References = strings.Fields(references)
	}
	o.Bytes, o.Lines = parseCount(size), parseCount(lines)
	for field := range strings.SplitSeq(rest, "\t") {
		if len(field) > 5 && strings.EqualFold(field[:5], "xref:") {
			o.Xref = strings.TrimSpace(field[5:])
		}
	}
	return o, true
}

func parseCount(s string) int64 {
	if n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64); err == nil && n >= 0 {
		return n
	}
	return -1
}

func overviewLine(number uint64, h textproto.MIMEHeader) []byte {
	line := strconv.AppendUint(nil, number, 10)
	for _, name := range [...]string{"Subject", "From", "Date", "Message-Id", "References", "Bytes",
		"Lines"} {
		line = append(line, '\t')
		line = append(line, strings.Map(func(r rune) rune {
			if r == '\t' || r == '\r' || r == '\n' || r == 0 {
				return ' ' // RFC 3977, section 8.3.2
			}
			return r
		}, h.Get(name))...)
	}
	return line
}

func dateOf(line []byte) (time.Time, bool) {
	for range 3 {
		_, rest, _ := bytes.Cut(line, []byte("\t"))
		line = rest
	}
	date, _, _ := bytes.Cut(line, []byte("\t"))
	return parseDate(string(date))
}

// The most common format is tried before the others that RFC 5322 allows.
func parseDate(s string) (time.Time, bool) {
	if s == "" {
		return time.Time{}, false
	}
	t, ok := parseCommonDate(s)
	if !ok {
		var err error
		t, err = mail.ParseDate(s)
		ok = err == nil
	}
	if !ok || !fetch.PlausibleTime(t) {
		return time.Time{}, false
	}
	return t, true
}

// parseCommonDate parses "Mon, 2 Jan 2006 15:04:05 -0700". The day of the week is optional. It is
// several times faster than time.Parse, which matters for groups with a million articles.
func parseCommonDate(s string) (time.Time, bool) {
	if len(s) > 5 && s[3] == ',' && s[4] == ' ' {
		s = s[5:]
	}
	if len(s) > 2 && s[1] == ' ' {
		s = "0" + s
	}
	const form = "00 Jan 0000 00:00:00 +0000"
	if len(s) != len(form) {
		return time.Time{}, false
	}
	for i := range len(form) {
		c := s[i]
		switch form[i] {
		case '0':
			if c < '0' || c > '9' {
				return time.Time{}, false
			}
		case ' ', ':':
			if c != form[i] {
				return time.Time{}, false
			}
		}
	}
	two := func(i int) int { return int(s[i]-'0')*10 + int(s[i+1]-'0') }
	month := strings.Index("JanFebMarAprMayJunJulAugSepOctNovDec", s[3:6])
	day, hour, minute, second, zone := two(0), two(12), two(15), two(18), two(22)*3600+two(24)*60
	if month < 0 || month%3 != 0 || day == 0 || day > 31 || hour > 23 || minute > 59 || second > 59 ||
		s[21] != '+' && s[21] != '-' || two(22) > 23 || two(24) > 59 {
		return time.Time{}, false
	}
	if s[21] == '-' {
		zone = -zone
	}
	t := time.Date(two(7)*100+two(9), time.Month(month/3+1), day, hour, minute, second, 0, time.UTC)
	if t.Day() != day {
		return time.Time{}, false // the month has no such day
	}
	t = t.Add(time.Duration(-zone) * time.Second)
	if zone != 0 {
		t = t.In(time.FixedZone("", zone))
	}
	return t, true
}
