package capture

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/archive/internal/record"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/warccheck"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// An event reports one event of an exchange, like a client.
type event func(*fetch.Recording)

func sent(text string) event     { return func(x *fetch.Recording) { x.Sent(1, []byte(text)) } }
func received(text string) event { return func(x *fetch.Recording) { x.Received(1, []byte(text)) } }
func ended(err error) event      { return func(x *fetch.Recording) { x.End(err) } }

func peerAt(addr string, state *tls.ConnectionState) event {
	return func(x *fetch.Recording) { x.Peer(1, net.TCPAddrFromAddrPort(mustAddr(addr)), state) }
}

// recordOf records exchanges and returns the records, without the warcinfo record.
func recordOf(t *testing.T, seen *Seen, exchanges ...func(c *Capture)) []*warccheck.Record {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.warc.gz")
	w, err := warc.Create(path, warc.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c := New(w, seen, func(err error) { t.Error(err) })
	for _, x := range exchanges {
		x(c)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	list, err := warccheck.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return list[1:]
}

func exchange(rawURL string, steps ...event) func(c *Capture) {
	return func(c *Capture) {
		x := c.Record(context.Background(), &fetch.Request{URL: uri.MustParse(rawURL)})
		for _, step := range steps {
			step(x)
		}
	}
}

const get = "GET /a HTTP/1.1\r\nHost: h.example\r\n\r\n"

func sum(content string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(content))) }

func types(list []*warccheck.Record) string {
	var all []string
	for _, r := range list {
		all = append(all, r.Type)
	}
	return strings.Join(all, " ")
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	truncated := &fetch.Error{Code: fetch.ErrTruncated, Err: io.ErrUnexpectedEOF}
	tests := []struct {
		name           string
		steps          []event
		want           string // types of the records
		block          string // block of the last response
		payload        string
		truncatedField string
	}{
		{"a response", []event{sent(get), received("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"), received("pear"), ended(nil)},
			"response request", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npear", "pear", ""},
		{"chunks", []event{sent(get), received("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\npe\r\n2\r\nar\r\n0\r\n\r\n"), ended(nil)},
			"response request", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\npe\r\n2\r\nar\r\n0\r\n\r\n", "pear", ""},
		{"a head with bare line feeds", []event{sent(get), received("HTTP/1.1 200 OK\n\npe\r\n\r\nar"), ended(nil)},
			"response request", "HTTP/1.1 200 OK\n\npe\r\n\r\nar", "pe\r\n\r\nar", ""},
		{"a head with bare line feeds and a length", []event{sent(get), received("HTTP/1.1 200 OK\nContent-Length: 8\n\npe\r\n\r\nar"), ended(nil)},
			"response request", "HTTP/1.1 200 OK\nContent-Length: 8\n\npe\r\n\r\nar", "pe\r\n\r\nar", ""},
		{"a response that starts before the request is complete", []event{sent("POST /a HTTP/1.1\r\nHost: h.example\r\nContent-Length: 4\r\n\r\npe"),
			received("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npe"), sent("ar"), received("ar"), ended(nil)},
			"response request", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npear", "pear", ""},
		{"no content", []event{sent(get), received("HTTP/1.1 204 No Content\r\n\r\n"), ended(nil)},
			"response request", "HTTP/1.1 204 No Content\r\n\r\n", "", ""},
		{"an interim response", []event{sent(get), received("HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npear"), ended(nil)},
			"response request", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npear", "pear", ""},
		{"a login", []event{sent(get), received("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"),
			sent("GET /a HTTP/1.1\r\nAuthorization: Basic ****\r\n\r\n"), received("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npear"), ended(nil)},
			"response request response request", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npear", "pear", ""},
		{"a lost connection", []event{sent(get), received("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\npear"), ended(truncated)},
			"response request", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\npear", "pear", "disconnect"},
		{"a lost connection within chunks", []event{sent(get), received("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\npe\r\n2\r"), ended(truncated)},
			"response request", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\npe\r\n2\r", "pe", "disconnect"},
		{"a lost connection without a length", []event{sent(get), received("HTTP/1.1 200 OK\r\n\r\npear"), ended(truncated)},
			"response request", "HTTP/1.1 200 OK\r\n\r\npear", "pear", "disconnect"},
		{"a body that was closed early", []event{sent(get), received("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\npear"), ended(net.ErrClosed)},
			"response request", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\npear", "pear", "unspecified"},
		{"too large", []event{sent(get), received("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\npear"), ended(&fetch.Error{Code: fetch.ErrTooLarge})},
			"response request", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\npear", "pear", "length"},
		{"no response", []event{sent(get), ended(&fetch.Error{Code: fetch.ErrNetwork})}, "metadata", "", "", ""},
		{"no connection", []event{ended(&fetch.Error{Code: fetch.ErrNetwork})}, "metadata", "", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			list := recordOf(t, nil, exchange("http://h.example/a#b", tt.steps...))
			if got := types(list); got != tt.want {
				t.Fatalf("records: %s, want %s", got, tt.want)
			}
			if list[0].Field("WARC-Target-URI") != "http://h.example/a" {
				t.Error(list[0].Fields)
			}
			if tt.block == "" {
				return
			}
			response, request := list[len(list)-2], list[len(list)-1]
			if string(response.Block) != tt.block {
				t.Errorf("block: %q, want %q", response.Block, tt.block)
			}
			if got := response.Field("WARC-Payload-Digest"); got != sum(tt.payload) {
				t.Errorf("payload digest: %s, want that of %q", got, tt.payload)
			}
			if got := response.Field("WARC-Truncated"); got != tt.truncatedField {
				t.Errorf("truncated: %q, want %q", got, tt.truncatedField)
			}
			if request.Field("WARC-Concurrent-To") != response.Field("WARC-Record-ID") {
				t.Error("WARC-Concurrent-To of the request does not refer to the response")
			}
		})
	}
}

// Bytes that a server sends after a response are not part of its record.
func TestBytesAfterResponse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ request, response, payload string }{
		{get, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npear", "pear"},
		{get, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ""},
		{get, "HTTP/1.1 204 No Content\r\n\r\n", ""},
		{strings.Replace(get, "GET", "HEAD", 1), "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", ""},
	} {
		for _, before := range []string{"", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"} {
			all := before + tt.response + "\r\nplum"
			var exchanges []func(c *Capture)
			for size := range all {
				exchanges = append(exchanges, exchange("http://h.example/a", sent(tt.request), received(all[:size]),
					received(all[size:]), ended(nil)))
			}
			list := recordOf(t, nil, exchanges...)
			if want := strings.TrimSpace(strings.Repeat("response request ", len(all))); types(list) != want {
				t.Fatalf("%q: got %s", before, types(list))
			}
			for size := range all {
				r := list[2*size]
				if got := string(r.Block); got != tt.response || r.Field("WARC-Payload-Digest") != sum(tt.payload) {
					t.Errorf("%q, %d: got %q %v, want %q", before, size, got, r.Fields, tt.response)
				}
			}
		}
	}
}

// Responses of versions that the client also reads are recorded like those of HTTP/1.1.
func TestVersions(t *testing.T) {
	t.Parallel()
	const plain, chunked = "Content-Length: 4\r\n\r\npear", "Transfer-Encoding: chunked\r\n\r\n4\r\npear\r\n0\r\n\r\n"
	for _, tt := range []struct{ version, rest, protocol string }{
		{"HTTP/1.1", plain, "http/1.1"}, {"HTTP/1.1", chunked, "http/1.1"},
		{"HTTP/1.1", "Transfer-Encoding: Identity\r\n" + plain, "http/1.1"},
		{"HTTP/1.0", plain, "http/1.0"}, {"HTTP/1.0", chunked, "http/1.0"},
		{"HTTP/1.0", "Content-Length: 14\r\n" + chunked, "http/1.0"},
		{"HTTP/1.0", "Transfer-Encoding: identity\r\n" + plain, "http/1.0"},
		{"HTTP/2", plain, "http/1.1"}, {"HTTP/3", chunked, "http/1.1"},
		{"ICY", plain, "http/1.0"}, {"ICY", chunked, "http/1.0"},
	} {
		for _, before := range []string{"", "HTTP/1.1 103 Early Hints\r\n\r\n"} {
			path := filepath.Join(t.TempDir(), "a.warc")
			w, err := warc.Create(path, warc.WriterOptions{Index: true})
			if err != nil {
				t.Fatal(err)
			}
			exchange("http://h.example/a", sent(get), peerAt("192.0.2.1:80", nil),
				received(before+tt.version+" 200 OK\r\n"+tt.rest), ended(nil))(New(w, nil, nil))
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			index, err := os.Open(strings.TrimSuffix(path, "warc") + "cdxj")
			if err != nil {
				t.Fatal(err)
			}
			var found []string
			err = warc.ReadIndex(index, func(e warc.IndexEntry) error {
				found = append(found, fmt.Sprint(e.Status, " ", e.Digest))
				return nil
			})
			index.Close()
			if want := "200 " + sum("pear"); err != nil || len(found) != 1 || found[0] != want {
				t.Errorf("%q: index: %q, %v; want %q", before+tt.version+tt.rest, found, err, want)
			}
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			sum, err := warc.Verify(file, func(p warc.Problem) { t.Errorf("%q: %s", before+tt.version+tt.rest, p.Text) })
			if err != nil || sum.Longer > 0 {
				t.Errorf("%q: %v, %d responses are longer", before+tt.version+tt.rest, err, sum.Longer)
			}
			r, err := warc.NewReader(file)
			if err != nil {
				t.Fatal(err)
			}
			for rec, err := range r.Records() {
				if err != nil {
					t.Fatal(err)
				}
				block, _ := io.ReadAll(rec.Block)
				if rec.Type() == warc.Response && (rec.Get("WARC-Truncated") != "" || string(block) != tt.version+" 200 OK\r\n"+tt.rest ||
					rec.Get("WARC-Protocol") != tt.protocol) {
					t.Errorf("%q: %v %q", before+tt.version+tt.rest, rec.Header, block)
				}
			}
			r.Close()
			file.Close()
		}
	}
}

func TestKnownPayloadsBecomeRevisits(t *testing.T) {
	t.Parallel()
	response := received("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npear")
	list := recordOf(t, NewSeen(), exchange("http://h.example/a", sent(get), response, ended(nil)),
		exchange("http://h.example/b", sent(get), response, ended(nil)),
		exchange("http://h.example/c", sent(get), received("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), ended(nil)),
		exchange("http://h.example/d", sent(get), received("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), ended(nil)))
	if got, want := types(list), "response request revisit request response request response request"; got != want {
		t.Fatalf("%s, want %s", got, want)
	}
	revisit := list[2]
	if string(revisit.Block) != "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n" || revisit.Field("WARC-Refers-To-Target-URI") != "http://h.example/a" ||
		revisit.Field("WARC-Truncated") != "length" {
		t.Errorf("%v: %q", revisit.Fields, revisit.Block)
	}

	for n := 4090; n < 4100; n++ { // around the size of the line buffer
		head := "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", n) + "\r\nContent-Length: 4\r\n\r\n"
		list := recordOf(t, NewSeen(), exchange("http://h.example/a", sent(get), response, ended(nil)),
			exchange("http://h.example/b", sent(get), received(head+"pear"), ended(nil)))
		if got := string(list[2].Block); list[2].Type != "revisit" || got != head {
			t.Errorf("%d: a %s with a head of %d bytes, want %d", n, list[2].Type, len(got), len(head))
		}
	}

	index := warc.IndexEntry{URL: "http://old.example/", Digest: sum("pear"), Date: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)}.AppendTo(nil)
	seen := NewSeen()
	if err := seen.Load(strings.NewReader("!CDXJ\nrubbish\n" + string(index))); err != nil {
		t.Fatal(err)
	}
	list = recordOf(t, seen, exchange("http://h.example/a", sent(get), response, ended(nil)))
	if list[0].Type != warc.Revisit || list[0].Field("WARC-Refers-To-Date") != "2020-01-01T00:00:00.000000Z" {
		t.Errorf("%v", list[0].Fields)
	}
}

// A revisit is written after the record to which it refers, even if the process is killed.
func TestRevisitsFollowTheirOriginals(t *testing.T) {
	t.Parallel()
	const rounds, perRound = 12, 4
	long := "HTTP/1.1 401 Unauthorized\r\nTransfer-Encoding: chunked\r\n\r\n100000\r\n" + strings.Repeat("x", 1<<20) + "\r\n0\r\n\r\n"
	var all []func(*Capture)
	for round := range rounds {
		all = append(all, func(c *Capture) {
			var done sync.WaitGroup
			for n := range perRound {
				x := c.Record(context.Background(), &fetch.Request{URL: uri.MustParse(fmt.Sprintf("http://h.example/%d/%d", round, n))})
				sent(get)(x)
				received(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n%4d", round))(x)
				if n%2 == 0 { // a second, long response delays the records
					sent(get)(x)
					received(long)(x)
				}
				done.Go(func() { x.End(nil) })
			}
			done.Wait()
		})
	}
	list := recordOf(t, NewSeen(), all...)
	earlierIDs, revisits := make(map[string]bool), 0
	for i, r := range list {
		if r.Type == warc.Revisit {
			revisits++
			if to := r.Field("WARC-Refers-To"); !earlierIDs[to] {
				t.Errorf("record %d refers to a later record", i)
			}
		}
		earlierIDs[r.Field("WARC-Record-ID")] = true
	}
	if want := rounds * (perRound - 1); revisits != want {
		t.Errorf("%d revisits, want %d", revisits, want)
	}
}

// Two exchanges with the same two payloads in different order do not deadlock.
func TestConcurrentPayloadClaims(t *testing.T) {
	t.Parallel()
	const rounds = 50
	var all []func(*Capture)
	for round := range rounds {
		all = append(all, func(c *Capture) {
			var done sync.WaitGroup
			for n := range 2 {
				x := c.Record(context.Background(), &fetch.Request{URL: uri.MustParse(fmt.Sprintf("http://h.example/%d/%d", round, n))})
				for i := range 2 {
					sent(get)(x)
					received(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n%4d%4d", round, i^n))(x)
				}
				done.Go(func() { x.End(nil) })
			}
			done.Wait()
		})
	}
	if list := recordOf(t, NewSeen(), all...); len(list) != 2*2*2*rounds {
		t.Errorf("%d records", len(list))
	}
}

func TestPeerFields(t *testing.T) {
	t.Parallel()
	state := &tls.ConnectionState{Version: tls.VersionTLS13, CipherSuite: tls.TLS_AES_128_GCM_SHA256, NegotiatedProtocol: "h2"}
	list := recordOf(t, nil, exchange("https://h.example/a", func(x *fetch.Recording) {
		x.Lookup("h.example", []netip.Addr{netip.MustParseAddr("2001:db8::1")})
	}, peerAt("[2001:db8::1]:443", nil), peerAt("[2001:db8::1]:443", state), sent(get),
		received("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npear"), ended(nil)))
	if got := types(list); got != "resource response request" {
		t.Fatal(got)
	}
	if dns := list[0]; dns.Field("WARC-Target-URI") != "dns:h.example" || !strings.Contains(string(dns.Block), "h.example.\t0\tIN\tAAAA\t2001:db8::1") {
		t.Errorf("%v: %q", dns.Fields, dns.Block)
	}
	r := list[1]
	if r.Field("WARC-IP-Address") != "2001:db8::1" || !slices.Equal(r.Fields["warc-protocol"], []string{"h2", "tls/1.3"}) ||
		r.Field("WARC-Cipher-Suite") != "TLS_AES_128_GCM_SHA256" {
		t.Errorf("%v", r.Fields)
	}
}

// All addresses of a host are recorded, once.
func TestLookups(t *testing.T) {
	t.Parallel()
	lookup := func(host string, addrs ...string) event {
		return func(x *fetch.Recording) {
			var list []netip.Addr
			for _, a := range addrs {
				list = append(list, netip.MustParseAddr(a))
			}
			x.Lookup(host, list)
		}
	}
	response := received("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	list := recordOf(t, nil,
		exchange("http://h.example/a", lookup("proxy.example", "192.0.2.9"), lookup("h.example", "192.0.2.1", "2001:db8::1"), peerAt("192.0.2.1:80", nil), sent(get), response, ended(nil)),
		exchange("http://h.example/b", peerAt("192.0.2.1:80", nil), sent(get), response, ended(nil)),
		exchange("http://h.example/c", lookup("h.example", "2001:db8::1", "192.0.2.1"), sent(get), response, ended(nil)),
		exchange("http://h.example/d", lookup("h.example", "192.0.2.2"), ended(&fetch.Error{Code: fetch.ErrNetwork})))
	if got := types(list); got != "resource response request response request response request resource metadata" {
		t.Fatal(got)
	}
	_, lines, _ := strings.Cut(string(list[0].Block), "\r\n")
	if want := "h.example.\t0\tIN\tA\t192.0.2.1\r\nh.example.\t0\tIN\tAAAA\t2001:db8::1\r\n"; lines != want {
		t.Errorf("%q, want %q", lines, want)
	}
}

func TestOtherSchemes(t *testing.T) {
	t.Parallel()
	list := recordOf(t, nil, exchange("ftp://user:secret@192.0.2.1/a", peerAt("192.0.2.1:21", nil), received("220 hello\r\n"), sent("PASS ****\r\n"),
		func(x *fetch.Recording) {
			x.Response(&fetch.Response{Meta: fetch.Meta{ContentType: "text/plain", Size: 4, Reply: fetch.Reply{Code: 150, Text: "here"}}})
			x.Peer(2, net.TCPAddrFromAddrPort(mustAddr("192.0.2.1:4000")), nil)
			x.Received(2, []byte("pear"))
			x.Content([]byte("pear"))
		}, received("226 done\r\n"), ended(nil)))
	if got := types(list); got != "resource metadata metadata" {
		t.Fatal(got)
	}
	content, meta, conversation := list[0], list[1], list[2]
	if string(content.Block) != "pear" || content.Field("Content-Type") != "text/plain" || content.Field("WARC-Target-URI") != "ftp://user@192.0.2.1/a" {
		t.Errorf("%v: %q", content.Fields, content.Block)
	}
	var x record.Exchange
	if err := json.Unmarshal(meta.Block, &x); err != nil || x.Response.Code != 150 || "<"+x.Content+">" != content.Field("WARC-Record-ID") {
		t.Errorf("%v: %s", err, meta.Block)
	}
	if strings.Contains(string(meta.Block)+string(conversation.Block), "secret") {
		t.Error("a record contains the password")
	}
	if got := conversation.Field("Content-Type"); got != "application/x-ftp; msgtype=conversation" {
		t.Error(got)
	}
	for _, want := range []string{"= 1 ", " tcp 192.0.2.1:21\r\n", " 11\r\n220 hello\r\n", "PASS ****", "* 2 ", "226 done"} {
		if !strings.Contains(string(conversation.Block), want) {
			t.Errorf("conversation lacks %q: %q", want, conversation.Block)
		}
	}
	if strings.Contains(string(conversation.Block), "pear") {
		t.Error("conversation repeats the content")
	}
}

func TestFailureRoundTrip(t *testing.T) {
	t.Parallel()
	want := &fetch.Error{Code: fetch.ErrNeedForm, Reply: fetch.Reply{Code: 3, Text: "no\x1b"}, Reason: fetch.Reason{Kind: fetch.ReasonForm, Question: "Name"},
		Hint: "answer", Err: &fetch.FormError{Form: fetch.Form{Title: "T", Fields: []fetch.Field{{Name: "Name", Kind: fetch.FieldLine}}}}}
	list := recordOf(t, nil, exchange("gopher://192.0.2.1/0a", ended(want)))
	var x record.Exchange
	if err := json.Unmarshal(list[0].Block, &x); err != nil {
		t.Fatal(err)
	}
	got := x.Failure.Error()
	var form *fetch.FormError
	if got.Code != want.Code || got.Reply != want.Reply || got.Reason != want.Reason || got.Hint != want.Hint || got.Message() != want.Message() ||
		!errors.As(got, &form) || form.Form.Fields[0].Name != "Name" {
		t.Errorf("%+v", got)
	}
}

// The URL of the content is recorded if it differs from the requested URL. So is the fact that a
// scheme does not support the operation.
func TestContentURLAndUnsupportedOperation(t *testing.T) {
	t.Parallel()
	withURL := func(rawURL string) event {
		return func(x *fetch.Recording) {
			x.Response(&fetch.Response{URL: uri.MustParse(rawURL), Meta: fetch.Meta{Kind: fetch.KindNone}})
		}
	}
	unsupported := &fetch.Error{Code: fetch.ErrNotRetrievable, Err: fmt.Errorf("ftp: no such operation: %w", errors.ErrUnsupported)}
	list := recordOf(t, nil, exchange("ftp://me:secret@192.0.2.1/a", withURL("ftp://me:secret@192.0.2.1/a/"), ended(nil)),
		exchange("ftp://me:secret@192.0.2.1/a", withURL("ftp://me:secret@192.0.2.1/a"), ended(nil)),
		exchange("ftp://192.0.2.1/a", ended(unsupported)))
	var got [3]record.Exchange
	for i := range got {
		if err := json.Unmarshal(list[i].Block, &got[i]); err != nil {
			t.Fatal(err)
		}
	}
	if got[0].Response.URL != "ftp://me@192.0.2.1/a/" || got[1].Response.URL != "" {
		t.Errorf("%q %q", got[0].Response.URL, got[1].Response.URL)
	}
	if err := got[2].Failure.Error(); !errors.Is(err, errors.ErrUnsupported) || err.Message() != unsupported.Message() {
		t.Error(err)
	}
}

func TestConversationLimit(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxConversation/2)
	list := recordOf(t, nil, exchange("finger://192.0.2.1/a", sent("a\r\n"), received(long), received(long), received(long), received("end"),
		ended(&fetch.Error{Code: fetch.ErrTooLarge})))
	d := list[len(list)-1]
	if len(d.Block) > maxConversation || d.Field("WARC-Truncated") != "length" {
		t.Errorf("%d bytes, %v", len(d.Block), d.Fields)
	}
}

func TestListingWithUnreadEntries(t *testing.T) {
	t.Parallel()
	entries := []fetch.Entry{{Name: "a", URL: uri.MustParse("ftp://h/a"), Size: 3}, {Name: "b", Size: -1}}
	resp := &fetch.Response{Meta: fetch.Meta{Kind: fetch.KindListing, Size: -1}}
	driver.SetParts(resp, func(yield func(driver.Part, error) bool) {
		yield(driver.Part{Text: []byte("a\nb\n"), Entries: entries}, nil)
	}, nil)
	list := recordOf(t, nil, exchange("ftp://192.0.2.1/", func(x *fetch.Recording) {
		x.Response(resp)
		content, _ := io.ReadAll(resp.Body)
		x.Content(content)
	}, ended(nil)))
	if got := types(list); got != "resource metadata metadata" {
		t.Fatal(got)
	}
	lines := strings.Split(strings.TrimSpace(string(list[1].Block)), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"url":"ftp://h/a"`) {
		t.Errorf("%q", lines)
	}
}

// A full disk ends the recording and is reported once.
func TestWriteErrorIsReportedOnce(t *testing.T) {
	t.Parallel()
	w, err := warc.Create(filepath.Join(t.TempDir(), "a.warc"), warc.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	failures := 0
	c := New(w, nil, func(error) { failures++ })
	w.Close()
	if x := c.Record(context.Background(), &fetch.Request{URL: uri.MustParse("http://h/")}); x != nil {
		t.Error("Record returned a recording after a write error")
	}
	w, _ = warc.Create(filepath.Join(t.TempDir(), "a.warc"), warc.WriterOptions{})
	c = New(w, nil, func(error) { failures++ })
	var open []*fetch.Recording
	for range 2 {
		open = append(open, c.Record(context.Background(), &fetch.Request{URL: uri.MustParse("http://h/")}))
	}
	w.Close()
	for _, x := range open {
		x.End(&fetch.Error{Code: fetch.ErrNetwork})
	}
	if failures != 1 {
		t.Errorf("error reported %d times, want once", failures)
	}
}

func mustAddr(text string) netip.AddrPort { return netip.MustParseAddrPort(text) }
