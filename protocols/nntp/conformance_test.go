package nntp

import (
	"bytes"
	"encoding/hex"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/nntpd"
)

// treeID returns the message-id of a file. It keeps CR, LF and NUL, which the client must refuse.
func treeID(name string) string {
	if strings.ContainsAny(name, "\r\n\x00") {
		return name + "@tree.invalid"
	}
	return hex.EncodeToString([]byte(name)) + "@tree.invalid"
}

// treeGroup returns the group name of a directory.
func treeGroup(dir string) string {
	return "tree." + strings.ReplaceAll(dir, "/", ".")
}

// treeArticle returns an article with the content of a file. Its lines end with LF.
func treeArticle(name string, content []byte) string {
	id := treeID(name)
	if len(id) > 200 {
		id = "long@tree.invalid"
	}
	return "From: tree@x.invalid\nSubject: " + path.Base(hex.EncodeToString([]byte(name))) + "\nMessage-ID: <" + id + ">\n\n" + string(content)
}

// treeGroups returns one group for each directory of a tree.
func treeGroups(t testing.TB, tree fs.FS) []nntpd.Group {
	var groups []nntpd.Group
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			groups = append(groups, nntpd.Group{Name: treeGroup(name)})
			return nil
		}
		content, err := fs.ReadFile(tree, name)
		for i := range groups {
			if groups[i].Name == treeGroup(path.Dir(name)) {
				groups[i].Articles = append(groups[i].Articles, nntpd.Article{ID: "<" + treeID(name) + ">", Text: treeArticle(name, content)})
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return groups
}

func TestConformance(t *testing.T) {
	t.Parallel()
	serverTLS, clientTLS := servers.Certificate()
	for _, tt := range []struct {
		scheme string
		cfg    nntpd.Options
		opts   Options
	}{
		{"news", nntpd.Options{}, Options{}},
		{"news", nntpd.Options{Legacy: true}, Options{}},
		{"snews", nntpd.Options{TLS: serverTLS, Implicit: true, User: "u", Password: "p"}, Options{}},
		{"news", nntpd.Options{TLS: serverTLS, User: "u", Password: "p"}, Options{}},
	} {
		t.Run(tt.scheme, func(t *testing.T) {
			t.Parallel()
			fetchtest.Run(t, fetchtest.Harness{
				Options: &fetch.Options{TLS: clientTLS, Credentials: drive.Credentials(fetch.Credential{User: "u", Password: "p"})},
				Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
					tt.cfg.Groups = treeGroups(t, tree)
					s := nntpd.Start(t, tt.cfg)
					return fetchtest.Site{
						Load: With(tt.opts),
						URL:  func(name string) string { return treeURL(tt.scheme, s.Addr, tree, name) },
						Want: func(name string, content []byte) []byte {
							text := strings.TrimSuffix(treeArticle(name, content), "\n") + "\n"
							return bytes.ReplaceAll([]byte(text), []byte("\n"), []byte("\r\n"))
						},
						Log:   s.Log,
						Fault: s.Fail,
						Can:   s.Can,
					}
				},
			})
		})
	}
}

// treeURL returns the URL of a file or directory.
func treeURL(scheme, addr string, tree fs.FS, name string) string {
	server := uri.MustParse(scheme + "://" + addr + "/")
	n := uri.News{Scheme: scheme, Host: server.Host(), Port: server.Port(0)}
	info, err := fs.Stat(tree, name)
	switch {
	case err == nil && info.IsDir() && strings.Contains(name, "/"):
		return "" // a group has no subdirectories
	case err == nil && info.IsDir(), err != nil && !strings.Contains(path.Base(name), "."):
		n.Group = treeGroup(name)
	case name == "octets.bin":
		return "" // NNTP cannot transfer a bare CR or LF
	case err == nil && strings.Count(name, "/") > 1:
		return ""
	default:
		n.MessageID = treeID(name)
		if len(n.MessageID) > maxMessageID-2 {
			return ""
		}
	}
	return uri.Must(n.URI()).String()
}
