//go:build integration

package integration

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/integration/lab"
	"github.com/urlget/urlget/protocols/finger"
	"github.com/urlget/urlget/protocols/gopher"
)

// gopherSites are the servers and modes of the Gopher tests.
var gopherSites = []struct{ name, server, port, scheme, plus string }{
	{"gophernicus", "gophernicus", "plain", "gopher", ""},
	{"pygopherd", "pygopherd", "plain", "gopher", ""},
	{"pygopherd-plus", "pygopherd", "plain", "gopher", "+"},
	{"pygopherd-tls", "pygopherd", "tls", "gophers", ""},
	{"pygopherd-tls-plus", "pygopherd", "tls", "gophers", "+"},
}

// refusedNames maps servers to names of the suite that they do not serve: names with leading dots,
// and those that gophernicus treats as a query or an escape. The tests remove them from the disk.
var refusedNames = map[string][]string{
	"gophernicus": {"names/.a", "names/..a", "names/...", "names/a?b", "names/a%2Fb", "names/a%0D%0Ab"},
	"pygopherd":   {"names/..a", "names/..."},
}

// gopherHarness returns a harness for a port. If plus is set, it uses Gopher+.
func gopherHarness(port, scheme, plus string) func(server string) fetchtest.Harness {
	return func(server string) fetchtest.Harness {
		opts := &fetch.Options{TLS: &tls.Config{RootCAs: lab.CA()}}
		if server == "gophernicus" {
			opts.Middleware = []fetch.Middleware{bareTitles}
		}
		skip := map[string]string{"Noise": "any bytes are a document"}
		if plus != "" || server == "pygopherd" { // its menus lead to Gopher+ items
			skip["FileSystem"] = "only Stat returns the modification time"
		}
		return fetchtest.Harness{
			Options: opts,
			Skip:    skip,
			Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
				s := lab.StartRoot(t, server, gopherRoot(t, tree, refusedNames[server]))
				site := fetchtest.Site{Load: gopher.Load, URL: func(name string) string {
					if slices.Contains(refusedNames[server], name) {
						return ""
					}
					return gopherURL(scheme, s.Addr(port), plus, tree, name)
				}}
				if server == "gophernicus" {
					site.Want = networkText
				}
				return site
			},
		}
	}
}

// gopherRoot returns a folder with the files of tree, except some, and with the menu that the lab's
// greeting requires, in "gopher".
func gopherRoot(t testing.TB, tree fs.FS, without []string) string {
	t.Helper()
	dir := lab.TempDir(t)
	err := os.CopyFS(dir, tree)
	for _, name := range without {
		err = errors.Join(err, os.Remove(filepath.Join(dir, name)))
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "gopher"), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "gopher", "gophermap"), []byte("Welcome to the lab.\n"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// gopherURL returns the URL of a file or directory in tree.
func gopherURL(scheme, addr, plus string, tree fs.FS, name string) string {
	g := uri.Gopher{Type: '9', Selector: "/" + name, Plus: plus}
	if name == "." {
		g.Selector = ""
	}
	if info, err := fs.Stat(tree, name); err == nil && info.IsDir() || err != nil && path.Ext(name) == "" {
		g.Type = '1'
	}
	host := uri.MustParse(scheme + "://" + addr + "/")
	g.Scheme, g.Host, g.Port = scheme, host.Host(), host.Port(70)
	return uri.Must(g.URI()).String()
}

// networkText returns a file as gophernicus sends it. It ends each line of text with CR LF, even an
// unterminated last one.
func networkText(name string, content []byte) []byte {
	if name == "octets.bin" || strings.HasSuffix(name, ".gz") || len(content) == 0 {
		return content
	}
	content = bytes.TrimSuffix(content, []byte("\n"))
	return append(bytes.ReplaceAll(content, []byte("\n"), []byte("\r\n")), "\r\n"...)
}

// bareTitles removes the date and size that gophernicus appends to names in menus.
func bareTitles(next fetch.Driver) fetch.Driver {
	return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
		resp, err := next.Open(ctx, req)
		if err == nil && resp.Parse != nil {
			parse := resp.Parse
			resp.Parse = func(r io.Reader) iter.Seq2[fetch.Entry, error] { return bare(parse(r)) }
		}
		return resp, err
	})
}

func bare(seq iter.Seq2[fetch.Entry, error]) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		for e, err := range seq {
			e.Name, _, _ = strings.Cut(e.Name, "  ")
			if !yield(e, err) {
				return
			}
		}
	}
}

// TestGopherMenu reads the fixture's menu, which has items of many types.
func TestGopherMenu(t *testing.T) {
	for _, tt := range gopherSites {
		t.Run(tt.name, func(t *testing.T) {
			s := lab.Start(t, tt.server)
			c := gopherClient(t, gopher.Options{})
			got := make(map[string]fetch.Entry)
			for _, e := range drive.MustList(t, c, gopherItem(tt.scheme, s.Addr(tt.port), '1', "/gopher", tt.plus)) {
				got[e.Name] = e
			}
			telnet := "telnet://guest@localhost/"
			if tt.server == "pygopherd" {
				telnet = "telnet://localhost/" // the server makes a path of the login
			}
			for name, want := range map[string]string{
				"A web page":            "http://localhost/",
				"A telnet session":      telnet,
				"A mainframe":           "tn3270://localhost:3270/",
				"A directory of people": "cso://localhost/",
			} {
				if u := got[name].URL.String(); u != want {
					t.Errorf("%s leads to %q, want %q", name, u, want)
				}
			}
			if e := got["Welcome to the lab."]; e.Kind != fetch.EntryText {
				t.Errorf("the welcome is %+v", e)
			}
			if body, err := gopherBody(t, c, got["A text"].URL); err != nil || strings.TrimSpace(body) != "Hello, gopher." {
				t.Errorf("the text is %q, %v", body, err)
			}
			search := got["Search words"].URL
			if _, err := gopherBody(t, c, search); !errors.Is(err, fetch.ErrNeedSearch) {
				t.Errorf("without words: %v", err)
			}
			search, err := search.WithSearch("two words")
			if err != nil {
				t.Fatal(err)
			}
			if body, err := gopherBody(t, c, search); err != nil || !strings.HasPrefix(body, "iYou searched for: two words\t") {
				t.Errorf("search: %q, %v", body, err)
			}
		})
	}
}

// TestGopherPlus requests attributes from pygopherd, with and without TLS.
func TestGopherPlus(t *testing.T) {
	s := lab.Start(t, "pygopherd")
	for _, scheme := range []string{"gopher", "gophers"} {
		addr := s.Addr(map[string]string{"gopher": "plain", "gophers": "tls"}[scheme])
		c := gopherClient(t, gopher.Options{})
		meta, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(gopherItem(scheme, addr, '0', "/gopher/plus/hello.txt", "+"))})
		if err != nil || meta.ContentType != "text/plain" || meta.ModTime.IsZero() {
			t.Fatalf("%s: %+v, %v", scheme, meta, err)
		}
		want := []string{"An abstract of hello.", "It has two lines."}
		if got := meta.Header.Values("Abstract"); !slices.Equal(got, want) {
			t.Errorf("%s: abstract %q, want %q", scheme, got, want)
		}
		found := make(map[string]gopher.Item)
		for e, err := range gopherClient(t, gopher.Options{Attributes: true}).List(t.Context(), gopherItem(scheme, addr, '1', "/gopher/plus", "")) {
			if err != nil {
				t.Fatal(err)
			}
			found[e.Name] = e.Sys.(gopher.Item)
		}
		if len(found["hello.txt"].Attributes) == 0 {
			t.Errorf("%s: the items of the menu are %+v", scheme, found)
		}
		// pygopherd marks forms with a plus like everything else.
		_, err = gopherBody(t, c, uri.MustParse(gopherItem(scheme, addr, '0', "/gopher/plus/form", "?")))
		var form *fetch.FormError
		if !errors.As(err, &form) || len(form.Form.Fields) != 3 || form.Form.Fields[2].Choices[1] != "blue" {
			t.Errorf("%s: the form is %v", scheme, err)
		}
	}
}

func gopherClient(t testing.TB, opts gopher.Options) *fetch.Client {
	t.Helper()
	c := fetch.New(&fetch.Options{TLS: &tls.Config{RootCAs: lab.CA()}}, gopher.With(opts))
	t.Cleanup(func() { c.Close() })
	return c
}

func gopherItem(scheme, addr string, typ byte, selector, plus string) string {
	host := uri.MustParse(scheme + "://" + addr + "/")
	g := uri.Gopher{Scheme: scheme, Host: host.Host(), Port: host.Port(70), Type: typ, Selector: selector, Plus: plus}
	return uri.Must(g.URI()).String()
}

func gopherBody(t testing.TB, c *fetch.Client, u uri.URI) (string, error) {
	t.Helper()
	resp, err := c.Get(t.Context(), u.String())
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// fingerHarness uses the names of the suite's files as user names. The server splits a request at
// spaces and does not forward requests to other hosts.
func fingerHarness(server string) fetchtest.Harness {
	return fetchtest.Harness{
		Skip: map[string]string{
			"Noise":    "any bytes are a response",
			"NotFound": "an unknown user is reported as ordinary text",
		},
		Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
			s := startWith(t, server, tree)
			return fetchtest.Site{Load: finger.Load, URL: func(name string) string {
				info, err := fs.Stat(tree, name)
				if err == nil && info.IsDir() || name == "octets.bin" || strings.ContainsAny(name, " @") {
					return ""
				}
				return "finger://" + s.Addr("plain") + "/" + uri.Escape(name)
			}}
		},
	}
}

func TestFinger(t *testing.T) {
	s := lab.Start(t, "fingerd")
	c := fetch.New(nil, finger.Load)
	defer c.Close()
	const (
		user = "Login: labuser\t\t\tName: Lab Tester\nPlan:\nTo be fingered.\n"
		all  = "Login    Name\nlabuser  Lab Tester\n"
	)
	for path, want := range map[string]string{
		"/labuser":      user,
		"//W%20labuser": user,
		"/W%20labuser":  user,
		"/":             all,
		"/nobody-there": "finger: nobody-there: no such user.\n",
	} {
		got, err := gopherBody(t, c, uri.MustParse("finger://"+s.Addr("plain")+path))
		if err != nil || strings.ReplaceAll(got, "\r\n", "\n") != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
}
