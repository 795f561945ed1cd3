package sftp

import (
	"crypto/md5"
	"crypto/sha256"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/sftpd"
	"github.com/urlget/urlget/internal/codec/filexfer"
)

// TestStatedDigest asks servers with different forms of the extension, of which some lie.
func TestStatedDigest(t *testing.T) {
	t.Parallel()
	right := func(content []byte) (string, []byte) {
		sum := sha256.Sum256(content)
		return "sha256", sum[:]
	}
	type check = func(string, []byte) (string, []byte)
	for name, tt := range map[string]struct {
		check check
		proof bool
		code  fetch.Code
	}{
		"no extension": {},
		"by handle":    {check: func(_ string, b []byte) (string, []byte) { return right(b) }, proof: true},
		"as in Paramiko": {check: func(name string, b []byte) (string, []byte) {
			if name == "check-file" {
				return right(b)
			}
			return "", nil
		}, proof: true},
		"MD5":                  {check: func(_ string, b []byte) (string, []byte) { sum := md5.Sum(b); return "md5", sum[:] }, proof: true},
		"wrong":                {check: func(string, []byte) (string, []byte) { return right(nil) }, code: fetch.ErrChecksum},
		"an unknown algorithm": {check: func(string, []byte) (string, []byte) { return "rot13", []byte("x") }},
		"a wrong length":       {check: func(string, []byte) (string, []byte) { return "sha256", []byte("x") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sftpd.Start(t, sftpd.Options{Tree: tree(), CheckFile: tt.check})
			c := client(t, options(t, s), nil)
			u := uri.MustParse(s.URL + "/large")
			content := tree()["large"].Data
			body, resp, err := drive.Do(t, c, &fetch.Request{URL: u, WantDigest: true})
			if fetch.CodeOf(err) != tt.code || err == nil && (body != string(content) || (len(resp.Digests) > 0) != tt.proof) {
				t.Errorf("%d bytes, digests %v, %v", len(body), resp.Digests, err)
			}
			for _, opts := range []download.Options{{Exists: download.Resume}, {Segments: 2}} {
				root, err := os.OpenRoot(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				defer root.Close()
				if opts.Exists == download.Resume {
					if err := root.WriteFile("f", content[:len(content)/2], 0o600); err != nil {
						t.Fatal(err)
					}
				}
				d := &download.Downloader{Client: c, Root: root}
				res, err := d.Do(t.Context(), &fetch.Request{URL: u}, "f", &opts)
				if fetch.CodeOf(err) != tt.code || err == nil && (res.Proof != nil) != tt.proof {
					t.Errorf("%+v: %+v, %v, want code %q", opts, res, err, tt.code)
				}
			}
			before := len(s.Log())
			drive.Gets(t, c, s.URL+"/dir/a.txt", "content of a")
			if slices.ContainsFunc(s.Log()[before:], func(line string) bool { return strings.HasPrefix(line, "EXTENDED") }) {
				t.Errorf("a digest was requested without a reason: %q", s.Log()[before:])
			}
		})
	}
}

func FuzzParseCheckFile(f *testing.F) {
	f.Add(filexfer.Append(nil, filexfer.TypeExtendedReply, 1, "check-file", "md5")[9:])
	f.Add(append(filexfer.Append(nil, filexfer.TypeExtendedReply, 1, "md5")[9:], "0123456789abcdef"...))
	f.Fuzz(func(t *testing.T, payload []byte) {
		d, ok := parseCheckFile(filexfer.Message{Payload: payload}.Fields())
		if ok && len(d.Sum) != fetch.NewHash(d.Algorithm).Size() {
			t.Errorf("%q: %v", payload, d)
		}
	})
}
