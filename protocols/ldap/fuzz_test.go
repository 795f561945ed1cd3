package ldap

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch/uri"
)

// FuzzLDIF checks that values survive a round trip through LDIF and cannot inject lines.
func FuzzLDIF(f *testing.F) {
	for _, s := range []string{"", "x", " x", "x ", ":x", "<x", "a\nb: c", "é", "\x00", strings.Repeat("long", 40)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		ldif := string(appendRecord(nil, record{dn: value, attributes: []attribute{{"o", [][]byte{[]byte(value)}}}}))
		for line := range strings.Lines(ldif) {
			if len(line)-1 > maxColumn || !strings.HasSuffix(line, "\n") {
				t.Fatalf("line %q", line)
			}
		}
		lines := strings.Split(strings.ReplaceAll(ldif, "\n ", ""), "\n")
		if len(lines) != 4 {
			t.Fatalf("%q is %d lines", ldif, len(lines))
		}
		for i, name := range []string{"dn:", "o:"} {
			rest, ok := strings.CutPrefix(lines[i+1], name)
			got := strings.TrimPrefix(rest, " ")
			if encoded, is := strings.CutPrefix(rest, ": "); is {
				b, err := base64.StdEncoding.DecodeString(encoded)
				if err != nil {
					t.Fatal(err)
				}
				got = string(b)
			}
			if !ok || got != value {
				t.Fatalf("%q comes back as %q", value, got)
			}
		}
	})
}

// FuzzMessage checks that arbitrary messages are decoded or rejected.
func FuzzMessage(f *testing.F) {
	f.Add(envelope(1, searchEntry("dc=t", "o", "x")))
	f.Add(envelope(1, searchReference("ldap://h/")))
	f.Add(envelope(0, ldapResult(24, 52, "dc=t", "bye", "ldap://h/")))
	f.Add(envelope(1, searchDone(0), pageControl("next")))
	f.Add([]byte{0x30, 0x84, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		content, err := readMessage(bufio.NewReader(bytes.NewReader(data)), nil)
		if err != nil {
			return
		}
		_, op, controls, err := parseMessage(content)
		if err != nil {
			return
		}
		if rec, err := parseEntry(op.content); err == nil {
			ldif := appendRecord(nil, rec)
			if bytes.ContainsAny(ldif, "\r\x00\x1b") {
				t.Errorf("LDIF %q", ldif)
			}
		}
		parseReferences(op.content)
		parsePaging(controls)
		if r, err := parseResult(op.content); err == nil {
			r.err()
		}
	})
}

// FuzzURL checks that a URL yields a search request or an error.
func FuzzURL(f *testing.F) {
	for _, s := range []string{"", "dc=t", "dc=t?cn,sn?sub?(cn=*)?!bindname=x", "????", "???(&(a=b)(!(c=\\2a)))"} {
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, path string, list bool) {
		u, err := uri.Parse("ldap://h/" + path)
		if err != nil {
			return
		}
		if q, err := parseURL(u, list); err == nil && len(q.request()) == 0 {
			t.Errorf("%q: empty search request", path)
		}
	})
}

// appendRecord appends the LDIF of a complete record.
func appendRecord(b []byte, rec record) []byte {
	for part := range rec.ldif {
		b = append(b, part...)
	}
	return b
}
