package warc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"
)

// maxLine bounds a line of an index.
const maxLine = 256 << 10

// An IndexEntry is a line of a CDXJ index, as pywb writes and reads it: a sortable key, the time in
// 14 digits, and the rest as JSON.
type IndexEntry struct {
	Date time.Time `json:"-"`

	URL    string `json:"url"`
	Mime   string `json:"mime,omitempty"`
	Status int    `json:"status,string,omitempty"`
	Digest string `json:"digest,omitempty"` // of the payload
	Length int64  `json:"length,string"`    // of the record in the file
	Offset int64  `json:"offset,string"`
	File   string `json:"filename"`
	// Method is that of the request, if it is not GET. The key then is another one, so that nobody
	// takes the answer for that to a GET.
	Method string `json:"method,omitempty"`
	// Request is where the record of the request is in the file; 0 if that is not known.
	Request int64 `json:"request,string,omitempty"`
	// Origin is where the record is that a revisit refers to, if that is in the same file and the
	// revisit names it by its identifier alone; 0 else.
	Origin int64 `json:"origin,string,omitempty"`
	// Instant is the date of the record with its fraction, which the key has not.
	Instant string `json:"instant,omitempty"`
}

// AppendTo appends the line to b.
func (e IndexEntry) AppendTo(b []byte) []byte {
	e.Instant = FormatDate(e.Date)
	text, err := json.Marshal(e)
	if err != nil { // there is nothing in it that could not be
		return b
	}
	return fmt.Appendf(b, "%s %s %s\n", e.key(), e.Date.UTC().Format("20060102150405"), text)
}

// key returns what the line begins with. Other programs have the method of a request in the same
// place.
func (e *IndexEntry) key() string {
	key := SURT(e.URL)
	if e.Method == "" || e.Method == "GET" || e.Method == "HEAD" {
		return key
	}
	mark := "?"
	if strings.Contains(key, "?") {
		mark = "&"
	}
	return key + mark + "__wb_method=" + strings.ToLower(e.Method)
}

// coverage is a line of an index that says how much of a file it covers. It sorts before all
// others.
type coverage struct {
	File string `json:"filename"`
	Size int64  `json:"size,string"` // bytes from the beginning of the file
}

const coverageMark = "!urlget "

func (c coverage) appendTo(b []byte) []byte {
	text, _ := json.Marshal(c) // which cannot fail
	return fmt.Appendf(b, "%s%s\n", coverageMark, text)
}

// Covered returns how many bytes of the file with that name an index covers, from its beginning:
// all records in them are in it. It is 0 if the index does not say.
func Covered(index io.Reader, name string) (int64, error) {
	lines := bufio.NewScanner(index)
	lines.Buffer(nil, maxLine)
	size := int64(0)
	for lines.Scan() {
		if n, ok := coverageOf(lines.Bytes(), name); ok {
			size = max(size, n)
		}
	}
	return size, lines.Err()
}

// coverageOf reads a line, and reports whether it says how much of that file is covered.
func coverageOf(line []byte, name string) (int64, bool) {
	text, ok := bytes.CutPrefix(line, []byte(coverageMark))
	if !ok {
		return 0, false
	}
	var c coverage
	return c.Size, json.Unmarshal(text, &c) == nil && c.File == name
}

// SURT returns the key of a URL in an index: the host's labels in reverse order, without the scheme
// where that is http or https, in lower case but for the path of other schemes. What is no such URL
// is its own key. The key has no blanks.
func SURT(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" {
		return strings.ReplaceAll(rawURL, " ", "%20")
	}
	host := strings.ToLower(u.Hostname())
	labels := strings.Split(host, ".")
	if net.ParseIP(host) == nil {
		slices.Reverse(labels)
		host = strings.Join(labels, ",")
	}
	web := HoldsHTTP(u.Scheme)
	if p := u.Port(); p != "" && !(u.Scheme == "http" && p == "80" || u.Scheme == "https" && p == "443") {
		host += ":" + p
	}
	path := u.EscapedPath()
	if u.RawQuery != "" || u.ForceQuery {
		path += "?" + u.RawQuery
	}
	if web {
		if path == "" || path[0] != '/' {
			path = "/" + path
		}
		return strings.ReplaceAll(host+")"+strings.ToLower(path), " ", "%20")
	}
	return strings.ReplaceAll(u.Scheme+":"+host+")"+path, " ", "%20")
}

// ErrNoIndex is the error of ReadIndex for what has no line of an index.
var ErrNoIndex = errors.New("warc: not a CDXJ index")

// ReadIndex calls f with each entry of a CDXJ index. Lines that are none are skipped. An error of f
// ends it.
func ReadIndex(r io.Reader, f func(IndexEntry) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	found := false
	for lines.Scan() {
		if e, ok := ParseIndexEntry(lines.Bytes()); ok {
			found = true
			if err := f(e); err != nil {
				return err
			}
		}
		found = found || bytes.HasPrefix(lines.Bytes(), []byte(coverageMark))
	}
	if err := lines.Err(); found || err != nil && !errors.Is(err, bufio.ErrTooLong) {
		return err
	}
	return ErrNoIndex
}

// ParseIndexEntry reads a line of a CDXJ index, and reports whether it is one.
func ParseIndexEntry(line []byte) (e IndexEntry, ok bool) {
	_, rest, _ := bytes.Cut(line, []byte(" "))
	stamp, text, ok := bytes.Cut(rest, []byte(" "))
	if !ok || json.Unmarshal(text, &e) != nil {
		return e, false
	}
	if e.Date = ParseDate(e.Instant); e.Date.IsZero() {
		e.Date = ParseDate(string(stamp))
	}
	return e, true
}
