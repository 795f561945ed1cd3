package warc

import (
	"bufio"
	"bytes"
	"encoding/json"
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
	return fmt.Appendf(b, "%s %s %s\n", SURT(e.URL), e.Date.UTC().Format("20060102150405"), text)
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
	web := u.Scheme == "http" || u.Scheme == "https"
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

// ReadIndex calls f with each entry of a CDXJ index. Lines that are none are skipped. An error of f
// ends it.
func ReadIndex(r io.Reader, f func(IndexEntry) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		_, rest, _ := bytes.Cut(lines.Bytes(), []byte(" "))
		stamp, text, ok := bytes.Cut(rest, []byte(" "))
		var e IndexEntry
		if !ok || json.Unmarshal(text, &e) != nil {
			continue
		}
		if e.Date = ParseDate(e.Instant); e.Date.IsZero() {
			e.Date = ParseDate(string(stamp))
		}
		if err := f(e); err != nil {
			return err
		}
	}
	return lines.Err()
}
