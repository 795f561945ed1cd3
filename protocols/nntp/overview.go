package nntp

import (
	"bytes"
	"net/mail"
	"net/textproto"
	"strconv"
	"strings"
	"time"
)

// An Overview is what a server keeps at hand of an article (RFC 3977, section
// 8.3). It is the Sys of the entries of a group. Texts are as in the article's
// header.
type Overview struct {
	Number     uint64   `json:"number"` // of the article in the group
	Subject    string   `json:"subject"`
	From       string   `json:"from"`
	Date       string   `json:"date"`
	MessageID  string   `json:"message_id"` // with its angle brackets
	References []string `json:"references,omitempty"`
	Bytes      int64    `json:"bytes"` // -1 if unknown
	Lines      int64    `json:"lines"` // -1 if unknown
	Xref       string   `json:"xref,omitempty"`
}

// ParseOverview reads one line of an answer to OVER or XOVER, without its end.
// Missing fields are empty or -1; it reports false if there is not even the
// number of an article.
func ParseOverview(line []byte) (Overview, bool) {
	o := Overview{Bytes: -1, Lines: -1}
	s := string(line) // the one copy, which the fields share
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
	octets, rest, _ := strings.Cut(rest, "\t")
	lines, rest, _ := strings.Cut(rest, "\t")
	if references != "" {
		o.References = strings.Fields(references)
	}
	o.Bytes, o.Lines = parseCount(octets), parseCount(lines)
	for field := range strings.SplitSeq(rest, "\t") {
		if len(field) > 5 && strings.EqualFold(field[:5], "xref:") {
			o.Xref = strings.TrimSpace(field[5:])
		}
	}
	return o, true
}

// parseCount reads a count that may be missing.
func parseCount(s string) int64 {
	if n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64); err == nil && n >= 0 {
		return n
	}
	return -1
}

// overviewLine writes the overview of an article of which only the header is
// known.
func overviewLine(number uint64, h textproto.MIMEHeader) []byte {
	line := strconv.AppendUint(nil, number, 10)
	for _, name := range [...]string{"Subject", "From", "Date", "Message-Id", "References", "Bytes", "Lines"} {
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

// dateOf returns the date field of an overview line, parsed.
func dateOf(line []byte) (time.Time, bool) {
	for range 3 {
		_, rest, _ := bytes.Cut(line, []byte("\t"))
		line = rest
	}
	date, _, _ := bytes.Cut(line, []byte("\t"))
	return parseDate(string(date))
}

// parseDate reads the date of an article. Most have one of two forms, which
// are tried before all that RFC 5322 allows.
func parseDate(s string) (time.Time, bool) {
	for _, layout := range [...]string{"Mon, 2 Jan 2006 15:04:05 -0700", "2 Jan 2006 15:04:05 -0700"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	t, err := mail.ParseDate(s)
	return t, err == nil
}
