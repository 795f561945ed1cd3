//go:build integration

package integration

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path"
	"strings"
	"testing"
	"time"

	jlaffaye "github.com/jlaffaye/ftp"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/integration/lab"
	"github.com/urlget/urlget/protocols/ftp"
)

// An ftpFile holds the properties of a file that both clients report.
type ftpFile struct {
	size int64
	at   time.Time
	sum  string
}

// TestFTPDifferential compares this client with github.com/jlaffaye/ftp on the same servers and
// files. Names, sizes, times and bytes must be equal.
func TestFTPDifferential(t *testing.T) {
	for _, name := range ftpServers {
		t.Run(name, func(t *testing.T) {
			s := lab.Start(t, name)
			for _, dir := range []string{"", lab.TextDir, lab.NamesDir, lab.DatesDir, lab.DeepDir + "/1"} {
				ours, theirs := ourFiles(t, s, dir), theirFiles(t, s, dir)
				for file, a := range ours {
					if b, ok := theirs[file]; a != b {
						t.Errorf("%q: we say %v, they say %v (%v)", path.Join(dir, file), a, b, ok)
					}
					delete(theirs, file)
				}
				for file, b := range theirs {
					t.Errorf("%q: they say %v, we do not know it", path.Join(dir, file), b)
				}
			}
		})
	}
}

// ourFiles lists a directory and retrieves its files with this client.
func ourFiles(t *testing.T, s *lab.Server, dir string) map[string]ftpFile {
	t.Helper()
	c := fetch.New(nil, ftp.Load)
	defer c.Close()
	root := "ftp://" + s.User + ":" + s.Password + "@" + s.Addr("plain")
	for segment := range strings.SplitSeq(dir, "/") {
		root += "/" + uri.Escape(segment)
	}
	files := make(map[string]ftpFile)
	for _, e := range drive.MustList(t, c, strings.TrimSuffix(root, "/")+"/") {
		if e.Kind != fetch.EntryObject {
			continue
		}
		f := ftpFile{size: e.Size, at: e.ModTime}
		if resp, err := c.Do(t.Context(), &fetch.Request{URL: e.URL}); err == nil {
			if f.sum, err = readSum(resp.Body); isWorthRetry(err) {
				// Docker's proxy for ports may connect so late that it reaches the port of another transfer.
				if resp, err = c.Do(t.Context(), &fetch.Request{URL: e.URL}); err == nil {
					f.sum, err = readSum(resp.Body)
				}
			}
			if err != nil {
				t.Error(err)
				continue
			}
			f.at = resp.ModTime // in seconds; listings may have minutes only
			if resp.Size != e.Size {
				t.Errorf("%s: SIZE is %d, the listing says %d", e.URL.Redacted(), resp.Size, e.Size)
			}
		}
		files[e.Name] = f
	}
	return files
}

// theirFiles does the same with the other client.
func theirFiles(t *testing.T, s *lab.Server, dir string) map[string]ftpFile {
	t.Helper()
	c, err := jlaffaye.Dial(s.Addr("plain"), jlaffaye.DialWithTimeout(10*time.Second), jlaffaye.DialWithShutTimeout(10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Quit()
	if err := c.Login(s.User, s.Password); err != nil {
		t.Fatal(err)
	}
	if dir != "" {
		if err := c.ChangeDir(dir); err != nil {
			t.Fatal(err)
		}
	}
	list, err := c.List("")
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string]ftpFile)
	for _, e := range list {
		if e.Type != jlaffaye.EntryTypeFile {
			continue
		}
		f := ftpFile{size: int64(e.Size), at: e.Time.UTC()}
		if r, err := c.Retr(e.Name); err == nil {
			f.sum = sum(t, r)
			if at, err := c.GetTime(e.Name); err == nil {
				f.at = at.UTC()
			}
		}
		files[e.Name] = f
	}
	return files
}

// sum reads all of r, closes it and returns the SHA-256.
func sum(t *testing.T, r io.ReadCloser) string {
	t.Helper()
	digest, err := readSum(r)
	if err != nil {
		t.Error(err)
	}
	return digest
}

func readSum(r io.ReadCloser) (string, error) {
	h := sha256.New()
	_, err := io.Copy(h, r)
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, r.Close())
}

func isWorthRetry(err error) bool {
	e, ok := errors.AsType[*fetch.Error](err)
	return ok && e.Retry
}

// TestFTPFixture retrieves the files of the fixture tree in image and text mode and compares them
// with those on disk.
func TestFTPFixture(t *testing.T) {
	for _, name := range ftpServers {
		t.Run(name, func(t *testing.T) {
			s := lab.Start(t, name)
			c := fetch.New(ftpOptions(), ftp.With(ftp.Options{TLS: ftp.TLSRequire}))
			defer c.Close()
			for _, f := range lab.Fixture() {
				if !s.Serves(f) || strings.HasPrefix(f.Name, lab.ManyDir+"/") {
					continue
				}
				u := ftpURL("ftp://"+s.User+":"+s.Password+"@"+s.Addr("plain"), os.DirFS(s.Root), f.Name)
				resp, err := c.Get(t.Context(), u)
				if err != nil {
					t.Error(err)
					continue
				}
				if got := sum(t, resp.Body); got != f.SHA256 || resp.Size != f.Size || !resp.ModTime.Equal(f.ModTime) {
					t.Errorf("%q: %d bytes of %v, want %d of %v; the same bytes: %v",
						f.Name, resp.Size, resp.ModTime, f.Size, f.ModTime, got == f.SHA256)
				}
			}
			n := 0
			for _, e := range drive.MustList(t, c, "ftp://"+s.Addr("plain")+"/"+lab.ManyDir+"/") {
				if n++; e.Kind != fetch.EntryObject {
					t.Errorf("entry %+v", e)
				}
			}
			if n != 1000 {
				t.Errorf("%d entries in %s, want 1000", n, lab.ManyDir)
			}
		})
	}
}

// TestFTPThroughProxies checks that data connections use the proxy too.
func TestFTPThroughProxies(t *testing.T) {
	for proxy, scheme := range map[string]string{"microsocks": "socks5", "tinyproxy": "connect"} {
		t.Run(proxy, func(t *testing.T) {
			p, s := lab.Start(t, proxy), lab.Start(t, "vsftpd")
			opts := ftpOptions()
			opts.Proxy = func(uri.URI) (uri.URI, error) { return uri.Parse(scheme + "://" + p.Addr("plain")) }
			opts.DialContext = func(_ context.Context, network, addr string) (net.Conn, error) {
				if addr != p.Addr("plain") {
					return nil, fmt.Errorf("%s is not the address of the proxy", addr)
				}
				return net.Dial(network, addr)
			}
			for _, mode := range []ftp.TLSMode{ftp.TLSOff, ftp.TLSRequire} {
				c := fetch.New(opts, ftp.With(ftp.Options{TLS: mode}))
				defer c.Close()
				b, err := drive.Get(t, c, "ftp://"+s.AddrFrom(p, "plain")+"/hello.txt")
				if string(b) != "Hello from the lab.\n" || err != nil {
					t.Errorf("%q, %v", b, err)
				}
			}
		})
	}
}
