package ldap

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"testing"

	ber "github.com/go-asn1-ber/asn1-ber"
	"github.com/go-ldap/ldap/v3"
	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func client(t testing.TB, opts Options) *fetch.Client {
	t.Helper()
	c := drive.Client(t, &fetch.Options{TLS: clientTLS}, With(opts))
	return c
}

func list(t testing.TB, c *fetch.Client, url string) (lines []string, err error) {
	entries, err := drive.List(t, c, url)
	for _, e := range entries {
		lines = append(lines, fmt.Sprintf("%v %s %s", e.Kind, e.Name, e.URL.URLPath()))
	}
	return lines, err
}

// respond returns a finder that sends the same operations for every search.
func respond(ops ...*ber.Packet) func(search, func(*ber.Packet)) {
	return func(_ search, send func(*ber.Packet)) {
		for _, op := range ops {
			send(op)
		}
	}
}

func TestLDIF(t *testing.T) {
	t.Parallel()
	s := start(t, false, respond(
		searchEntry("cn=Jane Doe,dc=t", "cn", "Jane Doe", "description", "Grüße", "jpegPhoto", "\x00\x01", "mail", "", "sn;lang-de", strings.Repeat("x", 150)),
		searchReference("ldap://other/dc=u\nmail: x"),
		searchEntry("cn=<b>,dc=t", "o", " x", "o", ":x", "o", "x "),
		searchDone(0)))
	got, err := drive.Get(t, client(t, Options{}), "ldap://"+s.Addr+"/dc=t?cn,%6Dail?sub?(cn=*)")
	want := "version: 1\n\ndn: cn=Jane Doe,dc=t\ncn: Jane Doe\ndescription:: R3LDvMOfZQ==\njpegPhoto:: AAE=\nmail:\n" +
		"sn;lang-de: " + strings.Repeat("x", 64) + "\n " + strings.Repeat("x", 75) + "\n " + strings.Repeat("x", 11) + "\n\n" +
		"# search reference: ldap://other/dc=u\\nmail: x\n\ndn: cn=<b>,dc=t\no:: IHg=\no:: Ong=\no:: eCA=\n"
	if err != nil || got != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
	}
	if log := strings.Join(s.Log(), "\n"); log != "search dc=t 2 [cn mail]" {
		t.Errorf("log %q", log)
	}
}

func TestListings(t *testing.T) {
	t.Parallel()
	s := start(t, false, func(q search, send func(*ber.Packet)) {
		if q.dn == "" {
			send(searchEntry("", "namingContexts", "dc=a", "namingContexts", "dc=b"))
		} else {
			send(searchEntry("ou=x/y,DC=t", "hasSubordinates", "TRUE"))
			send(searchEntry("cn=a\\, b,dc=t", "hasSubordinates", "FALSE"))
			send(searchReference("ldap://other/dc=u"))
			send(searchEntry("dc=elsewhere"))
		}
		send(searchDone(0))
	})
	c := client(t, Options{})
	for path, want := range map[string]string{
		"":                "listing dc=a dc%3Da\nlisting dc=b dc%3Db",
		"dc=t":            "listing ou=x/y ou%3Dx%2Fy,DC%3Dt\nobject cn=a\\, b cn%3Da%5C,%20b,dc%3Dt\nlisting ldap://other/dc=u dc=u\nlisting dc=elsewhere dc%3Delsewhere",
		"dc=t??sub?(a=b)": "listing ou=x/y ou%3Dx%2Fy,DC%3Dt\nobject cn=a\\, b cn%3Da%5C,%20b,dc%3Dt\nlisting ldap://other/dc=u dc=u\nlisting dc=elsewhere dc%3Delsewhere",
	} {
		got, err := list(t, c, "ldap://"+s.Addr+"/"+path)
		if err != nil || strings.Join(got, "\n") != want {
			t.Errorf("%q: %v\n%s\nwant\n%s", path, err, strings.Join(got, "\n"), want)
		}
	}
}

func TestResultCodes(t *testing.T) {
	t.Parallel()
	for code, want := range map[int64]fetch.Code{
		1: fetch.ErrServer, 2: fetch.ErrProtocol, 3: fetch.ErrTruncated, 4: fetch.ErrTruncated, 8: fetch.ErrAuth,
		10: fetch.ErrRedirect, 11: fetch.ErrTruncated, 13: fetch.ErrAuth, 32: fetch.ErrNotFound, 34: fetch.ErrURL,
		49: fetch.ErrAuth, 50: fetch.ErrRefused, 51: fetch.ErrBusy, 52: fetch.ErrBusy, 80: fetch.ErrServer, 70000: fetch.ErrServer,
	} {
		for name, ops := range map[string][]*ber.Packet{
			"at once":        {searchDone(code)},
			"after an entry": {searchEntry("dc=t", "o", "x"), searchDone(code)},
			"with a DN":      {ldapResult(ldap.ApplicationSearchResultDone, code, "dc=t", "why")},
		} {
			s := start(t, false, respond(ops...))
			_, err := drive.Get(t, client(t, Options{}), "ldap://"+s.Addr+"/dc=t")
			var e *fetch.Error
			if !errors.As(err, &e) || e.Code != want && code != 10 || e.Retry != (want == fetch.ErrBusy) || code != 10 && e.Reply.Code != int(code) {
				t.Errorf("%d %s: %v, want %v", code, name, err, want)
			}
		}
	}
}

func TestInvalidResponses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ops  []*ber.Packet
		want fetch.Code
	}{
		"nothing":                {[]*ber.Packet{searchDone(0)}, fetch.ErrNotFound},
		"lost connection":        {[]*ber.Packet{searchEntry("dc=t", "o", "x"), nil}, fetch.ErrTruncated},
		"BindResponse":           {[]*ber.Packet{ldapResult(ldap.ApplicationBindResponse, 0, "", "")}, fetch.ErrProtocol},
		"line feed in a name":    {[]*ber.Packet{searchEntry("dc=t", "o\nx", "x"), searchDone(0)}, fetch.ErrProtocol},
		"empty entry":            {[]*ber.Packet{ber.Encode(ber.ClassApplication, ber.TypeConstructed, 4, nil, "")}, fetch.ErrProtocol},
		"referral without a URL": {[]*ber.Packet{ldapResult(ldap.ApplicationSearchResultDone, 10, "", "", "x")}, fetch.ErrRedirect},
		"a referral after entry": {[]*ber.Packet{searchEntry("dc=t"), ldapResult(ldap.ApplicationSearchResultDone, 10, "", "", "ldap://h/")}, fetch.ErrProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, false, respond(tt.ops...))
			drive.Fails(t, client(t, Options{}), "ldap://"+s.Addr+"/dc=t", tt.want)
		})
	}
}

func TestReferralsAreFollowed(t *testing.T) {
	t.Parallel()
	last := start(t, false, respond(searchEntry("dc=u", "o", "here"), searchDone(0)))
	for _, dn := range []string{"dc=u", "ou=a b,dc=u", "ou=Süd,dc=u"} {
		s := start(t, false, respond(ldapResult(ldap.ApplicationSearchResultDone, 10, "", "", "ldap://"+last.Addr+"/"+dn)))
		if got, err := drive.Get(t, client(t, Options{}), "ldap://"+s.Addr+"/dc=t"); err != nil || !strings.Contains(got, "o: here") {
			t.Errorf("%s: %q, %v", dn, got, err)
		}
		if log := last.Log(); len(log) == 0 || log[len(log)-1] != "search "+dn+" 0 []" {
			t.Errorf("log %q", log)
		}
	}
}

func TestLogins(t *testing.T) {
	t.Parallel()
	const user = "cn%3Djoe,dc%3Dt"
	for name, tt := range map[string]struct {
		scheme, login, query string
		opts                 Options
		want                 fetch.Code
		log                  string
	}{
		"over TLS":              {"ldaps", user + ":secret@", "", Options{}, "", "bind cn=joe,dc=t secret\nsearch dc=t 0 []"},
		"after StartTLS":        {"ldap", user + ":secret@", "", Options{StartTLS: true}, "", "extended 1.3.6.1.4.1.1466.20037\nbind cn=joe,dc=t secret\nsearch dc=t 0 []"},
		"plaintext":             {"ldap", user + ":secret@", "", Options{}, fetch.ErrAuth, ""},
		"plaintext, if allowed": {"ldap", user + ":secret@", "", Options{AllowPlaintext: true}, "", "bind cn=joe,dc=t secret\nsearch dc=t 0 []"},
		"refused":               {"ldaps", user + ":wrong@", "", Options{}, fetch.ErrAuth, "bind cn=joe,dc=t wrong"},
		"without a password":    {"ldaps", user + ":@", "", Options{}, fetch.ErrAuth, ""},
		"without credentials":   {"ldaps", "", "????!bindname=" + user, Options{}, fetch.ErrAuth, ""},
		"anonymous":             {"ldaps", "", "", Options{}, "", "search dc=t 0 []"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, tt.scheme == "ldaps", respond(searchEntry("dc=t", "o", "x"), searchDone(0)))
			if _, err := drive.Get(t, client(t, tt.opts), tt.scheme+"://"+tt.login+s.Addr+"/dc=t"+tt.query); tt.want == "" && err != nil || tt.want != "" && !errors.Is(err, tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if log := strings.Join(s.Log(), "\n"); log != tt.log {
				t.Errorf("log:\n%s\nwant:\n%s", log, tt.log)
			}
		})
	}
}

// Logins from other sources than the URL are used in the same way.
// A server that refuses StartTLS receives no login and no search, even if plaintext logins are allowed.
func TestRefusedStartTLS(t *testing.T) {
	t.Parallel()
	for reply, code := range map[int64]fetch.Code{2: fetch.ErrTLS, 52: fetch.ErrTLS} {
		s := servers.Start(t, servers.Config{Scheme: "ldap"}, func(c *servers.Conn) {
			for {
				content, err := readMessage(bufio.NewReaderSize(c, 16), nil)
				if err != nil {
					return
				}
				id, op, _, err := parseMessage(content)
				if err != nil {
					return
				}
				c.Note(fmt.Sprintf("%#x", op.tag))
				c.Write(envelope(id, ldapResult(ldap.ApplicationExtendedResponse, reply, "", "")))
			}
		})
		_, err := drive.Get(t, client(t, Options{StartTLS: true, AllowPlaintext: true}), "ldap://cn%3Djoe:secret@"+s.Addr+"/dc=t")
		if !errors.Is(err, code) {
			t.Errorf("reply %d: %v, want class %q", reply, err, code)
		}
		if log := s.Log(); len(log) != 1 || log[0] != fmt.Sprintf("%#x", tagExtendedRequest) {
			t.Errorf("reply %d: the server got %q", reply, log)
		}
	}
}

func TestLoginsOfTheClient(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		scheme string
		opts   Options
		login  fetch.Credential
		want   string // in the error
		log    string
	}{
		"over TLS":              {"ldaps", Options{}, fetch.Credential{User: "cn=joe", Password: "secret"}, "", "bind cn=joe secret\nsearch dc=t 0 []"},
		"after StartTLS":        {"ldap", Options{StartTLS: true}, fetch.Credential{User: "cn=joe", Password: "secret"}, "", "extended 1.3.6.1.4.1.1466.20037\nbind cn=joe secret\nsearch dc=t 0 []"},
		"plaintext":             {"ldap", Options{}, fetch.Credential{User: "cn=joe", Password: "secret"}, "plaintext", ""},
		"plaintext, if allowed": {"ldap", Options{AllowPlaintext: true}, fetch.Credential{User: "cn=joe", Password: "secret"}, "", "bind cn=joe secret\nsearch dc=t 0 []"},
		"refused":               {"ldaps", Options{}, fetch.Credential{User: "cn=joe", Password: "wrong"}, "the server refused the user name or password (49 Invalid Credentials)", "bind cn=joe wrong"},
		"without a password":    {"ldaps", Options{}, fetch.Credential{User: "cn=joe"}, "the password is empty", ""},
		"anonymous":             {"ldap", Options{}, fetch.Credential{User: "anonymous", Password: "joe@example.org"}, "", "search dc=t 0 []"},
		"without a user":        {"ldap", Options{}, fetch.Credential{Password: "secret"}, "", "search dc=t 0 []"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, tt.scheme == "ldaps", respond(searchEntry("dc=t", "o", "x"), searchDone(0)))
			c := drive.Client(t, &fetch.Options{TLS: clientTLS, Credentials: fetch.CredentialsFunc(func(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) {
				if ch.Attempt > 1 { // no terminal to ask for another password
					return fetch.Credential{User: tt.login.User}, nil
				}
				return tt.login, nil
			})}, With(tt.opts))
			_, err := drive.Get(t, c, tt.scheme+"://"+s.Addr+"/dc=t")
			if tt.want == "" && err != nil || tt.want != "" && (!errors.Is(err, fetch.ErrAuth) || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if log := strings.Join(s.Log(), "\n"); log != tt.log {
				t.Errorf("log:\n%s\nwant:\n%s", log, tt.log)
			}
		})
	}
}

func TestSecondPassword(t *testing.T) {
	t.Parallel()
	s := start(t, true, respond(searchEntry("dc=t", "o", "x"), searchDone(0)))
	var trace strings.Builder
	var rec fetchtest.Recording
	c := drive.Client(t, &fetch.Options{
		TLS:      clientTLS,
		Recorder: fetch.JoinRecorders(&rec, fetch.RecordLines(func(_ bool, line string) { trace.WriteString(line + "\n") })),
		Credentials: fetch.CredentialsFunc(func(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) {
			if ch.Mechanism != "ldap" || ch.User != "cn=joe" {
				t.Errorf("challenge %+v", ch)
			}
			return fetch.Credential{Password: []string{"wrong", "secret"}[ch.Attempt-1]}, nil
		}),
	}, Load)
	drive.MustGet(t, c, "ldaps://"+s.Addr+"/dc=t????bindname=cn=joe")
	if rec.Shows("secret") || rec.Shows("wrong") || strings.Contains(trace.String(), "secret") || !strings.Contains(trace.String(), `search "dc=t"`) {
		t.Errorf("trace:\n%s", trace.String())
	}
}

// The trace describes the messages of both directions.
func TestTrace(t *testing.T) {
	t.Parallel()
	s := start(t, false, respond(searchEntry("dc=t", "o", "x", "cn", "y"), searchReference("ldap://h/dc=u"), searchDone(0)))
	var rec fetchtest.Recording
	c := drive.Client(t, &fetch.Options{Recorder: &rec}, Load)
	drive.MustGet(t, c, "ldap://"+s.Addr+"/dc=t")
	want := []string{`> search "dc=t" scope=base filter=(objectClass=*)`, `< entry "dc=t" with 2 attributes`,
		`< reference to ["ldap://h/dc=u"]`, "< Success"}
	if got := rec.Exchanges()[0].Lines; strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("lines %q, want %q", got, want)
	}
}

func TestBadURLs(t *testing.T) {
	t.Parallel()
	c := client(t, Options{})
	for _, url := range []string{
		"ldap:///dc=t", "ldap://127.0.0.1:1025/dc=t??three", "ldap://127.0.0.1:1025/dc=t???(cn=", "ldap://127.0.0.1:1025/dc=t????x?y",
		"ldap://127.0.0.1:1025/dc=t????!x", "ldap://127.0.0.1:1025/a%0Ab", "ldap://127.0.0.1:1025/?%00", "ldap://127.0.0.1:1025/???%0D",
	} {
		drive.Fails(t, c, url, fetch.ErrURL)
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	x, err := client(t, Options{StartTLS: true}).Explain(&fetch.Request{URL: uri.MustParse("ldap://cn%3Djoe:secret@h/dc=t?cn?one?(sn=x)")})
	want := "StartTLS\nbind \"cn=joe\" with a password\nsearch \"dc=t\" scope=one filter=(sn=x) attributes=cn"
	if err != nil || strings.Join(x.Steps, "\n") != want {
		t.Errorf("%v, %v", x, err)
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"ldap", "ldaps"} {
		skip := map[string]string{"Dialer": "LDIF in base64 is longer than the data on the connection"}
		if scheme == "ldaps" {
			skip["Recorded"] = "the server's log has descriptions of messages instead of bytes"
		}
		fetchtest.Run(t, fetchtest.Harness{
			Options: &fetch.Options{TLS: clientTLS},
			Skip:    skip,
			Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
				s := start(t, scheme == "ldaps", func(q search, send func(*ber.Packet)) {
					dn, err := ldap.ParseDN(q.dn)
					if err != nil {
						send(searchDone(ldap.LDAPResultInvalidDNSyntax))
						return
					}
					content, err := fs.ReadFile(tree, dn.RDNs[0].Attributes[0].Value)
					if err != nil {
						send(searchDone(ldap.LDAPResultNoSuchObject))
						return
					}
					send(searchEntry(q.dn, "o", string(content)))
					send(searchDone(0))
				})
				dn := func(name string) string { return "cn=" + ldap.EscapeDN(name) }
				return fetchtest.Site{
					Load: Load,
					URL: func(name string) string {
						if info, err := fs.Stat(tree, name); err == nil && info.IsDir() {
							return "" // the children of an entry need a search
						}
						return scheme + "://" + s.Addr + "/" + uri.Escape(dn(name))
					},
					Want: func(name string, content []byte) []byte {
						return appendRecord([]byte(header), record{dn: dn(name), attributes: []attribute{{"o", [][]byte{content}}}})
					},
					Log: s.Log,
					// The driver does not return partial entries, so faults occur after the content.
					Fault: func(f fetchtest.Fault) { s.Arm(servers.Failure{Fault: f, After: math.MaxInt64}) },
				}
			},
		})
	}
}
