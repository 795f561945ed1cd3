package member_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
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

// The checksum of gzip and zstd follows the end of the tar file, which ends with blocks of zeros. What follows
// the compressed file is ignored, as gzip does, because tapes and some tools pad it.
func TestChecksumsBehindTarFiles(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5<<20) // passed on before the end of the archive
	plain := tarOf(t, file{"m", "the content"}, file{"long", long})
	var stored bytes.Buffer
	w, _ := gzip.NewWriterLevel(&stored, gzip.NoCompression)
	w.Write(plain)
	w.Close()
	flipped := bytes.Clone(stored.Bytes())
	flipped[bytes.Index(flipped, []byte("the content"))] ^= 1
	zst := zstdOf(plain)
	zst[len(zst)-1] ^= 1
	packed := gzipOf(plain)
	for _, tt := range []struct {
		name string
		data []byte
		code fetch.Code
	}{
		{"whole", stored.Bytes(), ""},
		{"a flipped bit", flipped, fetch.ErrChecksum},
		{"a flipped bit of zstd", zst, fetch.ErrChecksum},
		{"cut in the checksum", packed[:len(packed)-4], fetch.ErrTruncated},
		{"cut before the checksum", packed[:len(packed)-8], fetch.ErrTruncated},
		{"padded with zeros", append(bytes.Clone(packed), make([]byte, 10240)...), ""},
		{"followed by text", append(bytes.Clone(packed), "-----END OF FILE-----\n"...), ""},
		{"followed by another file", append(bytes.Clone(packed), gzipOf([]byte("x"))...), ""},
		{"followed by a damaged file", append(bytes.Clone(packed), packed[:len(packed)-4]...), fetch.ErrTruncated},
	} {
		for _, noRanges := range []bool{false, true} {
			s := &store{files: map[string][]byte{"x.tgz": tt.data}, noRanges: noRanges}
			c := s.client(nil, member.Options{})
			for _, name := range []string{"m", "long"} {
				if _, err := get(t, c, "x-store:x.tgz!/"+name); fetch.CodeOf(err) != tt.code {
					t.Errorf("%s (no ranges: %v): %s: %v, want class %q", tt.name, noRanges, name, err, tt.code)
				}
			}
			if got, err := names(t, c, "x-store:x.tgz"); fetch.CodeOf(err) != tt.code || len(got) != 2 {
				t.Errorf("%s (no ranges: %v): %q, %v, want class %q", tt.name, noRanges, got, err, tt.code)
			}
		}
	}
}

// The last of several members of one name counts, as tar leaves it.
func TestLastMemberOfAName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", 1<<20)
	for _, tt := range []struct {
		name  string
		files []file
		want  string
	}{
		{"short", []file{{"m", "first"}, {"other", "x"}, {"m", "second"}, {"./m", "third"}, {"M", "upper"}}, "third"},
		{"to empty", []file{{"m", "first"}, {"m", ""}}, ""},
		{"long, then short", []file{{"m", long}, {"m", "second"}}, "second"},
		{"short, then long", []file{{"m", "first"}, {"m", long}, {"m/", ""}}, long},
		{"only one, long", []file{{"a", "x"}, {"m", long}, {"z", "x"}}, long},
		{"in front of a directory", []file{{"m", "first"}, {"m/below", "x"}}, "first"},
	} {
		plain := tarOf(t, tt.files...)
		for name, data := range map[string][]byte{"x.tar": plain, "x.tgz": gzipOf(plain), "x.tar.zst": zstdOf(plain)} {
			for _, noRanges := range []bool{false, true} {
				s := &store{files: map[string][]byte{name: data}, noRanges: noRanges}
				c := s.client(nil, member.Options{})
				got, err := get(t, c, "x-store:"+name+"!/m")
				if (name != "x.tar" || noRanges) && tt.name == "long, then short" {
					if wantCode(t, name, err, fetch.ErrProtocol); err == nil || !strings.Contains(err.Error(), `a later member has the name "m" too`) {
						t.Error(err)
					}
				} else if err != nil || got != tt.want {
					t.Errorf("%s in %s (no ranges: %v): %.20q, %v", tt.name, name, noRanges, got, err)
				}
				if m, err := stat(t, c, "x-store:"+name+"!/m"); err != nil || m.Size != int64(len(tt.want)) {
					t.Errorf("%s in %s: %+v, %v", tt.name, name, m, err)
				}
			}
		}
	}
	// The last may be no file.
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	w.WriteHeader(&tar.Header{Name: "m", Typeflag: tar.TypeReg})
	w.WriteHeader(&tar.Header{Name: "m", Typeflag: tar.TypeLink, Linkname: "x"})
	w.Close()
	_, err := get(t, (&store{files: map[string][]byte{"x.tar": b.Bytes()}}).client(nil, member.Options{}), "x-store:x.tar!/m")
	wantCode(t, "a link", err, fetch.ErrNotRetrievable)
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
