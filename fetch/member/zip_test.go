package member_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/member"
)

// rawZip returns a zip file with one member "m" that is not compressed.
func rawZip(t testing.TB, h zip.FileHeader, content string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	h.Name, h.CompressedSize64 = "m", uint64(len(content))
	if h.UncompressedSize64 == 0 {
		h.UncompressedSize64 = h.CompressedSize64
	}
	out, err := w.CreateRaw(&h)
	if err == nil {
		_, err = io.WriteString(out, content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// patched returns data with the bytes at the offset from the end of its last record replaced.
func patched(data []byte, offset int, value ...byte) []byte {
	data = bytes.Clone(data)
	copy(data[bytes.LastIndex(data, []byte("PK\x05\x06"))+offset:], value)
	return data
}

func TestDamagedAndHostileZipFiles(t *testing.T) {
	t.Parallel()
	good := zipOf(t, file{"m", strings.Repeat("content ", 1000)})
	crc := crc32.ChecksumIEEE([]byte("content"))
	overlapping := func() []byte {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for range 2 {
			w.CreateRaw(&zip.FileHeader{Name: "m", CompressedSize64: 300, UncompressedSize64: 300})
		}
		w.Close()
		return b.Bytes()
	}()
	var packed bytes.Buffer
	z, _ := zstd.NewWriter(&packed, zstd.WithEncoderConcurrency(1))
	io.WriteString(z, "content")
	z.Close()
	for _, tt := range []struct {
		name string
		data []byte
		want string
		code fetch.Code
		says string
	}{
		{name: "stored", data: rawZip(t, zip.FileHeader{CRC32: crc}, "content"), want: "content"},
		{name: "zstd", data: rawZip(t, zip.FileHeader{CRC32: crc, Method: 93, UncompressedSize64: 7}, packed.String()), want: "content"},
		{name: "a zstd window of 256 MiB", data: rawZip(t, zip.FileHeader{Method: 93, UncompressedSize64: 1}, "\x28\xb5\x2f\xfd\x00\x90\x09\x00\x00x"),
			code: fetch.ErrNotRetrievable, says: "window"},
		{name: "wrong CRC", data: rawZip(t, zip.FileHeader{CRC32: crc + 1}, "content"), code: fetch.ErrChecksum},
		{name: "shorter than stated", data: rawZip(t, zip.FileHeader{CRC32: crc, UncompressedSize64: 8}, "content"), code: fetch.ErrTruncated},
		{name: "encrypted", data: rawZip(t, zip.FileHeader{CRC32: crc, Flags: 1}, "content"), code: fetch.ErrNotRetrievable, says: "encrypted"},
		{name: "a link", data: rawZip(t, withMode(fs.ModeSymlink|0o777, crc), "content"), code: fetch.ErrNotRetrievable, says: "is a link"},
		{name: "a device", data: rawZip(t, withMode(fs.ModeDevice|0o666, crc), "content"), code: fetch.ErrNotRetrievable, says: "not a file"},
		{name: "a name with a dot", data: zipOf(t, file{"./m", "1"}, file{"m", "2"}), code: fetch.ErrProtocol, says: "several members"},
		{name: "unknown method", data: rawZip(t, zip.FileHeader{CRC32: crc, Method: 14}, "content"), code: fetch.ErrNotRetrievable, says: "compression method 14"},
		{name: "two of one name", data: zipOf(t, file{"m", "1"}, file{"m", "2"}), code: fetch.ErrProtocol, says: "several members"},
		{name: "cut", data: good[:len(good)-30], code: fetch.ErrProtocol},
		{name: "only a beginning", data: []byte("PK\x03\x04"), code: fetch.ErrProtocol},
		{name: "damaged content", data: append(append(bytes.Clone(good[:40]), 0xff, 0xff, 0xff), good[43:]...), code: fetch.ErrProtocol},
		{name: "overlap", data: overlapping, code: fetch.ErrProtocol, says: "overlap"},
		{name: "65,000 files stated", data: patched(good, 8, 0xe8, 0xfd, 0xe8, 0xfd), code: fetch.ErrProtocol},
		{name: "a directory of 2 GiB", data: patched(good, 12, 0, 0, 0, 0x80), code: fetch.ErrTooLarge, says: "2147483648 bytes"},
		{name: "a comment after the end", data: patched(good, 20, 0xff, 0xff), code: fetch.ErrProtocol},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, noRanges := range []bool{false, true} {
				s := &store{files: map[string][]byte{"x.zip": tt.data}, noRanges: noRanges}
				got, err := get(t, s.client(nil, member.Options{}), "x-store:x.zip!/m")
				wantCode(t, tt.name, err, tt.code)
				if tt.code == "" && got != tt.want || tt.says != "" && !strings.Contains(err.Error(), tt.says) {
					t.Errorf("%q, %v", got, err)
				}
			}
		})
	}
}

// A server may state any size, and return records without end.
func withMode(mode fs.FileMode, crc uint32) zip.FileHeader {
	h := zip.FileHeader{CRC32: crc}
	h.SetMode(mode)
	return h
}

// Members whose names begin with "./" are those without it, as programs extract them.
func TestNamesBeginningWithADot(t *testing.T) {
	t.Parallel()
	files := []file{{"./a/b.txt", "b"}, {".//./top", "top"}}
	s := &store{files: map[string][]byte{"x.zip": zipOf(t, files...), "x.tar": tarOf(t, files...)}}
	c := s.client(nil, member.Options{})
	for name := range s.files {
		list, err := names(t, c, "x-store:"+name+"!/")
		if err != nil || !slices.Equal(list, []string{"a/b.txt", "top"}) {
			t.Errorf("%s: %q, %v", name, list, err)
		}
		if got, err := get(t, c, "x-store:"+name+"!/a/b.txt"); err != nil || got != "b" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		_, err = get(t, c, "x-store:"+name+"!/./top")
		wantCode(t, name, err, fetch.ErrNotFound)
	}
}

func TestEndlessDirectory(t *testing.T) {
	t.Parallel()
	record := make([]byte, 46)
	copy(record, "PK\x01\x02")
	// 65,536 more records than stated are not noticed by archive/zip.
	data := append([]byte("PK\x03\x04"), bytes.Repeat(record, 1<<16)...)
	end := make([]byte, 22)
	copy(end, "PK\x05\x06")
	binary.LittleEndian.PutUint32(end[16:], 4)
	s := &store{files: map[string][]byte{"x.zip": append(data, end...)}}
	_, err := names(t, s.client(nil, member.Options{}), "x-store:x.zip")
	wantCode(t, "endless", err, fetch.ErrTooLarge)
}

func TestZipOverServerWithoutRanges(t *testing.T) {
	t.Parallel()
	data := append(make([]byte, 2<<20), zipOf(t, contents...)...)
	copy(data, "PK\x03\x04")
	s := &store{files: map[string][]byte{"x.zip": data}, noRanges: true}
	c := s.client(nil, member.Options{})
	_, err := names(t, c, "x-store:x.zip")
	wantCode(t, "listing", err, fetch.ErrNotRetrievable)
	if err == nil || !strings.Contains(err.Error(), "no ranges") {
		t.Error(err)
	}
	_, err = get(t, c, "x-store:x.zip!/top")
	wantCode(t, "get", err, fetch.ErrNotRetrievable)
}

func TestUnsafeNamesAreShownAsErrors(t *testing.T) {
	t.Parallel()
	unsafe := []string{"../up", "/absolute", "a/../../up", "a\nb", "a\r", "nul\x00", `..\up`, `\absolute`, `C:\x`, "c:x", "a//b", "a/./b", "."}
	var files []file
	for _, name := range unsafe {
		files = append(files, file{name, "x"})
	}
	s := &store{files: map[string][]byte{"x.zip": zipOf(t, append(files, file{"safe", "x"}, file{"it's..fine", "x"})...)}}
	c := s.client(nil, member.Options{})
	objects := 0
	for e, err := range c.List(t.Context(), "x-store:x.zip") {
		switch {
		case err != nil:
			t.Fatal(err)
		case e.Kind == fetch.EntryObject:
			objects++
		case e.Kind != fetch.EntryError || !e.URL.IsZero():
			t.Errorf("%+v", e)
		}
	}
	if objects != 2 {
		t.Errorf("%d members, want 2", objects)
	}
}

// FuzzZip checks that no zip file, of any stated size, leads to a panic or to much memory, and that
// archive/zip finds no more files than the limits allow.
func FuzzZip(f *testing.F) {
	f.Add(zipOf(f, contents...))
	f.Add(rawZip(f, zip.FileHeader{Method: 93}, "content"))
	f.Add([]byte("PK\x05\x06" + strings.Repeat("\x00", 18)))
	f.Fuzz(func(t *testing.T, data []byte) {
		data = append([]byte("PK\x03\x04"), data...)
		s := &store{files: map[string][]byte{"x.zip": data}}
		c := s.client(&fetch.Policy{MaxSize: 1 << 20}, member.Options{MaxSize: 1 << 20})
		for e, err := range c.List(t.Context(), "x-store:x.zip") {
			if err != nil {
				break
			}
			if e.Kind != fetch.EntryObject {
				continue
			}
			if _, name, ok := member.Split(e.URL); !ok && !e.URL.IsZero() || ok && name != e.Name {
				t.Fatalf("the URL of %q is %s", e.Name, e.URL)
			}
			c.ReadAll(t.Context(), e.URL.String(), 1<<20)
		}
	})
}
