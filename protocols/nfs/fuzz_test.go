package nfs

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/internal/codec/nfs3"
	"github.com/urlget/urlget/internal/codec/xdr"
)

// replyServer returns a server that replies to each call with the next result, and repeats the last.
func replyServer(results ...[]byte) func(*servers.Conn) {
	return func(c *servers.Conn) {
		for i := 0; ; i++ {
			record, err := xdr.ReadRecord(c, nil, 64<<10)
			if err != nil {
				return
			}
			call, err := nfs3.ParseCall(record)
			if err != nil {
				return
			}
			c.Write(nfs3.AppendReply(nil, call.XID, func(b []byte) []byte { return append(b, results[min(i, len(results)-1)]...) }))
		}
	}
}

// lookupReply is the result of a LOOKUP of a file.
func lookupReply(typ int, size uint64) []byte {
	b := nfs3.AppendHandle(xdr.AppendUint32(nil, 0), "handle")
	return xdr.AppendBool(nfs3.AppendOptAttr(b, &nfs3.Attr{Type: typ, Size: size, Mode: 0o644}), false)
}

// listServer returns a server with a directory of one member.
func listServer(name string) func(*servers.Conn) {
	l := nfs3.Listing{EOF: true, Entries: []nfs3.Entry{{Name: name, Cookie: 1, Attr: &nfs3.Attr{Type: nfs3.TypeRegular}}}}
	return replyServer(lookupReply(nfs3.TypeDir, 0), l.Append(xdr.AppendUint32(nil, 0), nil, true))
}

// FuzzReplies checks that a body either has the announced size or fails, for any second reply.
func FuzzReplies(f *testing.F) {
	data := func(eof bool, text string) []byte {
		b := xdr.AppendUint32(xdr.AppendBool(xdr.AppendUint32(nil, 0), false), uint32(len(text)))
		return xdr.AppendOpaque(xdr.AppendBool(b, eof), text)
	}
	f.Add(data(true, "0123456789"), false)
	f.Add(data(false, "0"), false)
	f.Add(data(true, ""), false)
	f.Add(xdr.AppendUint32(nil, 13), false)
	f.Add(nfs3.Listing{EOF: true, Entries: []nfs3.Entry{{Name: "a"}}}.Append(xdr.AppendUint32(nil, 0), nil, true), true)
	f.Fuzz(func(t *testing.T, second []byte, dir bool) {
		typ := nfs3.TypeRegular
		if dir {
			typ = nfs3.TypeDir
		}
		s := servers.Start(t, servers.Config{Scheme: "nfs"}, replyServer(lookupReply(typ, 10), second))
		limit := 5 * time.Second
		c := client(t, Options{}, &fetch.Options{Timeouts: fetch.Timeouts{Connect: limit, Reply: limit, Idle: limit}, Policy: &fetch.Policy{MaxSize: 1 << 20}})
		resp, err := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse(s.URL + "/x")})
		if err != nil {
			return
		}
		defer resp.Body.Close()
		content, err := io.ReadAll(resp.Body)
		if !dir && err == nil && len(content) != 10 {
			t.Errorf("%q is returned as complete", content)
		}
		if dir && bytes.ContainsAny(content, "\x00") {
			t.Errorf("%q", content)
		}
	})
}

// FuzzPath checks that no URL path leads above the root or yields invalid names.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"a/b", "/a//b/", "../../a", "%2e%2e/x", "a%00", "%FF%20", "", "a/..", "/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		u, err := uri.Parse("nfs://h/" + path)
		if err != nil {
			return
		}
		target, err := newTarget(&fetch.Request{URL: u})
		if err != nil {
			return
		}
		for _, name := range target.names {
			if name == "" || name == "." || name == ".." || bytes.ContainsAny([]byte(name), "/\x00") {
				t.Errorf("%q has the element %q", path, name)
			}
		}
		for _, c := range []byte(canonical(target.names, target.absolute)) {
			if c < ' ' || c > '~' {
				t.Errorf("%q is sent with byte %#x", path, c)
			}
		}
	})
}
