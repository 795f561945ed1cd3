// Package warccheck reads WARC files as strictly as ISO 28500 allows, for tests of WARC writers. It
// shares no code with package warc, so that both cannot have the same bug.
package warccheck

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A Record is a WARC record.
type Record struct {
	Type   string
	Fields map[string][]string // by names in lower case
	Block  []byte
}

// Field returns the first value of a field, or "".
func (r *Record) Field(name string) string {
	if v := r.Fields[strings.ToLower(name)]; len(v) > 0 {
		return v[0]
	}
	return ""
}

var (
	uuid = regexp.MustCompile(`^<urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}>$`)
	name = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
)

// Read returns the records of a file. If one is invalid, it returns the records before it and an
// error.
func Read(file []byte) ([]*Record, error) {
	if !bytes.HasPrefix(file, []byte{0x1f, 0x8b}) {
		var list []*Record
		for rest := file; len(rest) > 0; {
			r, n, err := record(rest)
			if err != nil {
				return list, fmt.Errorf("record %d at byte %d: %w", len(list)+1, len(file)-len(rest), err)
			}
			list, rest = append(list, r), rest[n:]
		}
		return list, relations(list)
	}
	var list []*Record
	src := bytes.NewReader(file)
	for src.Len() > 0 {
		at := len(file) - src.Len()
		z, err := gzip.NewReader(src)
		if err != nil {
			return list, fmt.Errorf("the member at byte %d: %w", at, err)
		}
		z.Multistream(false)
		content, err := io.ReadAll(z)
		if err != nil {
			return list, fmt.Errorf("the member at byte %d: %w", at, err)
		}
		r, n, err := record(content)
		if err == nil && n != len(content) {
			err = fmt.Errorf("%d bytes follow it in its member", len(content)-n)
		}
		if err != nil {
			return list, fmt.Errorf("record %d at byte %d: %w", len(list)+1, at, err)
		}
		list = append(list, r)
	}
	return list, relations(list)
}

// record reads one record and returns its length.
func record(text []byte) (*Record, int, error) {
	head, _, ok := bytes.Cut(text, []byte("\r\n\r\n"))
	if !ok {
		return nil, 0, fmt.Errorf("its header has no end")
	}
	lines := strings.Split(string(head), "\r\n")
	if lines[0] != "WARC/1.1" {
		return nil, 0, fmt.Errorf("it begins with %q", lines[0])
	}
	r := &Record{Fields: make(map[string][]string)}
	for _, line := range lines[1:] {
		n, value, ok := strings.Cut(line, ": ")
		if !ok || !name.MatchString(n) || strings.ContainsAny(value, "\r\n\x00") {
			return nil, 0, fmt.Errorf("a field is %q", line)
		}
		r.Fields[strings.ToLower(n)] = append(r.Fields[strings.ToLower(n)], value)
	}
	length, err := strconv.Atoi(r.Field("Content-Length"))
	begin := len(head) + 4
	if err != nil || length < 0 || begin+length+4 > len(text) {
		return nil, 0, fmt.Errorf("its length is %q", r.Field("Content-Length"))
	}
	r.Block = text[begin : begin+length]
	if end := text[begin+length : begin+length+4]; string(end) != "\r\n\r\n" {
		return nil, 0, fmt.Errorf("its block is followed by %q", end)
	}
	r.Type = r.Field("WARC-Type")
	return r, begin + length + 4, r.check()
}

// check checks the fields of one record (ISO 28500, clauses 5 and 6).
func (r *Record) check() error {
	for n, values := range r.Fields {
		if len(values) > 1 && n != "warc-concurrent-to" && n != "warc-protocol" {
			return fmt.Errorf("%d fields %s", len(values), n)
		}
	}
	if id := r.Field("WARC-Record-ID"); !uuid.MatchString(id) {
		return fmt.Errorf("its identifier is %q", id)
	}
	if _, err := time.Parse("2006-01-02T15:04:05.999999999Z", r.Field("WARC-Date")); err != nil {
		return err
	}
	target, err := url.Parse(r.Field("WARC-Target-URI"))
	if err != nil || (r.Type != "warcinfo") != (target.Scheme != "") {
		return fmt.Errorf("its target is %q", r.Field("WARC-Target-URI"))
	}
	if len(r.Block) > 0 && r.Field("Content-Type") == "" {
		return fmt.Errorf("its block has no type")
	}
	if ip := r.Field("WARC-IP-Address"); ip != "" {
		if _, err := netip.ParseAddr(ip); err != nil {
			return err
		}
	}
	if err := same(r.Field("WARC-Block-Digest"), r.Block); err != nil {
		return fmt.Errorf("block: %w", err)
	}
	switch r.Type {
	case "warcinfo", "request", "metadata":
	case "resource":
		if err := same(r.Field("WARC-Payload-Digest"), r.Block); err != nil {
			return fmt.Errorf("payload: %w", err)
		}
	case "response":
		return r.checkHTTP()
	case "revisit":
		return r.checkRevisit()
	default:
		return fmt.Errorf("its type is %q", r.Type)
	}
	return nil
}

const unmodified = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"

// checkRevisit checks the fields of a profile. The payload of a record that the server did not modify is
// that of an earlier record, which may be unknown (clause 6.7.3).
func (r *Record) checkRevisit() error {
	if r.Field("WARC-Profile") == unmodified {
		if r.Field("WARC-Payload-Digest") != "" {
			return fmt.Errorf("it has the digest of another payload")
		}
		return nil
	}
	for _, n := range []string{"WARC-Profile", "WARC-Refers-To-Target-URI", "WARC-Refers-To-Date", "WARC-Payload-Digest"} {
		if r.Field(n) == "" {
			return fmt.Errorf("it has no %s", n)
		}
	}
	return nil
}

// checkHTTP checks that the payload, without the framing of chunks, has its digest.
func (r *Record) checkHTTP() error {
	if r.Field("Content-Type") != "application/http;msgtype=response" {
		return fmt.Errorf("its type is %q", r.Field("Content-Type"))
	}
	if r.Field("WARC-Truncated") != "" {
		return nil
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(r.Block)), nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 == 1 {
		return fmt.Errorf("it is an interim response")
	}
	payload, err := io.ReadAll(resp.Body)
	if err == io.ErrUnexpectedEOF && len(payload) == 0 {
		return nil // a response to HEAD
	}
	if err != nil {
		return err
	}
	return same(r.Field("WARC-Payload-Digest"), payload)
}

// same checks a digest, if there is one.
func same(digest string, content []byte) error {
	if digest == "" {
		return nil
	}
	sum := sha256.Sum256(content)
	if want := "sha256:" + hex.EncodeToString(sum[:]); digest != want {
		return fmt.Errorf("the digest is %s, of the bytes it is %s", digest, want)
	}
	return nil
}

// relations checks that the records that others refer to exist in the file.
func relations(list []*Record) error {
	ids := make(map[string]*Record)
	for _, r := range list {
		if ids[r.Field("WARC-Record-ID")] != nil {
			return fmt.Errorf("two records have the ID %s", r.Field("WARC-Record-ID"))
		}
		ids[r.Field("WARC-Record-ID")] = r
	}
	for i, r := range list {
		if i == 0 && r.Type != "warcinfo" {
			return fmt.Errorf("the first record is a %s", r.Type)
		}
		for _, id := range r.Fields["warc-concurrent-to"] {
			if ids[id] == nil {
				return fmt.Errorf("record %d belongs to %s, which does not exist", i+1, id)
			}
		}
		if id := r.Field("WARC-Refers-To"); id != "" {
			first := ids[id]
			same := r.Field("WARC-Profile") == unmodified || first != nil &&
				first.Field("WARC-Payload-Digest") == r.Field("WARC-Payload-Digest")
			if first == nil || !same ||
				first.Field("WARC-Target-URI") != r.Field("WARC-Refers-To-Target-URI") ||
				first.Field("WARC-Date") != r.Field("WARC-Refers-To-Date") {
				return fmt.Errorf("record %d is a revisit of something else", i+1)
			}
		}
	}
	return nil
}
