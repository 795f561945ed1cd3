package ftp

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
)

// TestStatedDigest asks servers with different commands, of which some lie.
func TestStatedDigest(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("0123456789", 30_000)
	tree := fstest.MapFS{"a.bin": {Data: []byte(content)}, "a b.bin": {Data: []byte(content)}}
	size := len(content)
	feat := func(lines ...string) string {
		return "211-Features:\r\n " + strings.Join(lines, "\r\n ") + "\r\n211 End\r\n"
	}
	right, wrong := sha256.Sum256([]byte(content)), sha256.Sum256(nil)
	tests := []struct {
		name    string
		path    string
		replies map[string]string
		by      string // "" for no digest
		code    fetch.Code
	}{
		{name: "none", replies: map[string]string{"FEAT": feat("SIZE")}},
		{name: "no FEAT", replies: map[string]string{"FEAT": "500 ?\r\n"}},
		{name: "HASH", replies: map[string]string{"FEAT": feat("HASH SHA-256*;MD5"), "HASH": fmt.Sprintf("213 SHA-256 0-%d %x a.bin\r\n", size, right)}, by: "hash"},
		{name: "HASH up to the last byte", replies: map[string]string{"FEAT": feat("HASH SHA-256*"), "HASH": fmt.Sprintf("213 SHA-256 0-%d %X a.bin\r\n", size-1, right)}, by: "hash"},
		{name: "HASH selected by OPTS", replies: map[string]string{"FEAT": feat("HASH MD5*;SHA-256"), "OPTS": "200 ok\r\n",
			"HASH": fmt.Sprintf("213 SHA-256 0-%d %x a.bin\r\n", size, right)}, by: "hash"},
		{name: "HASH of another function", replies: map[string]string{"FEAT": feat("HASH SHA-1*"), "HASH": fmt.Sprintf("213 SHA-1 0-%d %x a.bin\r\n", size, sha1.Sum([]byte(content)))}, by: "hash"},
		{name: "wrong HASH", replies: map[string]string{"FEAT": feat("HASH SHA-256*"), "HASH": fmt.Sprintf("213 SHA-256 0-%d %x a.bin\r\n", size, wrong)}, by: "hash", code: fetch.ErrChecksum},
		{name: "HASH of a part", replies: map[string]string{"FEAT": feat("HASH SHA-256*"), "HASH": fmt.Sprintf("213 SHA-256 0-4 %x a.bin\r\n", wrong)}},
		{name: "HASH refused", replies: map[string]string{"FEAT": feat("HASH SHA-256*"), "HASH": "556 too large\r\n"}},
		{name: "XSHA256", replies: map[string]string{"FEAT": feat("XMD5", "XSHA256"), "XSHA256": fmt.Sprintf("250 %X\r\n", right)}, by: "xsha256"},
		{name: "wrong XSHA256", replies: map[string]string{"FEAT": feat("XSHA256 filename;start;end"), "XSHA256": fmt.Sprintf("250 %x a.bin\r\n", wrong)}, by: "xsha256", code: fetch.ErrChecksum},
		{name: "XSHA1", replies: map[string]string{"FEAT": feat("XSHA1"), "XSHA1": fmt.Sprintf("250 XSHA1 successful: %x\r\n", sha1.Sum([]byte(content)))}, by: "xsha1"},
		{name: "wrong XSHA1", replies: map[string]string{"FEAT": feat("XSHA1"), "XSHA1": fmt.Sprintf("250 %x\r\n", sha1.Sum(nil))}, by: "xsha1", code: fetch.ErrChecksum},
		{name: "XMD5", replies: map[string]string{"FEAT": feat("XMD5"), "XMD5": fmt.Sprintf("250 %x\r\n", md5.Sum([]byte(content)))}, by: "xmd5"},
		{name: "wrong XMD5", replies: map[string]string{"FEAT": feat("XMD5"), "XMD5": fmt.Sprintf("250 %x\r\n", md5.Sum(nil))}, by: "xmd5", code: fetch.ErrChecksum},
		{name: "rubbish", replies: map[string]string{"FEAT": feat("XMD5"), "XMD5": "250 \x1b[31mno digest\r\n"}},
		{name: "a name with a space", path: "/a%20b.bin", replies: map[string]string{"FEAT": feat("XMD5"), "XMD5": fmt.Sprintf("250 %x\r\n", md5.Sum(nil))}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := ftpd.Start(t, ftpd.Options{Tree: tree, Replies: tt.replies})
			if tt.path == "" {
				tt.path = "/a.bin"
			}
			u := uri.MustParse("ftp://" + s.Addr + tt.path)
			c := drive.Client(t, nil, Load)
			body, resp, err := drive.Do(t, c, &fetch.Request{URL: u, WantDigest: true})
			if fetch.CodeOf(err) != tt.code || err == nil && body != content {
				t.Fatalf("%d bytes, %v, want code %q", len(body), err, tt.code)
			}
			by := fetch.StrongestDigest(resp.Digests).By
			if by != tt.by {
				t.Errorf("digest by %q, want %q", by, tt.by)
			}
			if stat, err := c.Stat(t.Context(), &fetch.Request{URL: u, Op: fetch.OpStat, WantDigest: true}); err != nil || fetch.StrongestDigest(stat.Digests).By != tt.by {
				t.Errorf("stat: %v, digests %v", err, stat.Digests)
			}
			// A resumed and a segmented download ask by themselves.
			for _, opts := range []download.Options{{Exists: download.Resume}, {Segments: 2}} {
				root, err := os.OpenRoot(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				defer root.Close()
				if opts.Exists == download.Resume {
					if err := root.WriteFile("f", []byte(content[:size/2]), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				d := &download.Downloader{Client: c, Root: root}
				res, err := d.Do(t.Context(), &fetch.Request{URL: u}, "f", &opts)
				if fetch.CodeOf(err) != tt.code || err == nil && (res.Proof != nil) != (tt.by != "") {
					t.Errorf("%+v: %+v, %v, want code %q", opts, res, err, tt.code)
				}
			}
		})
	}
}

// Without a reason to ask, no command is sent.
func TestNoDigestIsRequested(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{Tree: small})
	drive.Gets(t, drive.Client(t, nil, Load), "ftp://"+s.Addr+"/motd", string(small["motd"].Data))
	if log := strings.Join(s.Log(), "\n"); strings.Contains(log, "FEAT") {
		t.Errorf("commands %q", log)
	}
}

func FuzzParseHash(f *testing.F) {
	f.Add("SHA-256 0-49 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 name", "SHA-256*;SHA-1;MD5")
	f.Add("D41D8CD98F00B204E9800998ECF8427E", "MD5*;")
	f.Fuzz(func(t *testing.T, reply, facts string) {
		r := wire.Reply{Code: 213, Lines: []string{reply}}
		if d, ok := parseHash(r, -1); ok && len(d.Sum) != fetch.NewHash(d.Algorithm).Size() {
			t.Errorf("%q: %v", reply, d)
		}
		if d, ok := parseSum(r, "md5"); ok && len(d.Sum) != md5.Size {
			t.Errorf("%q: %v", reply, d)
		}
		preferredHash(facts)
	})
}
