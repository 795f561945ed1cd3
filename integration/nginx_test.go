//go:build integration

package integration

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/integration/lab"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/protocols/http"
)

// nginxURL returns the root of the server without TLS ("plain") or with TLS.
func nginxURL(s *lab.Server, port string) string {
	if port == "tls" {
		return "https://" + s.Addr("tls")
	}
	return "http://" + s.Addr("plain")
}

// nginxClient returns a client that trusts the lab's CA.
func nginxClient(t testing.TB, o fetch.Options, cfg http.Options) *fetch.Client {
	t.Helper()
	o.TLS = &tls.Config{RootCAs: lab.CA(), MinVersion: tls.VersionTLS12}
	c := fetch.New(&o, protocols.With(protocols.Config{HTTP: &cfg}))
	t.Cleanup(func() { c.Close() })
	return c
}

// withoutListings are the cases that need WebDAV.
var withoutListings = map[string]string{
	"List": "no WebDAV", "ListBreak": "no WebDAV", "ListLimit": "no WebDAV", "ListNotFound": "no WebDAV",
	"ListSecrets": "no WebDAV", "FileSystem": "no WebDAV",
}

// nginxHarness returns a harness for a port of the server.
func nginxHarness(port string, opts http.Options) func(server string) fetchtest.Harness {
	return func(server string) fetchtest.Harness {
		return fetchtest.Harness{
			Skip:    withoutListings,
			Options: &fetch.Options{TLS: &tls.Config{RootCAs: lab.CA(), MinVersion: tls.VersionTLS12}},
			Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
				root := nginxURL(startWith(t, server, tree), port)
				if opts.Compressed {
					root += "/gzip"
				}
				return fetchtest.Site{
					Load: http.With(opts),
					URL: func(name string) string {
						return root + "/" + strings.ReplaceAll(uri.Escape(name), "%2F", "/")
					},
					Escaped: true,
				}
			},
		}
	}
}

// davHarness returns a harness for the directories of the server.
func davHarness(port, scheme string) func(server string) fetchtest.Harness {
	return func(server string) fetchtest.Harness {
		h := nginxHarness(port, http.Options{})(server)
		h.Skip = nil
		start := h.Start
		h.Start = func(t testing.TB, tree fs.FS) fetchtest.Site {
			site := start(t, tree)
			url := site.URL
			site.URL = func(name string) string {
				u := uri.MustParse(url(name))
				return scheme + "://" + u.HostPort(0) + "/dav" + u.Path()
			}
			return site
		}
		return h
	}
}

// fixture returns a file of the tree.
func fixture(t testing.TB, s *lab.Server, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(s.Root, name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// fetchAll retrieves all of a URL.
func fetchAll(t testing.TB, c *fetch.Client, req *fetch.Request) ([]byte, *fetch.Response, error) {
	t.Helper()
	resp, err := c.Do(t.Context(), req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	return content, resp, err
}

func TestNginx(t *testing.T) {
	s := lab.Start(t, "nginx")
	c := nginxClient(t, fetch.Options{}, http.Options{})
	for _, port := range []string{"plain", "tls"} {
		root := nginxURL(s, port)
		t.Run(port, func(t *testing.T) {
			for _, f := range lab.Fixture() {
				if strings.HasPrefix(f.Name, lab.ManyDir) || !s.Serves(f) {
					continue
				}
				path := strings.ReplaceAll(uri.Escape(f.Name), "%2F", "/")
				content, resp, err := fetchAll(t, c, &fetch.Request{URL: uri.MustParse(root + "/" + path)})
				sum := sha256.Sum256(content)
				if err != nil || hex.EncodeToString(sum[:]) != f.SHA256 || resp.Size != f.Size || !resp.ModTime.Equal(f.ModTime) {
					t.Errorf("%q: %d bytes, %v", f.Name, len(content), err)
				}
			}
			testNginxResume(t, c, s, root)
		})
	}
	t.Run("protocols", func(t *testing.T) {
		for want, cfg := range map[string]http.Options{"HTTP/2.0": {}, "HTTP/1.1": {Protocols: http.HTTP1}} {
			content, _, err := fetchAll(t, nginxClient(t, fetch.Options{}, cfg), &fetch.Request{URL: uri.MustParse(nginxURL(s, "tls") + "/echo")})
			if err != nil || !bytes.Contains(content, []byte(want)) {
				t.Errorf("%s: %q, %v", want, content, err)
			}
		}
	})
	t.Run("compressed", func(t *testing.T) {
		want := fixture(t, s, "text/long.txt")
		content, resp, err := fetchAll(t, nginxClient(t, fetch.Options{}, http.Options{Compressed: true}),
			&fetch.Request{URL: uri.MustParse(nginxURL(s, "plain") + "/gzip/text/long.txt")})
		if err != nil || !bytes.Equal(content, want) || resp.Header.Get("Content-Encoding") != "gzip" || resp.Size != -1 {
			t.Errorf("%d bytes of %d, %v", len(content), len(want), err)
		}
	})
	t.Run("name", func(t *testing.T) {
		m, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(nginxURL(s, "plain") + "/attached/hello.txt")})
		if err != nil || m.Name != "naïve.txt" {
			t.Errorf("%+v, %v", m, err)
		}
	})
	t.Run("answers", func(t *testing.T) { testNginxResponses(t, s) })
}

// testNginxResume requests missing ranges and unchanged files.
func testNginxResume(t *testing.T, c *fetch.Client, s *lab.Server, root string) {
	want := fixture(t, s, "large.bin")
	u := uri.MustParse(root + "/large.bin")
	m, err := c.Stat(t.Context(), &fetch.Request{URL: u})
	if err != nil {
		t.Fatal(err)
	}
	rest, resp, err := fetchAll(t, c, &fetch.Request{URL: u, Range: fetch.Range{Offset: 1000}, IfChanged: m.Validator})
	if err != nil || !bytes.Equal(rest, want[1000:]) || resp.Total != int64(len(want)) {
		t.Errorf("the rest: %d bytes, %v", len(rest), err)
	}
	all, resp, err := fetchAll(t, c, &fetch.Request{URL: u, Range: fetch.Range{Offset: 1000}, IfChanged: fetch.Validator{ETag: `"other"`}})
	if err != nil || !bytes.Equal(all, want) || !resp.Range.IsZero() {
		t.Errorf("range with another validator: %d bytes, %v", len(all), err)
	}
	_, _, err = fetchAll(t, c, &fetch.Request{URL: u, IfChanged: m.Validator})
	if !errors.Is(err, fetch.ErrNotModified) {
		t.Errorf("unchanged: %v, want ErrNotModified", err)
	}
	_, _, err = fetchAll(t, c, &fetch.Request{URL: u, Range: fetch.Range{Offset: int64(len(want))}})
	if !errors.Is(err, fetch.ErrRange) {
		t.Errorf("beyond the end: %v, want ErrRange", err)
	}
	part, resp, err := fetchAll(t, c, &fetch.Request{URL: uri.MustParse(root + "/noranges/hello.txt"), Range: fetch.Range{Offset: 2}})
	if err != nil || !bytes.Equal(part, fixture(t, s, "hello.txt")) || !resp.Range.IsZero() {
		t.Errorf("a server without ranges: %q, %v", part, err)
	}
}

// nginxResponses maps paths to error classes and the command's exit statuses. "" and 0 mean that
// hello.txt is returned.
var nginxResponses = []struct {
	path string
	code fetch.Code
	exit int
}{
	{"/301", "", 0}, {"/302", "", 0}, {"/303", "", 0}, {"/307", "", 0}, {"/308", "", 0},
	{"/to-tls", "", 0}, {"/to-plain", "", 0},
	{"/loop", fetch.ErrRedirect, 7},
	{"/to-file", fetch.ErrPolicy, 17},
	{"/to-smtp", fetch.ErrPolicy, 17},
	{"/to-unknown", fetch.ErrScheme, 16},
	{"/auth/hello.txt", fetch.ErrAuth, 6},
	{"/to-auth", fetch.ErrAuth, 6},
	{"/no-such-file", fetch.ErrNotFound, 8},
	{"/403", fetch.ErrRefused, 8},
	{"/410", fetch.ErrNotFound, 8},
	{"/429", fetch.ErrBusy, 8},
	{"/500", fetch.ErrServer, 8},
	{"/503", fetch.ErrBusy, 8},
	{"/drop", fetch.ErrNetwork, 4},
}

func testNginxResponses(t *testing.T, s *lab.Server) {
	root := nginxURL(s, "plain")
	c := nginxClient(t, fetch.Options{}, http.Options{})
	for _, tt := range nginxResponses {
		content, _, err := fetchAll(t, c, &fetch.Request{URL: uri.MustParse(root + tt.path)})
		if fetch.CodeOf(err) != tt.code || err == nil && !bytes.Equal(content, fixture(t, s, "hello.txt")) {
			t.Errorf("%s: %q, %v, want class %q", tt.path, content, err, tt.code)
		}
		var e *fetch.Error
		if errors.As(err, &e) && e.Code == fetch.ErrBusy && e.RetryAfter != time.Second {
			t.Errorf("%s: RetryAfter %v, want 1s", tt.path, e.RetryAfter)
		}
	}
	login := strings.Replace(root, "//", "//"+s.User+":"+s.Password+"@", 1)
	if content, _, err := fetchAll(t, c, &fetch.Request{URL: uri.MustParse(login + "/auth/hello.txt")}); err != nil || !bytes.Equal(content, fixture(t, s, "hello.txt")) {
		t.Errorf("with a login: %q, %v", content, err)
	}
}

// TestNginxCommand makes the same requests with the command.
func TestNginxCommand(t *testing.T) {
	s := lab.Start(t, "nginx")
	program := filepath.Join(t.TempDir(), "urlget")
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/urlget").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	ca := lab.CAFile(t)
	// run runs the command in a directory, and returns its standard output and exit status.
	run := func(ctx context.Context, dir string, args ...string) (string, int) {
		cmd := exec.CommandContext(ctx, program, slices.Concat([]string{"--ca-certificate", ca, "--no-netrc", "-t", "1"}, args)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "no_proxy=*")
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		t.Logf("urlget %q: exit status %d\n%s", args, cmd.ProcessState.ExitCode(), stderr.String())
		return stdout.String(), cmd.ProcessState.ExitCode()
	}
	for _, port := range []string{"plain", "tls"} {
		out, exit := run(t.Context(), t.TempDir(), "-O", "-", nginxURL(s, port)+"/65537.bin")
		if exit != 0 || out != string(fixture(t, s, "65537.bin")) {
			t.Errorf("%s: %d bytes, exit status %d", port, len(out), exit)
		}
	}
	plain := nginxURL(s, "plain")
	for _, tt := range nginxResponses {
		out, exit := run(t.Context(), t.TempDir(), "-O", "-", plain+tt.path)
		if exit != tt.exit || exit == 0 && out != string(fixture(t, s, "hello.txt")) {
			t.Errorf("%s: %q, exit status %d, want %d", tt.path, out, exit, tt.exit)
		}
	}
	for name, args := range map[string][]string{
		"login":      {"--user", s.User, "--password", s.Password, plain + "/auth/text/long.txt"},
		"compressed": {"--compressed", plain + "/gzip/text/long.txt"},
	} {
		if out, exit := run(t.Context(), t.TempDir(), append([]string{"-O", "-"}, args...)...); exit != 0 || out != string(fixture(t, s, "text/long.txt")) {
			t.Errorf("%s: %d bytes, exit status %d", name, len(out), exit)
		}
	}
	if out, exit := run(t.Context(), t.TempDir(), "--range", "3-6", "-O", "-", plain+"/hello.txt"); exit != 0 || out != string(fixture(t, s, "hello.txt")[3:7]) {
		t.Errorf("range: %q, exit status %d", out, exit)
	}
	t.Run("resume", func(t *testing.T) {
		dir := t.TempDir()
		ctx, kill := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			run(ctx, dir, "--limit-rate", "4M", "-O", "large.bin", plain+"/large.bin")
		}()
		partial := func() int64 {
			info, err := os.Stat(filepath.Join(dir, "large.bin.part"))
			if err != nil {
				return 0
			}
			return info.Size()
		}
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		recorded := func() bool {
			_, err := os.Stat(filepath.Join(dir, "large.bin.part.json"))
			return err == nil && partial() > 0
		}
		for !recorded() {
			select {
			case <-tick.C:
			case <-done:
				t.Fatal("the transfer ended before it could be killed")
			}
		}
		kill()
		<-done
		kept := partial()
		if _, err := os.Stat(filepath.Join(dir, "large.bin")); err == nil || kept == 0 {
			t.Fatalf("after the kill: %d bytes in the .part, and large.bin: %v", kept, err)
		}
		events, exit := run(t.Context(), dir, "--json", "-c", "-O", "large.bin", plain+"/large.bin")
		if !strings.Contains(events, "206 Partial Content") {
			t.Errorf("no range was requested: %s", events)
		}
		got, err := os.ReadFile(filepath.Join(dir, "large.bin"))
		if exit != 0 || err != nil || !bytes.Equal(got, fixture(t, s, "large.bin")) {
			t.Errorf("resumed: exit status %d, %d bytes, %v", exit, len(got), err)
		}
	})
}
