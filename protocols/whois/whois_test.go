package whois_test

import (
	"io/fs"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/queryd"
	"github.com/urlget/urlget/protocols/whois"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start starts a server that sends the same response to all queries.
func start(t testing.TB, reply func() string) *servers.Server {
	t.Helper()
	return queryd.Start(t, queryd.Options{Scheme: "whois", Reply: func(string) string { return reply() }})
}

func constant(text string) func() string { return func() string { return text } }

func TestConformance(t *testing.T) {
	t.Parallel()
	fetchtest.Run(t, fetchtest.Harness{
		Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
			s := queryd.Start(t, queryd.Options{Scheme: "whois", Reply: func(query string) string {
				data, _ := fs.ReadFile(tree, query)
				return string(data)
			}})
			return fetchtest.Site{
				Load: whois.Load,
				URL: func(name string) string {
					if _, err := fs.ReadFile(tree, name); err != nil {
						return "" // there are no directories, and "no match" is a text
					}
					return s.URL + "/" + escape(name)
				},
				Log:   s.Log,
				Fault: s.Fail,
			}
		},
		Skip: map[string]string{
			"Cut":   "the end of a whois response is the end of the connection, so truncation cannot be detected",
			"Noise": "any text is a response",
		},
	})
}

func escape(s string) string {
	var b strings.Builder
	const hex = "0123456789ABCDEF"
	for i := range len(s) {
		if c := s[i]; c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

func TestReferral(t *testing.T) {
	t.Parallel()
	last := start(t, constant("domain: EXAMPLE\r\nwhois server: "+"\r\n"))
	host, port, _ := net.SplitHostPort(last.Addr)
	for name, line := range map[string]string{
		"as IANA says it":         "refer:        " + last.Addr,
		"as ARIN says it":         "ReferralServer:  whois://" + last.Addr + "/",
		"as registries say it":    "   Registrar WHOIS Server: " + last.Addr + "\r\n",
		"with a host and a port":  "whois: " + net.JoinHostPort(host, port),
		"behind a useless one":    "whois: ftp://x:1\nrefer: " + last.Addr,
		"to RWhois":               "ReferralServer: rwhois://" + last.Addr + "/auth-area=h.example",
		"of RWhois":               "%rwhois V-1.5 h.example\n%referral rwhois://" + last.Addr + "/auth-area=.\n%ok",
		"and one to a wrong name": "refer: not a host\nrefer: " + last.Addr,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, constant(line+"\n"))
			c := drive.Client(t, nil, whois.Load)
			if got, err := drive.Get(t, c, "whois://"+s.Addr+"/example.org"); err != nil || !strings.HasPrefix(got, "domain: EXAMPLE") {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// TestReferralHosts checks the servers of referrals that are not reachable in tests.
func TestReferralHosts(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"refer: whois.invalid.":                          "whois://whois.invalid/x.example",
		"refer: whois://whois.invalid./":                 "whois://whois.invalid/x.example",
		"ReferralServer: rwhois://rwhois.invalid":        "whois://rwhois.invalid:4321/x.example",
		"ReferralServer: rwhois://rwhois.invalid:43/a=b": "whois://rwhois.invalid/x.example",
	} {
		s := start(t, constant(line+"\n"))
		resp, err := drive.Client(t, nil, whois.Load).Get(t.Context(), "whois://"+s.Addr+"/x.example")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := strings.Join(resp.Header["Referral"], " "); strings.Replace(got, ":43/", "/", 1) != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

func TestDomainsAreSentInASCII(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"b%C3%BCcher.example": "xn--bcher-kva.example", "Example.ORG": "Example.ORG", "192.0.2.1": "192.0.2.1",
		"example.%E4%B8%AD%E5%9B%BD": "example.xn--fiqs8s", "J%C3%BCrgen": "Jürgen", "-T%20dn%20b%C3%BCcher.example": "-T dn bücher.example",
	} {
		s := start(t, constant("ok"))
		drive.Gets(t, drive.Client(t, nil, whois.Load), "whois://"+s.Addr+"/"+query, "ok")
		if log := s.Log(); len(log) != 1 || log[0] != want {
			t.Errorf("%s: sent %q, want %q", query, log, want)
		}
	}
}

func TestFailedReferralReturnsOriginal(t *testing.T) {
	t.Parallel()
	var self *servers.Server
	ready := make(chan struct{})
	self = start(t, func() string { <-ready; return "whois: " + self.Addr + "\nthe record\n" })
	close(ready)
	for name, text := range map[string]string{
		"to itself":             "",
		"to a closed port":      "refer: 127.0.0.1:1025\nthe record\n",
		"to a forbidden port":   "refer: 127.0.0.1:25\nthe record\n",
		"to a name of nobody's": "refer: nobody.invalid\nthe record\n",
	} {
		addr := self.Addr
		if text != "" {
			addr = start(t, constant(text)).Addr
		}
		c := fetch.New(nil, whois.Load)
		got, err := drive.Get(t, c, "whois://"+addr+"/x")
		c.Close()
		if err != nil || !strings.Contains(got, "the record") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestReferralLoopEnds(t *testing.T) {
	t.Parallel()
	var a, b *servers.Server
	ready := make(chan struct{})
	a = start(t, func() string { <-ready; return "refer: " + b.Addr + "\n" })
	b = start(t, func() string { <-ready; return "refer: " + a.Addr + "\n" })
	close(ready)
	c := drive.Client(t, &fetch.Options{MaxRedirects: 4}, whois.Load)
	drive.MustGet(t, c, "whois://"+a.Addr+"/x")
	if n := len(a.Log()) + len(b.Log()); n != 5 {
		t.Errorf("%d queries, want 5", n)
	}
}

func TestInvalidURLs(t *testing.T) {
	t.Parallel()
	c := drive.Client(t, &fetch.Options{Timeouts: fetch.Timeouts{Connect: time.Second}}, whois.Load)
	for url, code := range map[string]fetch.Code{
		"whois://127.0.0.1/":           fetch.ErrNeedSearch,
		"whois:example.org":            fetch.ErrURL,
		"whois://127.0.0.1:1025/a%0Ab": fetch.ErrURL,
	} {
		drive.Fails(t, c, url, code)
	}
}

// TestRWhoisErrors checks the error lines of RWhois servers, which accept whois queries.
func TestRWhoisErrors(t *testing.T) {
	t.Parallel()
	const banner = "%rwhois V-1.5:003fff:00 rwhois.example (by Network Solutions, Inc. V-1.5.9.5)\n"
	for reply, want := range map[string]fetch.Code{
		banner + "%error 230 No Objects Found\n":          fetch.ErrNotFound,
		banner + "%error 331 Invalid Query Syntax\n":      fetch.ErrRefused,
		banner + "%error 400 Directive Not Available\n":   fetch.ErrServer,
		banner + "network:ID:NET-1\n\n%ok\n":              "",
		"%error 230 No Objects Found\n":                   "", // not an RWhois server
		banner + "network:Comment:%error 230 is a text\n": "",
	} {
		s := start(t, constant(reply))
		c := fetch.New(nil, whois.Load)
		if text, err := drive.Get(t, c, s.URL+"/x"); fetch.CodeOf(err) != want || want == "" && text != reply {
			t.Errorf("%q: %q, %v, want class %q", reply, text, err, want)
		}
		c.Close()
	}
}
