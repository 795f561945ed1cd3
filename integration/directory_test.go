//go:build integration

package integration

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/integration/lab"
	"github.com/urlget/urlget/protocols/dict"
	"github.com/urlget/urlget/protocols/ldap"
	"github.com/urlget/urlget/protocols/whois"
)

func directoryClient(t testing.TB, load fetch.Loader) *fetch.Client {
	t.Helper()
	c := fetch.New(ftpOptions(), load)
	t.Cleanup(func() { c.Close() })
	return c
}

// text returns the body of a URL, or an error with its class.
func text(t testing.TB, c *fetch.Client, url string) (string, error) {
	t.Helper()
	resp, err := c.Get(t.Context(), url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// links lists a URL and returns the kinds, names and targets of its entries.
func links(t testing.TB, c *fetch.Client, url string) []string {
	t.Helper()
	var all []string
	for e, err := range c.List(t.Context(), url) {
		if err != nil {
			t.Errorf("%s: %v", url, err)
			break
		}
		all = append(all, e.Kind.String()+" "+e.Name+" "+e.URL.URLPath())
	}
	slices.Sort(all)
	return all
}

func TestWhois(t *testing.T) {
	s := lab.Start(t, "whois")
	c := directoryClient(t, whois.Load)
	for query, want := range map[string]string{
		"example.test": "domain: EXAMPLE.TEST\r\nholder: Lab Tester\r\nstatus: café\r\n",
		"a%20b":        "%% urlget lab, whois: no match for \"a b\"\r\n",
	} {
		if got, err := text(t, c, "whois://"+s.Addr("plain")+"/"+query); err != nil || got != want {
			t.Errorf("%s: %q, %v", query, got, err)
		}
	}
	// The server refers to itself, which is not a referral.
	if got, err := text(t, c, "whois://"+s.Addr("plain")+"/referred.test"); err != nil || !strings.Contains(got, "domain: TEST") {
		t.Errorf("%q, %v", got, err)
	}
}

func TestDictd(t *testing.T) {
	s := lab.Start(t, "dictd")
	c := directoryClient(t, dict.Load)
	base := "dict://" + s.Addr("plain") + "/"
	for path, want := range map[string]string{
		"d:gopher":               "A burrowing rodent; also a protocol.\r\n.a line that begins with a dot\r\n",
		"d:gopher:testdict:1":    "A burrowing rodent",
		"d:caf%C3%A9:*":          "A headword in UTF-8.",
		"d:two%20words:testdict": "A headword with a blank.",
	} {
		got, err := text(t, c, base+path)
		if err != nil || !strings.HasPrefix(got, "From urlget lab [testdict]:\r\n") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	for path, want := range map[string][]string{
		"":                     {"search testdict d::testdict"},
		"m:ur:testdict:prefix": {"object uri d:uri:testdict", "object url d:url:testdict", "object urn d:urn:testdict"},
		"d:url":                {"object url d:url:testdict:1"},
	} {
		if got := links(t, c, base+path); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	for path, code := range map[string]fetch.Code{
		"d:nosuchword": fetch.ErrNotFound, "d:url:nosuchbase": fetch.ErrNotFound, "m:x:*:nosuchway": fetch.ErrNotFound, "d:url:*:2": fetch.ErrNotFound,
	} {
		if _, err := text(t, c, base+path); !errors.Is(err, code) {
			t.Errorf("%s: %v, want %v", path, err, code)
		}
	}
}

func TestDictdLogin(t *testing.T) {
	s := lab.Start(t, "dictd")
	c := directoryClient(t, dict.Load)
	url := func(password string) string {
		return "dict://" + s.User + ";AUTH:" + password + "@" + s.Addr("plain") + "/d:url"
	}
	if got, err := text(t, c, url(s.Password)); err != nil || !strings.Contains(got, "Uniform") {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := text(t, c, url("wrong")); !errors.Is(err, fetch.ErrAuth) {
		t.Errorf("a wrong password: %v", err)
	}
}

// directories are the connections of the driver to slapd.
var directories = map[string]struct {
	scheme, port string
	opts         ldap.Options
}{
	"clear":    {"ldap", "plain", ldap.Options{AllowPlaintext: true}},
	"starttls": {"ldap", "plain", ldap.Options{StartTLS: true}},
	"tls":      {"ldaps", "tls", ldap.Options{}},
}

func TestSlapd(t *testing.T) {
	for name, d := range directories {
		t.Run(name, func(t *testing.T) {
			s := lab.Start(t, "slapd")
			c := directoryClient(t, ldap.With(d.opts))
			at := func(login, path string) string { return d.scheme + "://" + login + s.Addr(d.port) + "/" + path }
			login := "cn%3D" + s.User + ",dc%3Dlab,dc%3Dtest:" + s.Password + "@"

			const person = "uid=tester,ou=people,dc=lab,dc=test"
			got, err := text(t, c, at("", person+"?description,jpegPhoto,mail"))
			want := "version: 1\n\ndn: " + person + "\n" +
				"mail: tester@lab.invalid\nmail: second@lab.invalid\ndescription:: R3LDvMOfZSBhdXMgZGVtIExhYm9yLg==\njpegPhoto:: AAEC/f7/\n"
			if err != nil || got != want {
				t.Errorf("%v\n%s\nwant\n%s", err, got, want)
			}
			got, err = text(t, c, at("", "dc=lab,dc=test?cn?sub?(sn=D*)"))
			if err != nil || !strings.Contains(got, "cn: Doe, Jane\n") || strings.Count(got, "dn:") != 1 {
				t.Errorf("a search: %v\n%s", err, got)
			}
			for path, want := range map[string][]string{
				"":                         {"listing dc=lab,dc=test dc%3Dlab,dc%3Dtest"},
				"ou=people,dc=lab,dc=test": {`object cn=Doe\2C Jane cn%3DDoe%5C2C%20Jane,ou%3Dpeople,dc%3Dlab,dc%3Dtest`, "object uid=tester uid%3Dtester,ou%3Dpeople,dc%3Dlab,dc%3Dtest"},
			} {
				if got := links(t, c, at("", path)); !slices.Equal(got, want) {
					t.Errorf("below %q: %q, want %q", path, got, want)
				}
			}
			private := "ou=private,dc=lab,dc=test"
			if got, err := text(t, c, at("", private)); !errors.Is(err, fetch.ErrNotFound) && !errors.Is(err, fetch.ErrRefused) {
				t.Errorf("a private entry: %v\n%s", err, got)
			}
			if got, err := text(t, c, at(login, private)); err != nil || !strings.Contains(got, "Only those who have authenticated") {
				t.Errorf("a private entry after a login: %v\n%s", err, got)
			}
			for url, code := range map[string]fetch.Code{
				at("", "cn=nobody,dc=lab,dc=test"):                     fetch.ErrNotFound,
				at("", "no%20name"):                                    fetch.ErrURL,
				at("cn%3Dlabuser,dc%3Dlab,dc%3Dtest:wrong@", "dc=lab"): fetch.ErrAuth,
				at("", "dc=lab,dc=test??base?(cn=nobody)"):             fetch.ErrNotFound,
			} {
				if _, err := text(t, c, url); !errors.Is(err, code) {
					t.Errorf("%s: %v, want %v", url, err, code)
				}
			}
		})
	}
}
