//go:build integration

package integration

import (
	"crypto/tls"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/integration/lab"
	"github.com/urlget/urlget/protocols/ftp"
)

// ftpServers are the FTP servers, all tested with and without TLS.
var ftpServers = []string{"vsftpd", "proftpd", "pure-ftpd", "pyftpdlib"}

// ftpHarness returns a harness without TLS, with AUTH TLS, or with implicit TLS.
func ftpHarness(mode string) func(server string) fetchtest.Harness {
	return func(server string) fetchtest.Harness {
		return fetchtest.Harness{
			Options: ftpOptions(),
			Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
				s := startWith(t, server, tree)
				site := ftpSite(s, tree, mode)
				if server == "pure-ftpd" {
					removeUnserved(t, s.Root, &site, `names/a\b`) // "553 Prohibited file name"
				}
				return site
			},
		}
	}
}

// ftpOptions returns the options of clients for the lab's servers.
func ftpOptions() *fetch.Options {
	return &fetch.Options{TLS: &tls.Config{RootCAs: lab.CA(), ServerName: "localhost"}}
}

// removeUnserved removes a file that the server does not serve.
func removeUnserved(t testing.TB, dir string, site *fetchtest.Site, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
	url := site.URL
	site.URL = func(n string) string {
		if n == name {
			return ""
		}
		return url(n)
	}
}

// ftpSite returns the suite's site for a server of the lab.
func ftpSite(s *lab.Server, tree fs.FS, mode string) fetchtest.Site {
	root, opts := "ftp://"+s.Addr("plain"), ftp.Options{}
	switch mode {
	case "tls":
		opts.TLS = ftp.TLSRequire
	case "implicit":
		root = "ftps://" + s.Addr("tls")
	}
	return fetchtest.Site{Load: ftp.With(opts), URL: func(name string) string { return ftpURL(root, tree, name) }}
}

// ftpURL returns the URL of a file or directory in tree.
func ftpURL(root string, tree fs.FS, name string) string {
	if name == "." {
		return root + "/"
	}
	for segment := range strings.SplitSeq(name, "/") {
		root += "/" + strings.ReplaceAll(uri.Escape(segment), "*", "%2A")
	}
	if info, err := fs.Stat(tree, name); err == nil && info.IsDir() {
		root += "/"
	}
	return root
}
