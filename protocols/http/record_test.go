package http_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

// recording returns a client that records everything.
func recording(t testing.TB, o fetch.Options, opts urlhttp.Options) (*fetch.Client, *fetchtest.Recording) {
	rec := &fetchtest.Recording{}
	o.Recorder = rec
	return newClient(t, &o, opts), rec
}

// TestRecordedMessages checks that the messages are the bytes on the connection, or the HTTP/1.1
// form of HTTP/2.
func TestRecordedMessages(t *testing.T) {
	t.Parallel()
	for _, proto := range []string{"", "http/1.1", "h2"} {
		t.Run("over "+strings.TrimPrefix(proto+", plaintext", ", "), func(t *testing.T) {
			t.Parallel()
			s := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/old" {
					http.Redirect(w, r, "/new?a=b", http.StatusFound)
					return
				}
				w.Header()["x-OdD"] = []string{"2", "1"}
				w.Header().Set("Content-Length", "7")
				io.WriteString(w, "content")
			}), proto)
			c, rec := recording(t, fetch.Options{TLS: trust(s)}, urlhttp.Options{})
			drive.Gets(t, c, s.URL+"/old", "content")
			all := rec.Exchanges()
			if len(all) != 2 {
				t.Fatalf("%d exchanges", len(all))
			}
			for i, want := range []struct{ path, status, content string }{{"/old", "302 Found", ""}, {"/new?a=b", "200 OK", "content"}} {
				x := all[i]
				if len(x.Conns) != 1 || (x.Conns[0].TLS != nil) != (proto != "") || !slices.Equal(x.Ends, []error{nil}) || string(x.Content) != want.content {
					t.Errorf("hop %d: %+v", i, x)
					continue
				}
				host := strings.TrimPrefix(strings.TrimPrefix(s.URL, "http://"), "https://")
				if sent := string(x.Sent()); !strings.HasPrefix(sent, "GET "+want.path+" HTTP/1.1\r\nHost: "+host+"\r\n") || !strings.HasSuffix(sent, "\r\n\r\n") {
					t.Errorf("hop %d: sent %q", i, sent)
				}
				got := string(x.Received())
				head, content, _ := strings.Cut(got, "\r\n\r\n")
				if !strings.HasPrefix(head, "HTTP/1.1 "+want.status+"\r\n") || want.content != "" && content != want.content {
					t.Errorf("hop %d: received %q", i, got)
				}
			}
			last := all[1]
			field, wantLine := "\r\nx-OdD: 2\r\nx-OdD: 1\r\n", "< x-OdD: 2"
			if proto == "h2" {
				field, wantLine = "\r\nX-Odd: 2\r\nX-Odd: 1\r\n", "< X-Odd: 2"
			}
			if !strings.Contains(string(last.Received()), field) || !slices.Contains(last.Lines, wantLine) {
				t.Errorf("received %q, lines %q", last.Received(), last.Lines)
			}
			if peers := len(last.Conns[0].Peers); peers != 1 {
				t.Errorf("a connection that was kept has %d peers", peers)
			}
		})
	}
}

// TestRecordedContentIsDecoded checks that encoded content is recorded encoded, and returned
// decoded.
func TestRecordedContentIsDecoded(t *testing.T) {
	t.Parallel()
	coded := encode(t, "gzip", []byte("plain plain"))
	for _, proto := range []string{"", "h2"} {
		s := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Length", strconv.Itoa(len(coded)))
			w.Write(coded)
		}), proto)
		c, rec := recording(t, fetch.Options{TLS: trust(s)}, urlhttp.Options{Compressed: true})
		drive.MustGet(t, c, s.URL)
		x := rec.Exchanges()[0]
		if !bytes.HasSuffix(x.Received(), append([]byte("\r\n\r\n"), coded...)) || string(x.Content) != "plain plain" {
			t.Errorf("%q: received %q, content %q", proto, x.Received(), x.Content)
		}
	}
}

// TestRecordedLogin checks that all requests of an exchange are recorded, on one connection,
// without the password. The head exceeds the buffer of the connection, so the field may be divided
// anywhere.
func TestRecordedLogin(t *testing.T) {
	t.Parallel()
	const password = "pa:ss"
	for _, proto := range []string{"", "h2"} {
		g := basicGuard()
		s := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.SetCookie(w, &http.Cookie{Name: "session", Value: "s3cr3t-Cookie"})
			g.ServeHTTP(w, r)
		}), proto)
		for _, pad := range []int{0, 16000, 16220, 16240, 16250, 16260, 16270, 16280, 16290, 16384, 40000} {
			c, rec := recording(t, fetch.Options{TLS: trust(s), Credentials: credentials(new([]fetch.Challenge), password)}, urlhttp.Options{})
			u := uri.MustParse(s.URL + "/x")
			// The fields are sent in alphabetical order.
			h := textproto.MIMEHeader{"A-Long-Field": {strings.Repeat("a", pad)}, "X-Api-Key": {"s3cr3t-Key"}}
			for range 2 { // the second time with the cached login and a cookie
				if _, _, err := drive.Do(t, c, &fetch.Request{URL: u, Header: h}); err != nil {
					t.Fatal(pad, err)
				}
			}
			all := rec.Exchanges()
			first := all[0]
			if n := strings.Count(string(first.Sent()), "GET /x HTTP/1.1\r\n"); n != 2 || len(first.Conns) != 1 || len(first.Conns[0].Peers) > 2 {
				t.Errorf("%q %d: %d requests on %d connections", proto, pad, n, len(first.Conns))
			}
			if n := strings.Count(string(first.Received()), "HTTP/1.1 "); n != 2 {
				t.Errorf("%q %d: %d answers", proto, pad, n)
			}
			for _, x := range all {
				shown := string(x.Sent()) + strings.Join(x.Lines, "\n")
				for _, secret := range []string{password, strings.TrimPrefix(goodBasic, "Basic "), "s3cr3t-Cookie", "s3cr3t-Key"} {
					if strings.Contains(shown, secret) {
						t.Errorf("%q %d: recorded %q", proto, pad, secret)
					}
				}
			}
			if sent := string(all[1].Sent()); !strings.Contains(sent, "\r\nAuthorization: ***") || !strings.Contains(sent, "\r\nCookie: ***") || !strings.HasSuffix(sent, "\r\n\r\n") {
				t.Errorf("%q %d: sent %q", proto, pad, sent)
			}
		}
	}
}

// TestRecordedURLForAProxy checks that the password in a URL is sent to the proxy but not recorded.
func TestRecordedURLForAProxy(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 1)
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) { asked <- r.RequestURI })
	rec := &fetchtest.Recording{}
	c := proxyClient(t, proxy, &fetch.Options{Recorder: rec}, func(_ fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "ftp", Port: 21, Ops: []fetch.Op{fetch.OpGet}, ForwardProxy: true, Driver: fetch.DriverFunc(nil)})
	})
	drive.MustGet(t, c, "ftp://joe:s3cr3t@h.example/x")
	x := rec.Exchanges()[0]
	shown := string(x.Sent()) + strings.Join(x.Lines, "\n")
	if got := <-asked; got != "ftp://joe:s3cr3t@h.example/x" || strings.Contains(shown, "s3cr3t") ||
		!strings.HasPrefix(shown, "GET ftp://joe:******@h.example/x HTTP/1.1\r\n") {
		t.Errorf("the proxy got %q, recorded is %q", got, shown)
	}
}

// TestInternationalHostForAProxy checks that a request to a proxy is ASCII, as in RFC 9112, section
// 3.2.2, and otherwise as the user wrote it.
func TestInternationalHostForAProxy(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 1)
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) { asked <- r.RequestURI })
	c := proxyClient(t, proxy, &fetch.Options{}, func(_ fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "ftp", Port: 21, Ops: []fetch.Op{fetch.OpGet}, ForwardProxy: true, Driver: fetch.DriverFunc(nil)})
	})
	for url, want := range map[string]string{
		"http://今日は.日本/":                   "http://xn--v9ju72g90p.xn--wgv71a/",
		"http://今日は.日本:8080?q|":            "http://xn--v9ju72g90p.xn--wgv71a:8080?q|",
		"ftp://joe:a%40b@bücher.example/x": "ftp://joe:a%40b@xn--bcher-kva.example/x",
		"http://H.example/%7e":             "http://H.example/%7e",
	} {
		drive.MustGet(t, c, url)
		if got := <-asked; got != want {
			t.Errorf("%s: the proxy got %s, want %s", url, got, want)
		}
	}
}

func TestRecordedStatWithTwoRequests(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
	})
	c, rec := recording(t, fetch.Options{}, urlhttp.Options{})
	if _, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(url)}); err != nil {
		t.Fatal(err)
	}
	all := rec.Exchanges()
	if len(all) != 1 || !strings.HasPrefix(string(all[0].Sent()), "HEAD / ") || !strings.Contains(string(all[0].Sent()), "\r\n\r\nGET / ") {
		t.Errorf("%+v", all)
	}
}

// TestRecordsDoNotMix checks that exchanges on one connection have separate bytes.
func TestRecordsDoNotMix(t *testing.T) {
	t.Parallel()
	clients := 24
	if fetchtest.IsLong() {
		clients = 100
	}
	names := regexp.MustCompile(`/exchange-\d+-\d+\.`)
	for _, proto := range []string{"", "http/1.1", "h2"} {
		t.Run("over "+strings.TrimPrefix(proto+", plaintext", ", "), func(t *testing.T) {
			t.Parallel()
			page := func(path string) string { return strings.Repeat("content of "+path+".\n", 1+len(path)*100) }
			s := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/none") {
					http.NotFound(w, r)
					return
				}
				content := page(r.URL.Path)
				w.Header().Set("Content-Length", strconv.Itoa(len(content)))
				io.WriteString(w, content)
			}), proto)
			c, rec := recording(t, fetch.Options{TLS: trust(s)}, urlhttp.Options{})
			var all sync.WaitGroup
			for i := range clients {
				all.Go(func() {
					for j := range 3 {
						path := fmt.Sprintf("%s/exchange-%d-%d.", s.URL, i, j)
						switch i % 4 {
						case 0:
							path += "/none"
						case 1: // is closed early
							if resp, err := c.Get(t.Context(), path); err == nil {
								resp.Body.Close()
							}
							continue
						}
						drive.Get(t, c, path)
					}
				})
			}
			all.Wait()
			exchanges := rec.Exchanges()
			if len(exchanges) != 3*clients {
				t.Errorf("%d exchanges", len(exchanges))
			}
			for _, x := range exchanges {
				path := strings.TrimPrefix(x.URL, s.URL)
				sent, received := string(x.Sent()), string(x.Received())
				if len(x.Ends) != 1 || x.AfterEnd > 0 || strings.Count(sent, "GET ") != 1 || !strings.HasPrefix(sent, "GET "+path+" ") {
					t.Errorf("%s: ended %v, and %d calls after that; sent %q", path, x.Ends, x.AfterEnd, sent)
				}
				foreign := slices.ContainsFunc(names.FindAllString(received, -1), func(name string) bool { return !strings.HasPrefix(path, name) })
				if strings.Count(received, "HTTP/1.1 ") != 1 || foreign {
					t.Errorf("%s: received %.200q", path, received)
				}
				if x.Ends[0] == nil && proto != "" && !strings.HasSuffix(path, "none") && string(x.Content) != page(path) {
					t.Errorf("%s: %d bytes of content", path, len(x.Content))
				}
			}
		})
	}
}

// TestRecordedUploads checks that a body is recorded once per request.
func TestRecordedUploads(t *testing.T) {
	t.Parallel()
	for _, proto := range []string{"", "http/1.1", "h2"} {
		for _, size := range []int64{3, -1} {
			s := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(w, r.Body)
			}), proto)
			c, rec := recording(t, fetch.Options{TLS: trust(s)}, urlhttp.Options{})
			resp, err := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse(s.URL + "/a"), Method: "POST", ContentLength: size,
				GetBody: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("a=1")), nil }})
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || string(content) != "a=1" {
				t.Fatalf("%q, %v", content, err)
			}
			sent := string(rec.Exchanges()[0].Sent())
			head, body, _ := strings.Cut(sent, "\r\n\r\n")
			if size > 0 && body != "a=1" || !strings.Contains(body, "a=1") || strings.Contains(head, "a=1") {
				t.Errorf("%q, %d bytes: %q", proto, size, sent)
			}
			if size > 0 && strings.Count(head, "\r\nContent-Length: 3") != 1 {
				t.Errorf("%q: %q", proto, head)
			}
		}
	}
}
