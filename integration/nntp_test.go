//go:build integration

package integration

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/message"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/integration/lab"
	"github.com/urlget/urlget/protocols/nntp"
)

// newsServers are the connections of the driver to news servers.
var newsServers = []struct {
	server, port, scheme string
	opts                 nntp.Options
}{
	{"inn", "plain", "news", nntp.Options{}},
	{"inn", "starttls", "news", nntp.Options{StartTLS: true}},
	{"inn", "tls", "snews", nntp.Options{}},
	{"sn", "plain", "news", nntp.Options{}},
}

func newsOptions(s *lab.Server) *fetch.Options {
	opts := ftpOptions()
	opts.Credentials = fetch.CredentialsFunc(func(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) {
		if ch.Attempt > 1 || s == nil || s.User == "" {
			return fetch.Credential{}, fetch.ErrAuth
		}
		return fetch.Credential{User: s.User, Password: s.Password}, nil
	})
	return opts
}

// newsID returns the message-id for a file. It returns invalid names unchanged.
func newsID(name string) string {
	if strings.ContainsAny(name, "\r\n\x00") {
		return strings.NewReplacer("\r", "%0D", "\n", "%0A", "\x00", "%00").Replace(name) + "@tree.invalid"
	}
	return hex.EncodeToString([]byte(name)) + "@tree.invalid"
}

// newsGroups maps directories to groups.
var newsGroups = map[string]string{"pub": lab.Group, "names": lab.GroupOther}

// writeArticles writes articles for the files of a tree in groups and in "sizes".
func writeArticles(t testing.TB, dir string, tree fs.FS) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(dir, lab.NewsDir), 0o755); err != nil {
		t.Fatal(err)
	}
	n := 0
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		parent, _, nested := strings.Cut(filepath.Dir(name), "/")
		if err != nil || d.IsDir() || nested || name == "octets.bin" || len(newsID(name)) > 240 {
			return err
		}
		group, ok := newsGroups[parent]
		if !ok {
			group = lab.GroupEmpty
		}
		content, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		n++
		text := fmt.Sprintf("Path: lab.invalid!not-for-mail\nFrom: tree@lab.invalid\nNewsgroups: %s\nSubject: %x\n"+
			"Date: Sat, 29 Feb 2020 12:34:56 +0000\nMessage-ID: <%s>\n\n%s", group, filepath.Base(name), newsID(name), content)
		text = strings.TrimSuffix(text, "\n") + "\n" // articles consist of lines
		return os.WriteFile(filepath.Join(dir, lab.NewsDir, fmt.Sprintf("%03d.eml", n)), []byte(text), 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// rawArticle requests an article without the driver. It returns the data between the reply and the
// final dot line, or nil if the server does not have the article.
func rawArticle(t testing.TB, addr, id string) []byte {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "MODE READER\r\nARTICLE <%s>\r\nQUIT\r\n", id)
	r := bufio.NewReader(conn)
	for range 3 {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(line, "430 ") {
			return nil
		}
	}
	all, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	text, _, ok := bytes.Cut(all, []byte("\r\n.\r\n"))
	if !ok {
		t.Fatalf("article %s has no end", id)
	}
	return bytes.ReplaceAll(append(text, "\r\n"...), []byte("\r\n."), []byte("\r\n"))
}

// newsHarness returns a harness for a port of a news server, with articles as files and two groups
// as directories.
func newsHarness(port, scheme string, opts nntp.Options) func(server string) fetchtest.Harness {
	return func(server string) fetchtest.Harness {
		return fetchtest.Harness{
			Options: newsOptions(nil),
			Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
				dir := lab.TempDir(t)
				writeArticles(t, dir, tree)
				s := lab.StartRoot(t, server, dir)
				articles := map[string][]byte{}
				fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
					if err == nil && !d.IsDir() {
						articles[name] = rawArticle(t, s.Addr("plain"), newsID(name))
					}
					return err
				})
				return fetchtest.Site{
					Load: nntp.With(opts),
					URL: func(name string) string {
						base := scheme + "://" + s.Addr(port) + "/"
						info, err := fs.Stat(tree, name)
						switch {
						case newsGroups[name] != "":
							return base + newsGroups[name]
						case err == nil && (info.IsDir() || articles[name] == nil):
							return ""
						case err != nil && !strings.Contains(name, "."):
							return base + "test.absent"
						}
						return base + newsID(name)
					},
					Want: func(name string, _ []byte) []byte { return articles[name] },
				}
			},
		}
	}
}

func TestNewsArticles(t *testing.T) {
	for _, tt := range newsServers {
		t.Run(tt.server+"/"+tt.port, func(t *testing.T) {
			s := lab.Start(t, tt.server)
			c := fetch.New(newsOptions(nil), nntp.With(tt.opts))
			defer c.Close()
			base := tt.scheme + "://" + s.Addr(tt.port) + "/"
			for _, a := range lab.Articles() {
				if slices.Contains(a.Groups, lab.GroupPrivate) {
					continue
				}
				id := strings.Trim(a.MessageID, "<>")
				resp, err := c.Get(t.Context(), base+strings.NewReplacer("%", "%25", "/", "%2F").Replace(id))
				if err != nil {
					t.Errorf("%s: %v", id, err)
					continue
				}
				got, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil {
					t.Errorf("%s: %v", id, err)
				}
				_, body := message.SplitHead(got)
				file, err := os.ReadFile(filepath.Join(s.Root, a.File.Name))
				if err != nil {
					t.Fatal(err)
				}
				_, want := message.SplitHead(file)
				if string(body) != strings.ReplaceAll(string(want), "\n", "\r\n") {
					t.Errorf("%s: got %.200q, want %.200q", id, body, want)
				}
				if resp.Header.Get("Message-Id") != a.MessageID {
					t.Errorf("%s: header %v", id, resp.Header)
				}
			}
			n := 0
			for _, e := range drive.MustList(t, c, base+lab.Group) {
				o := e.Sys.(nntp.Overview)
				if o.MessageID == "" || o.Bytes <= 0 || e.ModTime.Year() != 2020 {
					t.Errorf("overview %+v", o)
				}
				if n++; o.MessageID == "<reply@lab.invalid>" && !slices.Equal(o.References, []string{"<plain@lab.invalid>"}) {
					t.Errorf("references %q", o.References)
				}
			}
			if n != 6 {
				t.Errorf("%d articles in %s, want 6", n, lab.Group)
			}
			var groups []string
			for _, e := range drive.MustList(t, c, base+"test.*") {
				groups = append(groups, e.Name)
			}
			if !slices.Contains(groups, lab.Group) || slices.Contains(groups, lab.GroupPrivate) {
				t.Errorf("groups %q", groups)
			}
			for _, absent := range []string{"test.absent", "absent@lab.invalid"} {
				if _, err := c.Get(t.Context(), base+absent); !errors.Is(err, fetch.ErrNotFound) {
					t.Errorf("%s: %v", absent, err)
				}
			}
		})
	}
}

func TestNewsLogin(t *testing.T) {
	s := lab.Start(t, "inn")
	for _, tt := range newsServers[:3] {
		c := fetch.New(newsOptions(s), nntp.With(tt.opts))
		defer c.Close()
		for _, name := range []string{"private@lab.invalid", lab.GroupPrivate} {
			_, err := drive.Get(t, c, tt.scheme+"://"+s.Addr(tt.port)+"/"+name)
			if err != nil {
				t.Errorf("%s %s: %v", tt.port, name, err)
			}
		}
	}
}

// TestNewsByNumber retrieves articles by number.
func TestNewsByNumber(t *testing.T) {
	for _, tt := range []struct {
		server, port, scheme string
		first                int // number of the first article of the group
	}{
		{"inn", "plain", "nntp", 1},
		{"inn", "tls", "nntps", 1},
		{"sn", "plain", "nntp", 10},
	} {
		t.Run(tt.scheme+"/"+tt.server, func(t *testing.T) {
			s := lab.Start(t, tt.server)
			c := fetch.New(newsOptions(nil), nntp.Load)
			defer c.Close()
			base := fmt.Sprintf("%s://%s/%s", tt.scheme, s.Addr(tt.port), lab.Group)
			n := tt.first
			for _, a := range lab.Articles() {
				if !slices.Contains(a.Groups, lab.Group) {
					continue
				}
				url := fmt.Sprintf("%s/%d", base, n)
				if _, err := text(t, c, url); err != nil {
					t.Error(err)
					continue
				}
				info, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(url)})
				if err != nil || info.Header.Get("Message-Id") != a.MessageID {
					t.Errorf("%s: %+v, %v, want %s", url, info, err, a.MessageID)
				}
				n++
			}
			if _, err := text(t, c, fmt.Sprintf("%s/%d", base, n)); !errors.Is(err, fetch.ErrNotFound) {
				t.Errorf("beyond the last article: %v", err)
			}
			listed := 0
			for _, e := range drive.MustList(t, c, base) {
				if want := fmt.Sprintf("%s/%d", base, tt.first+listed); e.URL.String() != want {
					t.Errorf("entry %s, want %s", e.URL, want)
				}
				listed++
			}
			if listed != n-tt.first {
				t.Errorf("%d articles listed, want %d", listed, n-tt.first)
			}
		})
	}
}
