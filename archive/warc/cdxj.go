package warc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// maxLine limits the length of an index line, in bytes.
const maxLine = 256 << 10

// An IndexEntry is a line of a CDXJ index, compatible with pywb: a sortable key, the date with 14
// digits, and the other fields as JSON.
type IndexEntry struct {
	Date time.Time `json:"-"`

	URL    string `json:"url"`
	Mime   string `json:"mime,omitempty"`
	Status int    `json:"status,string,omitempty"`
	Digest string `json:"digest,omitempty"` // of the payload
	Length int64  `json:"length,string"`    // of the record in the file
	Offset int64  `json:"offset,string"`
	File   string `json:"filename"`
	// Method is the request method if it is not GET. It is then part of the key, so that the
	// response is not mistaken for one to GET.
	Method string `json:"method,omitempty"`
	// RequestBody is the request body of a POST or PUT in the form of a query, at most 4096 characters,
	// as in other programs. It is part of the key, too.
	RequestBody string `json:"requestBody,omitempty"`
	// Request is the offset of the request record; 0 if unknown.
	Request int64 `json:"request,string,omitempty"`
	// Origin is the offset of the record to which a revisit refers, if it is in the same file and
	// the revisit gives only its ID; otherwise 0.
	Origin int64 `json:"origin,string,omitempty"`
	// Instant is the date of the record with its fraction, which the key lacks.
	Instant string `json:"instant,omitempty"`

	// Line is the position of the line in the index, in bytes. ReadIndex sets it.
	Line int64 `json:"-"`
}

// AppendTo appends the line to b.
func (e IndexEntry) AppendTo(b []byte) []byte {
	e.Instant = formatDate(e.Date)
	text, err := json.Marshal(e)
	if err != nil { // cannot happen
		return b
	}
	return fmt.Appendf(b, "%s %s %s\n", e.key(), e.Date.UTC().Format("20060102150405"), text)
}

// key returns the sort key of the line. A request method and the body are added to the query as other
// programs do it.
func (e *IndexEntry) key() string {
	if e.Method == "" || e.Method == "GET" || e.Method == "HEAD" {
		return surt(e.URL, "")
	}
	parameters := "__wb_method=" + e.Method
	if e.RequestBody != "" {
		parameters += "&" + e.RequestBody
	}
	return surt(e.URL, parameters)
}

// coverage is an index line that states how much of a file is indexed. It sorts before all other
// lines.
type coverage struct {
	File string `json:"filename"`
	Size int64  `json:"size,string"` // in bytes, from the start of the file
}

const coverageMark = "!urlget "

func (c coverage) appendTo(b []byte) []byte {
	text, _ := json.Marshal(c) // cannot fail
	return fmt.Appendf(b, "%s%s\n", coverageMark, text)
}

// Covered returns the number of bytes at the start of the file name whose records are all in the
// index. It is 0 if the index does not state it.
func Covered(index io.Reader, name string) (int64, error) {
	size := int64(0)
	err := eachLine(index, func(_ int64, line []byte) error {
		if n, ok := coverageOf(line, name); ok {
			size = max(size, n)
		}
		return nil
	})
	return size, err
}

func coverageOf(line []byte, name string) (int64, bool) {
	text, ok := bytes.CutPrefix(line, []byte(coverageMark))
	if !ok {
		return 0, false
	}
	var c coverage
	return c.Size, json.Unmarshal(text, &c) == nil && c.File == name
}

// ErrNoIndex is returned by ReadIndex if there is no valid line.
var ErrNoIndex = errors.New("warc: not a CDXJ index")

// ReadIndex calls f with each entry of a CDXJ index. Invalid lines, and those longer than 256 KiB, are
// skipped. An error of f stops it.
func ReadIndex(r io.Reader, f func(IndexEntry) error) error {
	found := false
	err := eachLine(r, func(at int64, line []byte) error {
		var e IndexEntry
		if !e.Parse(line) {
			found = found || bytes.HasPrefix(line, []byte(coverageMark))
			return nil
		}
		found, e.Line = true, at
		return f(e)
	})
	if err == nil && !found {
		return ErrNoIndex
	}
	return err
}

// eachLine calls f with each line and its position in bytes. A line that is too long is empty.
func eachLine(r io.Reader, f func(at int64, line []byte) error) error {
	in := bufio.NewReaderSize(r, maxLine)
	for next := int64(0); ; {
		line, err := in.ReadSlice('\n')
		at := next
		next += int64(len(line))
		for err == bufio.ErrBufferFull {
			line, err = in.ReadSlice('\n')
			next += int64(len(line))
			line = nil
		}
		if err != nil && err != io.EOF {
			return err
		}
		if stop := f(at, line); stop != nil {
			return stop
		}
		if err == io.EOF {
			return nil
		}
	}
}

// Parse sets e to a line of a CDXJ index, and reports whether the line is valid.
func (e *IndexEntry) Parse(line []byte) bool {
	*e = IndexEntry{}
	_, rest, _ := bytes.Cut(line, []byte(" "))
	stamp, text, ok := bytes.Cut(rest, []byte(" "))
	if !ok || json.Unmarshal(text, e) != nil {
		return false
	}
	if e.Date = parseDate(e.Instant); e.Date.IsZero() {
		e.Date = parseDate(string(stamp))
	}
	return true
}
