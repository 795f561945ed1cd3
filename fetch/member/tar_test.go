package member_test

import (
	"archive/tar"
	"bytes"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/member"
)

func TestDamagedTarFiles(t *testing.T) {
	t.Parallel()
	var links bytes.Buffer
	w := tar.NewWriter(&links)
	w.WriteHeader(&tar.Header{Name: "m", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"})
	w.WriteHeader(&tar.Header{Name: "d/m", Typeflag: tar.TypeReg})
	w.Close()
	good := tarOf(t, file{"a", strings.Repeat("x", 5000)}, file{"m", strings.Repeat("content ", 1000)})
	packed := gzipOf(good)
	for _, tt := range []struct {
		name, member string
		data         []byte
		code         fetch.Code
		says         string
	}{
		{"a symbolic link", "m", links.Bytes(), fetch.ErrNotRetrievable, `link to "/etc/passwd"`},
		{"a directory without its slash", "d", links.Bytes(), fetch.ErrRefused, "it is a directory"},
		{"cut within the member", "m", good[:len(good)-4000], fetch.ErrTruncated, ""},
		{"cut before the member", "m", good[:3000], fetch.ErrTruncated, ""},
		{"cut gzip", "m", packed[:len(packed)-40], fetch.ErrTruncated, ""},
		{"damaged header", "m", append(append(bytes.Clone(good[:6000]), bytes.Repeat([]byte("z"), 1024)...), good[7024:]...), fetch.ErrProtocol, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, noRanges := range []bool{false, true} {
				s := &store{files: map[string][]byte{"x.tar": tt.data}, noRanges: noRanges}
				_, err := get(t, s.client(nil, member.Options{}), "x-store:x.tar!/"+tt.member)
				wantCode(t, tt.name, err, tt.code)
				if err == nil || !strings.Contains(err.Error(), tt.says) {
					t.Error(err)
				}
			}
		})
	}
	// A listing shows what came before the damage.
	s := &store{files: map[string][]byte{"x.tgz": packed[:len(packed)-40]}}
	got, err := names(t, s.client(nil, member.Options{}), "x-store:x.tgz")
	wantCode(t, "listing", err, fetch.ErrTruncated)
	if len(got) == 0 || got[0] != "a" {
		t.Errorf("%q", got)
	}
}

// Headers are read by ranges, and the contents between them are not.
func TestTarListingSkipsContents(t *testing.T) {
	t.Parallel()
	s := &store{files: map[string][]byte{"x.tar": tarOf(t, file{"a", strings.Repeat("x", 8<<20)}, file{"b", strings.Repeat("y", 8<<20)}, file{"c", "z"})}}
	got, err := names(t, s.client(nil, member.Options{}), "x-store:x.tar")
	if err != nil || len(got) != 3 || len(s.requests) > 8 {
		t.Errorf("%q, %v after %q", got, err, s.requests)
	}
}

// FuzzTar checks that no tar file leads to a panic, and that names in URLs are those of entries.
func FuzzTar(f *testing.F) {
	f.Add(tarOf(f, contents...))
	f.Add(gzipOf(tarOf(f, contents...)))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &store{files: map[string][]byte{"x.tar": data}}
		c := s.client(&fetch.Policy{MaxSize: 1 << 20}, member.Options{MaxSize: 1 << 20})
		for e, err := range c.List(t.Context(), "x-store:x.tar") {
			if err != nil {
				break
			}
			if _, name, ok := member.Split(e.URL); e.Kind == fetch.EntryObject && (!ok && !e.URL.IsZero() || ok && name != e.Name) {
				t.Fatalf("the URL of %q is %s", e.Name, e.URL)
			}
		}
	})
}
