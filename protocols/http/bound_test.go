package http_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	web "github.com/urlget/urlget/protocols/http"
)

// A connection whose request had a login of a scheme that may belong to the connection serves no
// other request, and such a request is not one of the streams of a shared connection.
func TestLoginsOfAConnectionEndWithIt(t *testing.T) {
	t.Parallel()
	server := func(tls bool) *httptest.Server {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			io.WriteString(w, r.RemoteAddr+" "+r.Proto)
		}))
		if s.EnableHTTP2 = tls; tls {
			s.StartTLS()
		} else {
			s.Start()
		}
		t.Cleanup(s.Close)
		return s
	}
	plain, secure := server(false), server(true)
	for _, tt := range []struct {
		name, value string
		bound       bool
	}{
		{"Authorization", "NTLM TlRMTVNTUAAB", true},
		{"Authorization", "ntlm TlRMTVNTUAAB", true},
		{"Authorization", "Negotiate YIIB", true},
		{"Authorization", "Kerberos YIIB", true}, // another name for it
		{"Authorization", "Unknown x", true},
		{"Authorization", "x", true},
		{"Proxy-Authorization", "NTLM TlRMTVNTUAAB", true},
		{"Authorization", "Basic YTpi", false},
		{"Authorization", "bearer x", false},
		{"Authorization", `Digest username="a"`, false},
		{"Authorization", "token x", false},
		{"Authorization", "AWS4-HMAC-SHA256 Credential=x", false},
		{"Proxy-Authorization", "Basic YTpi", false},
		{"X-Api-Key", "NTLM", false},
	} {
		for _, s := range []*httptest.Server{plain, secure} {
			for _, method := range []string{"GET", "POST"} {
				c := fetch.New(&fetch.Options{TLS: s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()}, web.Load)
				send := func(method string, h textproto.MIMEHeader) string {
					req := &fetch.Request{URL: uri.MustParse(s.URL), Header: h, Method: method}
					if method == "POST" {
						req.Body, req.ContentLength = io.NopCloser(strings.NewReader("x")), 1
					}
					resp, err := c.Do(t.Context(), req)
					if err != nil {
						t.Fatal(err)
					}
					defer resp.Body.Close()
					text, err := io.ReadAll(resp.Body)
					if err != nil {
						t.Fatal(err)
					}
					return string(text)
				}
				send(method, nil)
				login := send(method, textproto.MIMEHeader{tt.name: {tt.value}})
				after := send(method, nil)
				if (login == after) == tt.bound {
					t.Errorf("%s %s, %s: %s: the connections were %q and %q", method, s.URL[:5], tt.name, tt.value, login, after)
				}
				if s == secure && strings.HasSuffix(login, "HTTP/2.0") == tt.bound {
					t.Errorf("%s: sent over %s", tt.value, login)
				}
				c.Close()
			}
		}
	}
}
