//go:build integration

package integration

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/integration/lab"
	"github.com/urlget/urlget/protocols/sftp"
)

// sftpOptions returns options for the lab's server, without the user's own configuration.
func sftpOptions(t testing.TB, s *lab.Server) sftp.Options {
	t.Helper()
	key, err := ssh.ParsePrivateKey(lab.Key())
	if err != nil {
		t.Fatal(err)
	}
	known := filepath.Join(t.TempDir(), "known_hosts")
	line := knownhosts.Line([]string{s.Addr("ssh")}, key.PublicKey()) + "\n"
	if err := os.WriteFile(known, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	return sftp.Options{KnownHosts: []string{known}, NoAgent: true, NoConfig: true, User: lab.User}
}

// labPassword returns the password for SSH, once.
var labPassword = fetch.CredentialsFunc(func(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) {
	if ch.Mechanism != "ssh" || ch.Attempt > 1 {
		return fetch.Credential{}, fetch.ErrAuth
	}
	return fetch.Credential{User: ch.User, Password: lab.Password}, nil
})

func sftpHarness(server string) fetchtest.Harness {
	return fetchtest.Harness{
		Options: &fetch.Options{Credentials: labPassword},
		Skip:    map[string]string{"Recorded": "SSH encrypts the conversation: a record has lines"},
		Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
			s := startWith(t, server, tree)
			root := "sftp://" + lab.User + "@" + s.Addr("ssh") + "/~"
			return fetchtest.Site{
				Load:    sftp.With(sftpOptions(t, s)),
				URL:     func(name string) string { return sftpURL(root, tree, name) },
				Escaped: true, // names have a length
			}
		},
	}
}

// sftpURL returns the URL of a file or directory in tree.
func sftpURL(root string, tree fs.FS, name string) string {
	if name == "." {
		return root + "/"
	}
	for segment := range strings.SplitSeq(name, "/") {
		root += "/" + uri.Escape(segment)
	}
	if info, err := fs.Stat(tree, name); err == nil && info.IsDir() {
		root += "/"
	}
	return root
}

// TestOpenSSHFixtures retrieves every file of the tree, including names that are not UTF-8, from
// the entries of the listings.
func TestOpenSSHFixtures(t *testing.T) {
	s := lab.Start(t, "openssh")
	opts := sftpOptions(t, s)
	c := fetch.New(&fetch.Options{Credentials: labPassword}, sftp.With(opts))
	defer c.Close()
	want := map[string]lab.File{}
	for _, f := range lab.Fixture() {
		want[f.Name] = f
	}
	root := "sftp://" + s.Addr("ssh") + "/~/"
	var walk func(dir, url string)
	walk = func(dir, url string) {
		for _, e := range drive.MustList(t, c, url) {
			name := dir + e.Name
			if e.Kind == fetch.EntryListing {
				walk(name+"/", e.URL.String())
				continue
			}
			f, ok := want[name]
			if !ok {
				continue
			}
			delete(want, name)
			if e.Size != f.Size || !e.ModTime.Equal(f.ModTime) && f.ModTime.Year() >= 1970 && f.ModTime.Year() < 2038 {
				t.Errorf("%q: %d bytes of %v, want %d of %v", name, e.Size, e.ModTime, f.Size, f.ModTime)
			}
			resp, err := c.Get(t.Context(), e.URL.String())
			if err != nil {
				t.Errorf("%q: %v", name, err)
				continue
			}
			sum := sha256.New()
			_, err = io.Copy(sum, resp.Body)
			resp.Body.Close()
			if got := hex.EncodeToString(sum.Sum(nil)); got != f.SHA256 || err != nil {
				t.Errorf("%q: wrong content, %v", name, err)
			}
		}
	}
	walk("", root)
	for name := range want {
		t.Errorf("%q is in no listing", name)
	}
}

// TestOpenSSHLogins logs in with a key, with a password, without either, and through the server as
// a jump host.
func TestOpenSSHLogins(t *testing.T) {
	dir := lab.TempDir(t)
	content := bytes.Repeat([]byte("ten million bytes, more or less. "), 10<<20/33)
	for name, data := range map[string][]byte{"large": content, "latin1-\xe9": []byte("odd"), "line\nend": []byte("odder"), "secret": nil} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "secret"), 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("large", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	s := lab.StartRoot(t, "openssh", dir)
	opts := sftpOptions(t, s)
	get := func(opts sftp.Options, url string) ([]byte, error) {
		c := fetch.New(&fetch.Options{}, sftp.With(opts))
		defer c.Close()
		resp, err := c.Get(t.Context(), url)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		return io.ReadAll(resp.Body)
	}
	addr := s.Addr("ssh")
	byPassword := "sftp://" + lab.User + ":" + lab.Password + "@" + addr
	for url, want := range map[string][]byte{
		byPassword + "/~/large":      content,
		byPassword + dir + "/link":   content,
		byPassword + "/~/latin1-%E9": []byte("odd"),
		byPassword + "/~/line%0Aend": []byte("odder"),
	} {
		if got, err := get(opts, url); !bytes.Equal(got, want) || err != nil {
			t.Errorf("%s: %d bytes, %v", url, len(got), err)
		}
	}
	if _, err := get(opts, byPassword+"/~/secret"); !errors.Is(err, fetch.ErrRefused) {
		t.Errorf("a file that may not be read: error %v, want one of class %q", err, fetch.ErrRefused)
	}
	if _, err := get(opts, "sftp://"+lab.User+":wrong@"+addr+"/~/large"); !errors.Is(err, fetch.ErrAuth) {
		t.Errorf("a wrong password: error %v, want one of class %q", err, fetch.ErrAuth)
	}
	if _, err := get(opts, "sftp://"+addr+"/~/large"); !errors.Is(err, fetch.ErrAuth) {
		t.Errorf("no login: error %v, want one of class %q", err, fetch.ErrAuth)
	}
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, lab.Key(), 0o600); err != nil {
		t.Fatal(err)
	}
	opts.Identities = []string{key}
	if got, err := get(opts, "sftp://"+addr+"/~/large"); !bytes.Equal(got, content) || err != nil {
		t.Errorf("by key: %d bytes, %v", len(got), err)
	}
	host, port, _ := net.SplitHostPort(addr)
	opts.NoConfig, opts.Config = false, filepath.Join(t.TempDir(), "config")
	config := "Host far\nHostName " + host + "\nPort " + port + "\nProxyJump " + lab.User + "@" + addr + "\n"
	if err := os.WriteFile(opts.Config, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := get(opts, "sftp://far/~/large"); !bytes.Equal(got, content) || err != nil {
		t.Errorf("through another host: %d bytes, %v", len(got), err)
	}
}
