package gemini

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/geminid"
	"github.com/urlget/urlget/protocols/internal/smallnet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	t.Parallel()
	_, trusting := servers.Certificate()
	for name, tt := range map[string]struct {
		load fetch.Loader
		tls  *tls.Config
	}{
		"first use":   {With(Options{Certificates: filepath.Join(t.TempDir(), "known")}), nil},
		"authorities": {Load, trusting},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fetchtest.Run(t, fetchtest.Harness{
				Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
					s := geminid.Start(t, geminid.Options{Tree: tree})
					return fetchtest.Site{
						Load:    tt.load,
						URL:     func(name string) string { return fileURL(s, tree, name) },
						Log:     s.Log,
						Fault:   s.Fail,
						Can:     s.Can,
						Escaped: true,
					}
				},
				Options: &fetch.Options{TLS: tt.tls},
			})
		})
	}
}

// fileURL returns the URL of a file or directory.
func fileURL(s *servers.Server, tree fs.FS, name string) string {
	if name == "." {
		return s.URL + "/"
	}
	var segments []string
	for segment := range strings.SplitSeq(name, "/") {
		segments = append(segments, uri.Escape(segment))
	}
	u := s.URL + "/" + strings.Join(segments, "/")
	if info, err := fs.Stat(tree, name); err == nil && info.IsDir() {
		u += "/"
	}
	return u
}

func TestRequests(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxURL-len("gemini://h.example/"))
	c := drive.Client(t, nil, Load)
	requests := map[string]string{
		"gemini://h.example":                 "gemini://h.example/",
		"gemini://h.example?q":               "gemini://h.example/?q",
		"gemini://h.example/a/b%20c?x%20y#z": "gemini://h.example/a/b%20c?x%20y",
		"gemini://H.Example:1965/":           "gemini://h.example/",
		"gemini://h.example:1966/%0D%0A":     "gemini://h.example:1966/%0D%0A",
		"gemini://[::1]/":                    "gemini://[::1]/",
		"gemini://bücher.example/é":          "gemini://xn--bcher-kva.example/%C3%A9",
		"gemini://h.example/" + long:         "gemini://h.example/" + long,
		"gemini://h.example/" + long + "y":   "",
		"gemini://joe@h.example/":            "",
		"gemini://joe:secret@h.example/":     "",
		"gemini:x":                           "",
		"gemini:///x":                        "",
	}
	for url, request := range requests {
		if request != "" {
			requests[url] = `start TLS, and compare the certificate with the stored one; send "` + request + `"`
		}
	}
	fetchtest.RunExplain(t, c, requests)
}

func TestStatuses(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]fetch.Error{
		"10 Your name?":    {Code: fetch.ErrNeedSearch, Reply: fetch.Reply{Code: 10, Text: "Your name?"}, Hint: "add the words after a question mark: $URL?words"},
		"12 What?":         {Code: fetch.ErrNeedSearch, Reply: fetch.Reply{Code: 12, Text: "What?"}, Hint: "add the words after a question mark: $URL?words"},
		"11 Word?":         {Code: fetch.ErrNeedForm, Reply: fetch.Reply{Code: 11, Text: "Word?"}, Hint: "answer it"},
		"30 http://[":      {Code: fetch.ErrRedirect, Reply: fetch.Reply{Code: 30, Text: "http://["}},
		"30 ":              {Code: fetch.ErrRedirect, Reply: fetch.Reply{Code: 30}},
		"40 Later":         {Code: fetch.ErrServer, Retry: true, Reply: fetch.Reply{Code: 40, Text: "Later"}},
		"41 Full":          {Code: fetch.ErrBusy, Retry: true, Reply: fetch.Reply{Code: 41, Text: "Full"}},
		"42 CGI":           {Code: fetch.ErrServer, Retry: true, Reply: fetch.Reply{Code: 42, Text: "CGI"}},
		"43 Proxy":         {Code: fetch.ErrServer, Retry: true, Reply: fetch.Reply{Code: 43, Text: "Proxy"}},
		"44 12":            {Code: fetch.ErrBusy, Retry: true, RetryAfter: 12 * time.Second, Reply: fetch.Reply{Code: 44, Text: "12"}},
		"44 soon":          {Code: fetch.ErrBusy, Retry: true, Reply: fetch.Reply{Code: 44, Text: "soon"}},
		"44 9999999999999": {Code: fetch.ErrBusy, Retry: true, RetryAfter: maxDelay * time.Second, Reply: fetch.Reply{Code: 44, Text: "9999999999999"}},
		"50 No":            {Code: fetch.ErrServer, Reply: fetch.Reply{Code: 50, Text: "No"}},
		"51 Nothing":       {Code: fetch.ErrNotFound, Reply: fetch.Reply{Code: 51, Text: "Nothing"}},
		"52":               {Code: fetch.ErrNotFound, Reply: fetch.Reply{Code: 52}},
		"53 No proxy":      {Code: fetch.ErrRefused, Reply: fetch.Reply{Code: 53, Text: "No proxy"}},
		"59 Bad":           {Code: fetch.ErrRefused, Reply: fetch.Reply{Code: 59, Text: "Bad"}},
		"60 Who are you?":  {Code: fetch.ErrAuth, Reply: fetch.Reply{Code: 60, Text: "Who are you?"}, Hint: "use a client certificate that the server accepts"},
		"61 Not you":       {Code: fetch.ErrAuth, Reply: fetch.Reply{Code: 61, Text: "Not you"}, Hint: "use another client certificate"},
		"62 Expired":       {Code: fetch.ErrAuth, Reply: fetch.Reply{Code: 62, Text: "Expired"}, Hint: "use another client certificate; the validity period of this one may be wrong"},
		"69 ?":             {Code: fetch.ErrAuth, Reply: fetch.Reply{Code: 69, Text: "?"}},
		"70 What":          {Code: fetch.ErrProtocol},
		"200 OK":           {Code: fetch.ErrProtocol},
		"2 text/plain":     {Code: fetch.ErrProtocol},
		"20\ttext/plain":   {Code: fetch.ErrProtocol},
		"HTTP/1.1 200 OK":  {Code: fetch.ErrProtocol},
		"":                 {Code: fetch.ErrProtocol},
		"20 nonsense":      {Code: fetch.ErrProtocol},
		"51 a\x00b":        {Code: fetch.ErrProtocol},
		"50 " + strings.Repeat("x", smallnet.MaxText+1): {Code: fetch.ErrProtocol},
	} {
		t.Run(header[:min(len(header), 20)], func(t *testing.T) {
			t.Parallel()
			s := geminid.Start(t, geminid.Options{Replies: map[string]string{"/": header}})
			_, err := drive.Get(t, drive.Client(t, nil, Load), s.URL+"/")
			var e *fetch.Error
			if !errors.As(err, &e) || e.Code != want.Code || e.Reply != want.Reply || e.Retry != want.Retry ||
				e.RetryAfter != want.RetryAfter || e.Hint != strings.ReplaceAll(want.Hint, "$URL", s.URL+"/") {
				t.Errorf("got %#v, want %#v", e, want)
			}
		})
	}
}

func TestMediaTypes(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"20":                         "text/gemini; charset=utf-8",
		"20 ":                        "text/gemini; charset=utf-8",
		"20 text/gemini; lang=de":    "text/gemini; lang=de",
		"21 text/plain;charset=x;;a": "text/plain;charset=x;;a",
		"20 image/png":               "image/png",
	} {
		s := geminid.Start(t, geminid.Options{Replies: map[string]string{"/a%20b.gmi": header + "\r\nbody"}})
		c := drive.Client(t, nil, Load)
		resp, err := c.Get(t.Context(), s.URL+"/a%20b.gmi")
		if err != nil {
			t.Errorf("%q: %v", header, err)
			continue
		}
		body, err := drive.Read(resp, nil)
		if body != "body" || err != nil || resp.ContentType != want || resp.Name != "a b.gmi" || resp.Framing != fetch.FramedByProtocol {
			t.Errorf("%q: %q, %v, %+v", header, body, err, resp.Meta)
		}
		if meta, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(s.URL + "/a%20b.gmi")}); err != nil || meta.ContentType != want {
			t.Errorf("%q: Stat: %+v, %v", header, meta, err)
		}
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	s := geminid.Start(t, geminid.Options{Replies: map[string]string{
		"/a/old": "31 ../b/new?x", "/b/new?x": "20 text/plain\r\nnew", "/away": "30 gopher://h.example/",
	}})
	c := drive.Client(t, nil, Load)
	resp, err := c.Get(t.Context(), s.URL+"/a/old")
	if got, err := drive.Read(resp, err); got != "new" || err != nil || resp.URL.String() != s.URL+"/b/new?x" {
		t.Errorf("got %q, %v", got, err)
	}
	for target, path := range map[string]string{
		"/é": "/%C3%A9", "/a b": "/a%20b", "/?é b": "/?%C3%A9%20b", "/100%": "/100%25", "/%C3%A9/ü": "/%C3%A9/%C3%BC",
	} {
		s := geminid.Start(t, geminid.Options{Replies: map[string]string{"/": "31 " + target, path: "20 text/plain\r\nnew"}})
		drive.Gets(t, c, s.URL+"/", "new")
	}
	if _, err := drive.Get(t, c, s.URL+"/away"); fetch.CodeOf(err) != fetch.ErrScheme && fetch.CodeOf(err) != fetch.ErrPolicy {
		t.Errorf("a redirect to another protocol: %v", err)
	}
}

func TestInput(t *testing.T) {
	t.Parallel()
	s := geminid.Start(t, geminid.Options{Replies: map[string]string{
		"/search": "10 For what?", "/search?two%20words": "20 text/plain\r\nfound",
		"/secret": "11 Word?", "/secret?open%20sesame": "30 /inside", "/inside": "20 text/plain\r\ntreasure",
	}})
	var seen strings.Builder
	c := drive.Client(t, &fetch.Options{Recorder: fetch.RecordLines(func(_ bool, line string) { seen.WriteString(line + "\n") })}, Load)
	drive.Gets(t, c, s.URL+"/search?two%20words", "found") // search words in the URL
	for url, tt := range map[string]struct {
		form map[string][]string
		want string
	}{
		"/search": {map[string][]string{"For what?": {"two words"}}, "found"},
		"/secret": {map[string][]string{"Word?": {"open sesame"}}, "treasure"},
	} {
		got, err := drive.Read(c.Do(t.Context(), &fetch.Request{URL: uri.MustParse(s.URL + url), Form: tt.form}))
		if got != tt.want || err != nil {
			t.Errorf("%s: %q, %v", url, got, err)
		}
	}
	if !strings.Contains(seen.String(), "/secret?********") || strings.Contains(seen.String(), "sesame") {
		t.Errorf("the trace is %q", seen.String())
	}
	var form *fetch.FormError
	_, err := drive.Get(t, c, s.URL+"/secret")
	if !errors.As(err, &form) || len(form.Form.Fields) != 1 || form.Form.Fields[0].Name != "Word?" || form.Form.Fields[0].Kind != fetch.FieldSecret {
		t.Errorf("a question for a secret: %v", err)
	}
	long := map[string][]string{"Word?": {strings.Repeat("x", maxURL)}}
	if _, err := drive.Read(c.Do(t.Context(), &fetch.Request{URL: uri.MustParse(s.URL + "/secret"), Form: long})); fetch.CodeOf(err) != fetch.ErrURL {
		t.Errorf("an answer that is too long: %v", err)
	}
}

func TestMissingCloseNotifyIsTruncation(t *testing.T) {
	t.Parallel()
	s := geminid.Start(t, geminid.Options{Tree: fstest.MapFS{"f": {Data: []byte("0123456789")}}})
	c := drive.Client(t, nil, Load)
	s.Arm(servers.Failure{Fault: servers.Cut, After: 10}) // the complete content without close_notify
	drive.Fails(t, c, s.URL+"/f", fetch.ErrTruncated)
}

// certificate returns a new certificate that expires after valid.
func certificate(t *testing.T, valid time.Duration) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "client"},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(valid)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// changingServer returns a server that uses the certificate first, or that of the last call of use.
func changingServer(t *testing.T, first tls.Certificate) (s *servers.Server, use func(tls.Certificate)) {
	now := make(chan tls.Certificate, 1)
	now <- first
	s = geminid.Start(t, geminid.Options{Replies: map[string]string{"/": "20 text/plain\r\nhello"},
		TLS: &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			cert := <-now
			now <- cert
			return &cert, nil
		}}})
	return s, func(cert tls.Certificate) { <-now; now <- cert }
}

func TestFirstCertificateIsStored(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "dir", "known")
	first, second := certificate(t, time.Hour), certificate(t, time.Hour)
	s, use := changingServer(t, first)
	get := func() error {
		c := fetch.New(nil, With(Options{Certificates: file})) // a separate program
		defer c.Close()
		_, err := drive.Get(t, c, s.URL+"/")
		return err
	}
	for range 2 {
		if err := get(); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil || strings.Count(string(text), "\n") != 1 || !strings.HasPrefix(string(text), s.Addr+" sha256 ") {
		t.Fatalf("the file is %q, %v", text, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v", info.Mode(), err)
	}
	requests := len(s.Log())
	use(second)
	err = get()
	var e *fetch.Error
	leaf, _ := x509.ParseCertificate(second.Certificate[0])
	if !errors.As(err, &e) || e.Code != fetch.ErrTLS || e.Retry || !strings.Contains(e.Hint, file) ||
		!strings.Contains(err.Error(), strings.Fields(string(text))[2]) || !strings.Contains(err.Error(), pinOf(leaf).fingerprint) {
		t.Errorf("a changed certificate: %v, hint %q", err, e.Hint)
	}
	if len(s.Log()) != requests {
		t.Errorf("the server got %q", s.Log()[requests:])
	}
	use(first)
	if err := get(); err != nil {
		t.Errorf("the first certificate again: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	use(second)
	if err := get(); err != nil {
		t.Errorf("after the file was removed: %v", err)
	}
}

func TestExpiredCertificateMayChange(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{"file": filepath.Join(t.TempDir(), "known"), "memory": ""} {
		s, use := changingServer(t, certificate(t, -time.Hour))
		c := drive.Client(t, nil, With(Options{Certificates: file}))
		for i, next := range []time.Duration{-time.Hour, time.Hour, time.Hour} {
			if _, err := drive.Get(t, c, s.URL+"/"); err != nil {
				t.Errorf("%s, certificate %d: %v", name, i, err)
			}
			use(certificate(t, next))
		}
		if _, err := drive.Get(t, c, s.URL+"/"); fetch.CodeOf(err) != fetch.ErrTLS {
			t.Errorf("%s: a valid certificate has changed: %v", name, err)
		}
	}
}

func TestCertificateFile(t *testing.T) {
	t.Parallel()
	s, _ := changingServer(t, certificate(t, time.Hour))
	for text, want := range map[string]fetch.Code{
		"# a comment\n\n":                 "",
		"cut off":                         "",
		"h.example:1965 sha256 00 2026\n": fetch.ErrFile,
		"h.example:1965\n":                fetch.ErrFile,
		s.Addr + " sha256 " + strings.Repeat("zz", 32) + " 2026-01-01T00:00:00Z\n": fetch.ErrFile,
		s.Addr + " sha256 " + strings.Repeat("00", 32) + " 2126-01-01T00:00:00Z\n": fetch.ErrTLS,
		s.Addr + " sha256 " + strings.Repeat("00", 32) + " 2026-01-01T00:00:00Z\n": "",
	} {
		file := filepath.Join(t.TempDir(), "known")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c := drive.Client(t, nil, With(Options{Certificates: file}))
		if _, err := drive.Get(t, c, s.URL+"/"); fetch.CodeOf(err) != want {
			t.Errorf("%q: error %v, want class %q", text, err, want)
		}
		if after, _ := os.ReadFile(file); want == "" && (!strings.HasSuffix(string(after), "\n") || !strings.Contains(string(after), "\n"+s.Addr) && !strings.HasPrefix(string(after), s.Addr)) {
			t.Errorf("%q became %q", text, after)
		}
	}
	t.Run("not writable", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		s, use := changingServer(t, certificate(t, time.Hour))
		c := drive.Client(t, nil, Load)
		k := &known{file: filepath.Join(filepath.Dir(file), "none", "known")}
		if err := os.WriteFile(filepath.Dir(k.file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		leaf, _ := x509.ParseCertificate(certificate(t, time.Hour).Certificate[0])
		other, _ := x509.ParseCertificate(certificate(t, time.Hour).Certificate[0])
		k.remember("h:1", leaf)
		if _, ok := k.pins["h:1"]; ok && k.check("h:1", other) == nil {
			t.Error("a pin that could not be written was dropped")
		}
		drive.Get(t, c, s.URL+"/")
		use(certificate(t, time.Hour))
		drive.Fails(t, c, s.URL+"/", fetch.ErrTLS) // without a file
	})
}

func TestNothingIsStoredWithoutTrustOnFirstUse(t *testing.T) {
	t.Parallel()
	s, use := changingServer(t, certificate(t, time.Hour))
	c := drive.Client(t, &fetch.Options{TLS: &tls.Config{InsecureSkipVerify: true}}, Load)
	for range 2 {
		drive.MustGet(t, c, s.URL+"/")
		use(certificate(t, time.Hour))
	}
	strict := drive.Client(t, &fetch.Options{TLS: &tls.Config{RootCAs: x509.NewCertPool()}}, Load)
	drive.Fails(t, strict, s.URL+"/", fetch.ErrTLS) // authorities that did not issue the certificate
}

func TestClientCertificatesAreNotSentToOtherOrigins(t *testing.T) {
	t.Parallel()
	shown := make(chan int, 1)
	cert, _ := servers.Certificate()
	cert.ClientAuth = tls.RequestClientCert
	s := geminid.Start(t, geminid.Options{Replies: map[string]string{"/": "20 text/plain\r\nhello"}, TLS: cert,
		Seen: func(state tls.ConnectionState) { shown <- len(state.PeerCertificates) }})
	c := drive.Client(t, &fetch.Options{TLS: &tls.Config{Certificates: []tls.Certificate{certificate(t, time.Hour)}}}, Load)
	for from, want := range map[string]int{"": 1, "gemini://127.0.0.1:1/": 0} {
		req := &fetch.Request{URL: uri.MustParse(s.URL + "/")}
		if from != "" {
			req.From = uri.MustParse(from)
		}
		if _, err := drive.Read(c.Do(t.Context(), req)); err != nil {
			t.Fatal(err)
		}
		if got := <-shown; got != want {
			t.Errorf("from %q: %d certificates were shown, want %d", from, got, want)
		}
	}
}

// TestPageLinks lists a page. Package smallnet tests the parsing of its lines.
func TestPageLinks(t *testing.T) {
	t.Parallel()
	const page = "# Title\n=> a.gmi A page\n=: /post A prompt is one of Spartan alone\n=> ../"
	s := geminid.Start(t, geminid.Options{Replies: map[string]string{"/d/p": "20 text/gemini\r\n" + page, "/text": "20 text/plain\r\n" + page}})
	c := drive.Client(t, nil, Load)
	var got []string
	for _, e := range drive.MustList(t, c, s.URL+"/d/p") {
		got = append(got, e.Kind.String()+" "+e.Name+" "+e.URL.String())
	}
	if want := []string{"object A page " + s.URL + "/d/a.gmi", "listing ../ " + s.URL + "/"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, err := range c.List(t.Context(), s.URL+"/text") {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("the links of plain text: %v", err)
		}
	}
	resp, err := c.Get(t.Context(), s.URL+"/d/p")
	if got, err := drive.Read(resp, err); got != page || err != nil || resp.Kind != fetch.KindObject {
		t.Errorf("the page: %q, %v", got, err)
	}
}

func FuzzHeader(f *testing.F) {
	f.Add("20 text/gemini; charset=utf-8")
	f.Add("44 10")
	f.Fuzz(func(t *testing.T, line string) {
		status, meta, err := headerFormat.Parse(line)
		if err == nil && (status < 10 || status > 69 || len(meta) > smallnet.MaxText || strings.ContainsAny(meta, "\r\n\x00")) {
			t.Errorf("%q: %d %q", line, status, meta)
		}
	})
}

func FuzzKnown(f *testing.F) {
	f.Add([]byte("# x\nh:1 sha256 "+strings.Repeat("0a", 32)+" 2030-01-01T00:00:00Z\nrest"), "h:1")
	f.Fuzz(func(t *testing.T, text []byte, addr string) {
		if p, ok, err := lookUp(text, addr); ok && (err != nil || len(p.fingerprint) != 64) {
			t.Errorf("%+v, %v", p, err)
		}
	})
}
