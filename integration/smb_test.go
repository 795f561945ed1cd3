//go:build integration

package integration

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/integration/lab"
	"github.com/urlget/urlget/protocols/smb"
)

// smbHarness returns a harness for a share.
func smbHarness(share string) func(server string) fetchtest.Harness {
	return func(server string) fetchtest.Harness {
		return fetchtest.Harness{
			Options: labOptions(),
			Skip:    map[string]string{"List": "Samba changes names that are invalid on Windows: TestSambaLists"},
			Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
				s := startWith(t, server, tree)
				root := "smb://" + lab.User + ":" + lab.Password + "@" + s.Addr("smb") + "/" + share
				return fetchtest.Site{
					Load:    smb.Load,
					URL:     func(name string) string { return smbURL(root, tree, name) },
					Escaped: true, // names have a length
				}
			},
		}
	}
}

// smbURL returns the URL of a file or directory in tree. It returns "" for names that are invalid
// on Windows, which Samba changes.
func smbURL(root string, tree fs.FS, name string) string {
	if name == "." {
		return root + "/"
	}
	for segment := range strings.SplitSeq(name, "/") {
		if strings.ContainsAny(segment, `\:"<>|?*`+"\r\n") {
			return ""
		}
		root += "/" + uri.Escape(segment)
	}
	if info, err := fs.Stat(tree, name); err == nil && info.IsDir() {
		root += "/"
	}
	return root
}

func TestSambaLists(t *testing.T) {
	tree := fstest.MapFS{"large.bin": {Data: bytes.Repeat([]byte("0123456789abcdef"), 640<<10)}, `a\b`: {Data: []byte("c")}}
	for i := range 10_000 {
		tree[fmt.Sprintf("many/file %05d;#%%é", i)] = &fstest.MapFile{Data: []byte("x")}
	}
	s := startWith(t, "samba", tree)
	root := "smb://" + lab.User + ":" + lab.Password + "@" + s.Addr("smb") + "/lab/"
	c := fetch.New(labOptions(), smb.Load)
	defer c.Close()
	var shares []string
	for _, e := range drive.MustList(t, c, strings.TrimSuffix(root, "lab/")) {
		shares = append(shares, e.Name)
	}
	if !slices.Equal(shares, []string{"lab", "sealed"}) {
		t.Errorf("shares %q", shares)
	}
	n, last := 0, fetch.Entry{}
	for _, e := range drive.MustList(t, c, root+"many/") {
		if e.Size != 1 || e.Kind != fetch.EntryObject {
			t.Errorf("%+v", e)
		}
		n, last = n+1, e
	}
	if n != 10_000 {
		t.Errorf("%d entries", n)
	}
	for url, want := range map[string]string{last.URL.String(): "x", root + "large.bin": string(tree["large.bin"].Data)} {
		got, err := drive.Get(t, c, url)
		if string(got) != want || err != nil {
			t.Errorf("%s: %d bytes, %v", url, len(got), err)
		}
	}
	for url, want := range map[string]fetch.Code{
		root + "none": fetch.ErrNotFound, root + "many": "", root + "large.bin/": fetch.ErrNotFound,
		strings.Replace(root, "/lab/", "/none/x", 1):                            fetch.ErrNotFound,
		strings.Replace(root, ":"+lab.Password+"@", ":wrong@", 1) + "large.bin": fetch.ErrAuth,
		strings.Replace(root, lab.User+":"+lab.Password+"@", "guest@", 1):       fetch.ErrAuth,
	} {
		if _, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(url)}); fetch.CodeOf(err) != want || want == "" && err != nil {
			t.Errorf("%s: %v, want %q", url, errors.Unwrap(err), want)
		}
	}
}

// TestSambaVariants reads files with each dialect and each algorithm for signing and encryption,
// and from an encrypted share.
func TestSambaVariants(t *testing.T) {
	roots := map[string]string{"encrypted share": "smb://" + lab.Start(t, "samba").Addr("smb") + "/sealed/"}
	s := lab.Start(t, "samba-variants")
	for _, variant := range lab.Services()[s.Name] {
		roots[variant] = "smb://" + s.Addr(variant) + "/lab/"
	}
	for name, root := range roots {
		t.Run(name, func(t *testing.T) {
			root := strings.Replace(root, "smb://", "smb://"+lab.User+":"+lab.Password+"@", 1)
			c := fetch.New(labOptions(), smb.Load)
			defer c.Close()
			for _, f := range lab.Fixture() {
				if strings.Contains(f.Name, "/") {
					continue
				}
				if got, err := c.ReadAll(t.Context(), root+f.Name, 0); err != nil || !bytes.Equal(got, f.Bytes()) {
					t.Errorf("%s: %d bytes of %d, %v", f.Name, len(got), f.Size, err)
				}
			}
			if n := len(drive.MustList(t, c, root+lab.ManyDir+"/")); n != 1000 {
				t.Errorf("%d of 1000 files are listed", n)
			}
			if _, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(strings.Replace(root, lab.User+":"+lab.Password, "guest", 1) + "hello.txt")}); !errors.Is(err, fetch.ErrAuth) {
				t.Errorf("a guest: %v", err)
			}
		})
	}
}
