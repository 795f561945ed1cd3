package nfs

import (
	"errors"
	"fmt"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/internal/codec/nfs3"
	"github.com/urlget/urlget/internal/codec/xdr"
)

// TestHostileListings reads directories whose counts, lengths and cookies are false.
func TestHostileListings(t *testing.T) {
	t.Parallel()
	page := func(l nfs3.Listing) []byte { return l.Append(xdr.AppendUint32(nil, 0), nil, true) }
	file := func(name string, cookie uint64) nfs3.Entry {
		return nfs3.Entry{Name: name, Cookie: cookie, Attr: &nfs3.Attr{Type: nfs3.TypeRegular}}
	}
	ok := page(nfs3.Listing{EOF: true, Entries: []nfs3.Entry{file("a", 1)}})
	for name, tt := range map[string]struct {
		pages [][]byte
		code  fetch.Code
	}{
		"right":                      {[][]byte{ok}, ""},
		"the same page forever":      {[][]byte{page(nfs3.Listing{Entries: []nfs3.Entry{file("a", 1)}})}, fetch.ErrProtocol},
		"no entries and no end":      {[][]byte{page(nfs3.Listing{})}, fetch.ErrProtocol},
		"half a page":                {[][]byte{ok[:len(ok)/2]}, fetch.ErrProtocol},
		"a name of 4 GB":             {[][]byte{append(append([]byte{}, ok[:4]...), "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\xff\xff\xff\xff"...)}, fetch.ErrProtocol},
		"a stale cookie":             {[][]byte{xdr.AppendUint32(nil, uint32(nfs3.ErrBadCookie))}, fetch.ErrChanged},
		"a server that is not ready": {[][]byte{xdr.AppendUint32(nil, uint32(nfs3.ErrJukebox))}, fetch.ErrBusy},
		"a line break in a name":     {[][]byte{page(nfs3.Listing{EOF: true, Entries: []nfs3.Entry{file("a\r\nb", 1)}})}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := servers.Start(t, servers.Config{Scheme: "nfs"}, replyServer(append([][]byte{lookupReply(nfs3.TypeDir, 0)}, tt.pages...)...))
			var err error
			n := 0
			for e, failure := range client(t, Options{}, nil).List(t.Context(), s.URL+"/") {
				if err = failure; err == nil && fmt.Sprint(e.URL) == "" {
					t.Errorf("%+v", e)
				}
				n++
			}
			if fetch.CodeOf(err) != tt.code {
				t.Errorf("%d entries, %v; want class %q", n, err, tt.code)
			}
		})
	}
}

// TestHostileRecords announces records that the server does not send, or ends within one.
func TestHostileRecords(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text string
		code fetch.Code
	}{
		"a record of 2 GB":        {"\xff\xff\xff\xff", fetch.ErrProtocol},
		"many fragments":          {string(make([]byte, 4*1000)), fetch.ErrProtocol},
		"the end within a record": {"\x80\x00\x00\x40half", fetch.ErrNetwork},
		"the end":                 {"", fetch.ErrNetwork},
		"a page of HTML":          {"HTTP/1.1 400 Bad Request\r\n\r\n", fetch.ErrProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := servers.Start(t, servers.Config{Scheme: "nfs"}, func(c *servers.Conn) {
				if _, err := xdr.ReadRecord(c, nil, 64<<10); err == nil {
					c.Write([]byte(tt.text))
				}
			})
			_, err := client(t, Options{}, nil).Get(t.Context(), s.URL+"/x")
			if !errors.Is(err, tt.code) {
				t.Errorf("%v, want one of class %q", err, tt.code)
			}
		})
	}
}
