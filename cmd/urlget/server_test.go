package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"html"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/nntpd"
)

// modified is the modification time of the site's files.
var modified = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// newSite starts an HTTP server with a page for each behaviour under test.
func newSite() *httptest.Server { return httptest.NewServer(pages()) }

// together returns a handler that responds to n requests at once, when all n have arrived.
func together(n int) http.HandlerFunc {
	var mu sync.Mutex
	arrived, all := 0, make(chan struct{})
	return func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		wait := all
		if arrived++; arrived == n {
			close(all)
			arrived, all = 0, make(chan struct{})
		}
		mu.Unlock()
		select {
		case <-wait:
		case <-r.Context().Done():
		}
	}
}

func newTLSSite(http2 bool) *httptest.Server {
	s := httptest.NewUnstartedServer(pages())
	s.EnableHTTP2 = http2
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	s.StartTLS()
	return s
}

func pages() http.Handler {
	mux := http.NewServeMux()
	file := func(path, contentType, content string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.Header().Set("ETag", fmt.Sprintf(`"%d"`, len(content)))
			http.ServeContent(w, r, "", modified, strings.NewReader(content))
		})
	}
	file("/hello.txt", "text/plain", "0123456789")
	archivesOf(file, mux)
	file("/binary", "application/octet-stream", "\x00\x01\x02")
	file("/page/{$}", "text/html", `<p>page <a href="/hello.txt">the file</a></p>`)
	file("/tree/{$}", "text/html", `<a href="/tree/a.html">a</a> <img src="i.png"> <a href="../hello.txt">h</a> <a href="http://other.invalid/">o</a> <a href="secret.html">s</a>`)
	file("/tree/a.html", "text/html", `<a href="deep.html">d</a>`)
	file("/fragments", "text/html", `<p id=a><a href="#a">a</a><a href="#b">b</a>`)
	file("/tree/deep.html", "text/html", "deep")
	file("/broken/{$}", "text/html", `<a href="/nowhere">n</a> <a href="/hello.txt">h</a>`)
	file("/stalling/{$}", "text/html", `<a href="/hello.txt">h</a> <a href="/nowhere">n</a> <a href="/stall">s</a> <a href="/binary">b</a>`)
	file("/tree/secret.html", "text/html", "secret")
	file("/quiet/{$}", "text/html", `<meta name="robots" content="noindex, nofollow"><a href="/tree/a.html">a</a> <a href="http://h:port/">p</a> <img src="/tree/i.png">`)
	file("/tree/i.png", "image/png", "\x89PNG")
	file("/robots.txt", "text/plain", "User-agent: *\nDisallow: /tree/secret\nSitemap: /sitemap.xml\n")
	file("/sitemap.xml", "application/xml", "<urlset><url><loc>/tree/deep.html</loc></url></urlset>")
	mux.HandleFunc("/together/", together(8))
	file("/hello.liar", "text/plain", "012345678X")
	mux.HandleFunc("/hello.meta4", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/metalink4+xml")
		fmt.Fprintf(w, `<metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="d/.hello"><size>10</size>
<hash type="sha-256">84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882</hash>
<pieces length="5" type="sha-1"><hash>11904a4e8b77f6242e2d288705023adad00a9310</hash><hash>f2231d2871e690a2995704f7a297bd7bc64be720</hash></pieces>
<url priority="1">http://%[1]s/nowhere</url><url priority="2">http://%[1]s/hello.liar</url><url>foo:bar</url><url>http://%[1]s/hello.txt</url></file></metalink>`, r.Host)
	})
	const helloDigest = "SHA-256=hNiYd/DUBB77a/kaFvAkjy/Vc+avBcGflr7bn4gveII="
	mux.HandleFunc("/mirrored", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Digest", helloDigest)
		w.Header().Add("Link", "</hello.liar>; rel=duplicate; pri=1")
		w.Header().Add("Link", "</hello.txt>; rel=duplicate; pri=2")
		io.WriteString(w, "wrong here")
	})
	file("/proven/{$}", "text/html", `<a href="/stated">s</a> <a href="/misstated">m</a>`)
	for path, digest := range map[string]string{
		"/stated":    "sha-256=:hNiYd/DUBB77a/kaFvAkjy/Vc+avBcGflr7bn4gveII=:",
		"/misstated": "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:",
		"/unstated":  "sha-1024=:AAAA:, sha-256=:AAAA:",
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Repr-Digest", digest)
			w.Header().Set("ETag", `"10"`)
			http.ServeContent(w, r, "", modified, strings.NewReader("0123456789"))
		})
	}
	described := func(path, link string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Digest", helloDigest)
			w.Header().Add("Link", `</nowhere.meta4>; rel=describedby; type="application/metalink4+xml"`)
			w.Header().Add("Link", link)
			http.ServeContent(w, r, "", modified, strings.NewReader("012345678X"))
		})
	}
	described("/described", `</hello.meta4>; rel=describedby; type="application/metalink4+xml"`)
	described("/misdescribed", `</hello.txt>; rel=describedby; type="application/metalink4+xml"`)
	file("/urls", "text/plain", "file:///etc/passwd\n")
	mux.HandleFunc("/errorpage", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<h1>gone</h1>", http.StatusNotFound) })
	mux.HandleFunc("/longerrorpage", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, strings.Repeat("x", 100_000), http.StatusNotFound)
	})
	mux.HandleFunc("/cuturls", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprintf(w, "http://%s/hello.txt\nhttp://%s/hel", r.Host, r.Host)
	})
	mux.HandleFunc("/latin1urls", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=ISO-8859-1")
		fmt.Fprintf(w, "http://%s/sent/n\xe9\nhttp://%s/sent/é\n", r.Host, r.Host) // the second one is in UTF-8
	})
	file("/big", "application/octet-stream", strings.Repeat("x", 100_000))
	mux.HandleFunc("/norange", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "whole") })
	mux.HandleFunc("/named", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", `attachment; filename="../../given.txt"`)
		io.WriteString(w, "named")
	})
	mux.HandleFunc("/escape", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Title", "\u202ered")
		io.WriteString(w, "x")
	})
	mux.HandleFunc("/fields", func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nx-sPeLt: 2\r\nA: 1\r\nx-sPeLt:1\r\nSet-Cookie: id=s3cr3t; Path=/\r\nContent-Length: 1\r\n\r\nx")
	})
	mux.Handle("/moved", http.RedirectHandler("/hello.txt", http.StatusFound))
	mux.Handle("/loop", http.RedirectHandler("/loop", http.StatusFound))
	mux.Handle("/tofile", http.RedirectHandler("file:///etc/passwd", http.StatusFound))
	mux.HandleFunc("/image", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<img src="%s">`, html.EscapeString(r.URL.RawQuery))
	})
	mux.HandleFunc("/lead", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.URL.RawQuery)
		w.WriteHeader(http.StatusFound)
	})
	mux.HandleFunc("/error", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) })
	mux.HandleFunc("/forbidden", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) })
	mux.HandleFunc("/private", func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "joe" || password != "secret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="the vault"`)
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		io.WriteString(w, "treasure")
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		if user, password, ok := r.BasicAuth(); !ok || user != "" || password != "token" {
			w.Header().Set("WWW-Authenticate", `Basic realm="the vault"`)
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		io.WriteString(w, "treasure")
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.RemoteAddr+"\n"+r.Host+"\n")
		r.Header.Write(w)
		if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
			io.WriteString(w, "certificate of "+r.TLS.PeerCertificates[0].Subject.CommonName+"\n")
		}
	})
	mux.HandleFunc("/sent/", sent)
	mux.HandleFunc("/socket", socket)
	mux.HandleFunc("/login", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "kept", Value: "s3cr3t", Path: "/", MaxAge: 1000})
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "s3cr3t", Path: "/"})
		http.Redirect(w, r, "/echo", http.StatusSeeOther)
	})
	mux.HandleFunc("/short", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "short")
	})
	var begun sync.Map // query: whether the first response was sent
	mux.HandleFunc("/expiring", func(w http.ResponseWriter, r *http.Request) {
		if _, again := begun.LoadOrStore(r.URL.RawQuery, true); again {
			http.Redirect(w, r, "/echo", http.StatusFound) // a page instead of the file
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("ETag", `"1"`)
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "short")
	})
	mux.HandleFunc("/cut.eml", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "message/rfc822")
		w.Header().Set("Content-Length", "1000")
		io.WriteString(w, "Subject: long\n\nthis is all\n")
	})
	mux.HandleFunc("/packed", func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			io.WriteString(w, strings.Repeat("plain ", 100))
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, strings.Repeat("packed ", 100))
		z.Close()
	})
	mux.HandleFunc("/hang", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/stall", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"stall"`)
		w.Header().Set("Content-Length", "1000000")
		w.Write(make([]byte, 100_000))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("/drip", func(w http.ResponseWriter, r *http.Request) {
		for tick := time.NewTicker(20 * time.Millisecond); r.Context().Err() == nil; <-tick.C {
			io.WriteString(w, "x")
			w.(http.Flusher).Flush()
		}
	})
	file("/dripping/{$}", "text/html", `<a href="/drip">d</a> <a href="/hello.txt">h</a>`)
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			w.Write(make([]byte, 1000))
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
	mux.HandleFunc("/wait30", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "30")
		http.Error(w, "later", http.StatusServiceUnavailable)
	})
	var mu sync.Mutex
	busy := make(map[string]int)
	mux.HandleFunc("/nothing", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/later", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "599")
		http.Error(w, "later", http.StatusServiceUnavailable)
	})
	mux.HandleFunc("/busy", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if busy[r.URL.RawQuery]++; busy[r.URL.RawQuery] < 3 {
			http.Error(w, "later", http.StatusServiceUnavailable)
			return
		}
		io.WriteString(w, "at last")
	})
	return mux
}

// sent responds with the method, the size and the content of the request body. A request for
// /sent/CODE is first redirected with that status code.
func sent(w http.ResponseWriter, r *http.Request) {
	var code int
	if _, err := fmt.Sscanf(r.URL.Path, "/sent/%d", &code); err == nil {
		http.Redirect(w, r, "/sent/", code)
		return
	}
	contentType, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	fmt.Fprintf(w, "%s, %d bytes, %s\n", r.Method, r.ContentLength, contentType)
	if contentType != "multipart/form-data" || r.ParseMultipartForm(1<<20) != nil {
		content, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%q\n", content)
		return
	}
	for name, values := range r.MultipartForm.Value {
		fmt.Fprintf(w, "%s=%q\n", name, values)
	}
	for name, files := range r.MultipartForm.File {
		fmt.Fprintf(w, "%s=%s %s %d\n", name, files[0].Filename, files[0].Header.Get("Content-Type"), files[0].Size)
	}
}

// articles returns the articles of a newsgroup: one per day, the last one with an attachment.
func articles() []nntpd.Article {
	return []nntpd.Article{
		{ID: "<1@news.example>", Text: "Subject: one\nMessage-ID: <1@news.example>\nDate: Sun, 01 Mar 2026 12:00:00 +0000\n\nfirst\n"},
		{ID: "<2@news.example>", Text: "Subject: two\nMessage-ID: <2@news.example>\nDate: Mon, 02 Mar 2026 12:00:00 +0000\n\nsecond\n"},
		{ID: "<3@news.example>", Text: "Subject: three\nMessage-ID: <3@news.example>\nDate: Tue, 03 Mar 2026 12:00:00 +0000\n" +
			"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n" +
			"--b\nContent-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: quoted-printable\n\ncaf=E9\n" +
			"--b\nContent-Type: application/octet-stream\nContent-Disposition: attachment; filename=\"../a\x1bfile.bin\"\n" +
			"Content-Transfer-Encoding: base64\n\nAAECAwQ=\n--b--\n"},
	}
}

// certificates returns PEM files for the client of a TLS site: the site's CA certificate, that of
// another CA, and a client certificate, both with its key in a separate file and in the same file.
func certificates(s *httptest.Server) map[string][]byte {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "joe"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	return map[string][]byte{
		"ca.pem":    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
		"other.pem": cert,
		"joe.pem":   cert,
		"joe.key":   private,
		"both.pem":  append(bytes.Clone(cert), private...),
		"empty.pem": nil,
	}
}

// newProxy starts a proxy that opens tunnels and retrieves URLs. Its own requests have a Via field.
func newProxy() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect {
			tunnel(w, r)
			return
		}
		r.Header.Set("Via", "1.1 testproxy")
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		w.WriteHeader(resp.StatusCode)
		io.Copy(w, resp.Body)
	}))
}

// tunnel connects to a host and copies data in both directions. It responds after hijacking the
// connection, so that the HTTP server cannot read data meant for the host.
func tunnel(w http.ResponseWriter, r *http.Request) {
	there, err := net.Dial("tcp", r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer there.Close()
	here, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer here.Close()
	io.WriteString(here, "HTTP/1.1 200 Connected\r\n\r\n")
	go func() {
		io.Copy(there, here)
		there.Close()
	}()
	io.Copy(here, there)
}

// socket echoes WebSocket messages. "bye" closes the session, "refuse" closes it with an error
// status, and "binary" returns a binary message.
func socket(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"quote"}})
	if err != nil {
		return
	}
	defer c.CloseNow()
	for {
		kind, text, err := c.Read(r.Context())
		switch {
		case err != nil:
			return
		case string(text) == "bye":
			c.Close(websocket.StatusNormalClosure, "")
			return
		case string(text) == "refuse":
			c.Close(websocket.StatusPolicyViolation, "not here")
			return
		case string(text) == "binary":
			kind, text = websocket.MessageBinary, []byte{0, 255}
		case c.Subprotocol() == "quote":
			text = fmt.Appendf(nil, "%v %q from %s", kind, text, r.Header.Get("X-Name"))
		}
		c.Write(r.Context(), kind, text)
	}
}

// newRaw starts a server whose greeting belongs to no protocol.
func newRaw() (*servers.Server, error) {
	return servers.New(servers.Config{}, func(c *servers.Conn) { c.Printf("what do you want?\r\n") })
}

// newQuoter starts a server that returns the first line it receives, quoted.
func newQuoter() (*servers.Server, error) {
	return servers.New(servers.Config{}, func(c *servers.Conn) {
		line, _ := bufio.NewReader(c).ReadString('\n')
		c.Printf("%q", line)
	})
}

// loadChat registers schemes that need no network: x-chat, a session that echoes input, prints the
// window size and ends after "bye", and x-form and x-text.
func loadChat(_ fetch.Env, reg *fetch.Registry) {
	reg.Register(fetch.Scheme{Name: "x-chat", Ops: []fetch.Op{fetch.OpDial}, Summary: "an echo for tests",
		Driver: fetch.DriverFunc(func(context.Context, *fetch.Request) (*fetch.Response, error) {
			r, w := io.Pipe()
			c := &chat{Reader: r, out: w, lines: make(chan string, 100), done: make(chan struct{})}
			go c.talk()
			return &fetch.Response{Meta: fetch.Meta{Kind: fetch.KindSession, Size: -1}, Body: c}, nil
		})})
	reg.Register(fetch.Scheme{Name: "x-form", Ops: []fetch.Op{fetch.OpGet}, Summary: "a form for tests",
		Driver: fetch.DriverFunc(openForm)})
	reg.Register(fetch.Scheme{Name: "x-text", Ops: []fetch.Op{fetch.OpGet}, Summary: "a listing without entries for tests",
		Driver: fetch.DriverFunc(openText)})
}

type chat struct {
	io.Reader
	out   *io.PipeWriter
	lines chan string
	done  chan struct{}
	once  sync.Once
}

// talk sends the lines to the reader. It runs in its own goroutine because a pipe has no buffer and
// Write must not block.
func (c *chat) talk() {
	fmt.Fprint(c.out, "welcome\r\n")
	for {
		select {
		case line := <-c.lines:
			fmt.Fprint(c.out, line)
			if strings.Contains(line, "bye") {
				c.out.Close()
				return
			}
		case <-c.done:
			c.out.CloseWithError(io.ErrClosedPipe)
			return
		}
	}
}

func (c *chat) Write(p []byte) (int, error) {
	select {
	case c.lines <- "you said " + string(p):
		return len(p), nil
	case <-c.done:
		return 0, io.ErrClosedPipe
	}
}

func (c *chat) Close() error {
	c.once.Do(func() { close(c.done) })
	return c.out.CloseWithError(io.ErrClosedPipe)
}

func (c *chat) Resize(columns, rows int) error {
	c.lines <- fmt.Sprintf("[%dx%d]\r\n", columns, rows)
	return nil
}

func (c *chat) Break() error {
	c.lines <- "[break]\r\n"
	return nil
}

func (c *chat) Status() string { return "chatting\x1b" }

// openForm requires a form with a name, a secret and a confirmation.
func openForm(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
	if len(req.Form["Name"]) == 0 || len(req.Form["Secret"]) == 0 || len(req.Form["Sure"]) == 0 {
		return nil, &fetch.Error{Code: fetch.ErrNeedForm, Err: &fetch.FormError{Form: fetch.Form{Title: "A form", Fields: []fetch.Field{
			{Name: "Please fill in", Kind: fetch.FieldNote},
			{Name: "Name", Kind: fetch.FieldLine, Default: []string{"nobody"}},
			{Name: "Secret", Kind: fetch.FieldSecret},
			{Name: "Sure", Kind: fetch.FieldYesNo},
			{Name: "Colour", Kind: fetch.FieldChoice, Choices: []string{"red", "blue"}, Default: []string{"red"}},
			{Name: "Story", Kind: fetch.FieldLines, Default: []string{"none"}},
		}}}}
	}
	text := fmt.Sprintf("%v\n", req.Form)
	return &fetch.Response{Meta: fetch.Meta{Size: int64(len(text)), Name: "form.txt"}, Body: io.NopCloser(strings.NewReader(text))}, nil
}

// openText returns a listing without entries: text or, for the path "binary", control characters.
func openText(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
	text := "plain text\n"
	if req.URL.Path() == "binary" {
		text = "\x1b]0;title\x07\x00"
	}
	return &fetch.Response{Meta: fetch.Meta{Kind: fetch.KindListing, Size: int64(len(text))}, Body: io.NopCloser(strings.NewReader(text))}, nil
}

// newStore starts a server with the API of Amazon S3 and two buckets with one object. Requests for the
// second must be signed.
func newStore() *httptest.Server { return httptest.NewServer(http.HandlerFunc(serveObjects)) }

func serveObjects(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("ETag", `"b1946ac92492d2347c6235b4d2611184"`)
	w.Header().Set("Last-Modified", modified.UTC().Format(http.TimeFormat))
	bucket, key, _ := strings.Cut(r.URL.Path[1:], "/")
	switch {
	case bucket != "public" && !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=AKID/"):
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>")
	case key == "" && r.URL.Query().Get("prefix") == "":
		io.WriteString(w, "<ListBucketResult><CommonPrefixes><Prefix>dir/</Prefix></CommonPrefixes><IsTruncated>false</IsTruncated></ListBucketResult>")
	case key == "":
		io.WriteString(w, "<ListBucketResult><Contents><Key>dir/hello.txt</Key><Size>6</Size><LastModified>"+
			modified.UTC().Format(time.RFC3339)+"</LastModified></Contents><IsTruncated>false</IsTruncated></ListBucketResult>")
	case key == "dir/hello.txt":
		http.ServeContent(w, r, key, modified, strings.NewReader("hello\n"))
	default:
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, "<Error><Code>NoSuchKey</Code><Message>The key does not exist.</Message></Error>")
	}
}
