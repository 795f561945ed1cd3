// Package marc reads bibliographic records in the exchange format of ISO 2709, which MARC21, UNIMARC
// and related formats use, and formats them as text.
package marc

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MaxRecord is the size of the largest record that the format allows, in bytes.
const MaxRecord = 99_999

// ErrMalformed is returned for malformed records.
var ErrMalformed = errors.New("malformed ISO 2709 record")

const (
	endOfRecord   = 0x1d
	endOfField    = 0x1e
	beginSubfield = 0x1f
	leaderSize    = 24
	entrySize     = 12 // of a directory entry: tag (3), field length (4) and starting position (5)
)

// A Record is a parsed record. Its strings are not decoded. They are UTF-8 if position 9 of the leader
// says so, and often MARC-8 otherwise.
type Record struct {
	Leader string
	Fields []Field
}

// A Field is a field of a record.
type Field struct {
	Tag        string // three characters
	Indicators string
	Value      string // of a field without subfields
	Subfields  []Subfield
}

// A Subfield is a part of a field.
type Subfield struct {
	Code  byte
	Value string
}

// Parse parses one record.
func Parse(b []byte) (Record, error) {
	if len(b) < leaderSize || len(b) > MaxRecord {
		return Record{}, ErrMalformed
	}
	r := Record{Leader: string(b[:leaderSize])}
	base, ok := number(b[12:17])
	if size, known := number(b[:5]); !ok || !known || size > len(b) || base <= leaderSize || base > size {
		return r, ErrMalformed
	}
	directory, data := b[leaderSize:base-1], b[base:]
	if b[base-1] != endOfField || len(directory)%entrySize != 0 {
		return r, ErrMalformed
	}
	indicators, _ := number(b[10:11])
	total := 0
	for ; len(directory) > 0; directory = directory[entrySize:] {
		length, ok := number(directory[3:7])
		start, known := number(directory[7:12])
		if total += length; !ok || !known || length == 0 || start+length > len(data) || total > len(data) {
			return r, ErrMalformed // overlapping fields could expand a small record
		}
		text := bytes.TrimRight(data[start:start+length], "\x1d\x1e")
		r.Fields = append(r.Fields, parseField(string(directory[:3]), string(text), indicators))
	}
	return r, nil
}

func parseField(tag, text string, indicators int) Field {
	f := Field{Tag: tag}
	parts := strings.Split(text, string(rune(beginSubfield)))
	if strings.HasPrefix(tag, "00") || len(parts) == 1 {
		f.Value = text
		return f
	}
	f.Indicators = parts[0][:min(indicators, len(parts[0]))]
	for _, part := range parts[1:] {
		if part != "" {
			f.Subfields = append(f.Subfields, Subfield{part[0], part[1:]})
		}
	}
	return f
}

func number(b []byte) (int, bool) {
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	n, err := strconv.Atoi(string(b))
	return n, err == nil
}

// Title returns the title of the described work with its subtitle and part titles, from field 245
// (MARC21) or 200 (UNIMARC). It is "" if there is none.
func (r Record) Title() string {
	for _, tag := range []string{"245", "200"} {
		if title := r.find(tag, "abnpe"); title != "" {
			return strings.TrimRight(title, " /:;.,=")
		}
	}
	return ""
}

// Author returns the name in the first main or added entry (MARC21 fields 100 to 111, UNIMARC fields
// 700 and 710), or "".
func (r Record) Author() string {
	for _, tag := range []string{"100", "110", "111", "700", "710"} {
		if author := r.find(tag, "a"); author != "" {
			return strings.TrimRight(author, " ,;:")
		}
	}
	return ""
}

// find returns the subfields with the given codes of the first field with the given tag, joined by
// spaces.
func (r Record) find(tag, codes string) string {
	for _, f := range r.Fields {
		if f.Tag != tag {
			continue
		}
		var parts []string
		for _, s := range f.Subfields {
			if strings.IndexByte(codes, s.Code) >= 0 {
				parts = append(parts, strings.TrimSpace(s.Value))
			}
		}
		return strings.Join(parts, " ")
	}
	return ""
}

// Text formats the record as lines that end with LF: the leader, then one line for each field. A field
// has its tag, its indicators, and its subfields as "$a …" or its value. decode converts a string of
// the record to printable text.
func (r Record) Text(decode func(string) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "LDR    %s\n", decode(r.Leader))
	for _, f := range r.Fields {
		if f.Subfields == nil {
			fmt.Fprintf(&b, "%s    %s\n", decode(f.Tag), decode(f.Value))
			continue
		}
		fmt.Fprintf(&b, "%s %-2s", decode(f.Tag), decode(f.Indicators))
		for _, s := range f.Subfields {
			fmt.Fprintf(&b, " $%s %s", decode(string(rune(s.Code))), decode(s.Value))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Encode returns the record in the exchange format, for tests. It fills in the missing positions of a
// short Leader.
func (r Record) Encode() []byte {
	var directory, data bytes.Buffer
	for _, f := range r.Fields {
		start := data.Len()
		data.WriteString(f.Indicators + f.Value)
		for _, s := range f.Subfields {
			data.WriteByte(beginSubfield)
			data.WriteByte(s.Code)
			data.WriteString(s.Value)
		}
		data.WriteByte(endOfField)
		fmt.Fprintf(&directory, "%.3s%04d%05d", f.Tag+"   ", data.Len()-start, start)
	}
	base := leaderSize + directory.Len() + 1
	leader := []byte(fmt.Sprintf("%-24.24s", r.Leader))
	if strings.TrimSpace(r.Leader) == "" {
		leader = []byte("00000nam a2200000   4500")
	}
	copy(leader, fmt.Sprintf("%05d", base+data.Len()+1))
	copy(leader[10:], "22")
	copy(leader[12:], fmt.Sprintf("%05d", base))
	copy(leader[20:], "4500")
	return fmt.Appendf(nil, "%s%s\x1e%s\x1d", leader, directory.Bytes(), data.Bytes())
}
