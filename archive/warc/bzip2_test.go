package warc

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// Two records, compressed with bzip2 together and one after the other.
const (
	bzip2Whole = "QlpoOTFBWSZTWUYyCcoAAGdfgAASQAP1FSwkFpAu595gMADYBhoZMgZGIMTJoaYMNDJkDIxBiZNDTAVUaUyaNAJ5TRpmiep6" +
		"nqZJknjK1i6Nm3ByUaziS4qLmDNCUyiEPpWci1elS5C9SE70IhU3vt8oOjSeb5zscNXdJgkvNTgomdkndCxMVpNjJuucHVRNi5s5NzFQqZIQvQya" +
		"Zec1a1L+O5teXou8J7LVjsoo1t5Ng0KFTi97HpoWOZ/i7kinChIIxkE5QA=="
	bzip2Parts = "QlpoOTFBWSZTWfxLGdoAADPfgAASQAP1FSwkFpAu5d5gIAByIo8p6nqNGgAABoPUGgqPU9Rib1RvUjI2k2ppkwwQz6Tvol2S" +
		"IYEy2S0QjConqAYO5LYjqjmfGvK5BfAf7YtiQkQtEWUxgQxTkYECFGdT14Kc/OhdZqDcI2C5OzY94GwS+qFe8ixaETJwf1gIDpRSS4PxdyRThQkP" +
		"xLGdoEJaaDkxQVkmU1mCT/WvAAAz34AAEkAD9RUsJBaQLufeYCAAchqj0Rk0aAaAANDIJQlPSeoaY1NpDQ9JpoeoFEM9vjGucbNhcJc6+dGRRzN0" +
		"qIm6SXrJXyZmfbnzYx1n3CEMkJoYELXKdkMmwUKkK/MrqRXTlQs0cPaRMJqA72OWD4bhbnjhikarMqgQ7HMIqrkvOm8fi7kinChIQSf614A="
)

func bzip2File(t testing.TB, text string) []byte {
	t.Helper()
	file, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestBzip2(t *testing.T) {
	t.Parallel()
	want := []string{"WARC/1.1 resource x:1 pear", "WARC/1.1 resource x:2 plum"}
	for name, text := range map[string]string{"whole": bzip2Whole, "one after the other": bzip2Parts} {
		file := bzip2File(t, text)
		if got := read(t, file); !slices.Equal(got, want) {
			t.Errorf("%s: %q", name, got)
		}
		s, err := Verify(bytes.NewReader(file), func(p Problem) { t.Errorf("%s: %+v", name, p) })
		if err != nil || s.Records != 2 {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
		r, err := NewReader(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		r.Next()
		second, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		offset, within := second.Offset, second.Within
		for range 2 {
			if err := r.SeekRecord(offset, within); err != nil {
				t.Fatal(err)
			}
			again, err := r.Next()
			if err != nil || again.TargetURI() != "x:2" {
				t.Errorf("%s: %+v, %v", name, again, err)
			}
		}
		if _, err := Index(bytes.NewReader(file), "a.warc.bz2", func(IndexEntry) error { return nil }); !errors.Is(err, errShared) {
			t.Errorf("%s: index: %v", name, err)
		}
	}
}

// A changed byte or a missing end never gives other content without an error.
func TestDamagedBzip2(t *testing.T) {
	t.Parallel()
	file := bzip2File(t, bzip2Whole)
	for i := 4; i < len(file); i += 5 {
		changed := slices.Clone(file)
		changed[i] ^= 0x55
		for name, damaged := range map[string][]byte{"cut": file[:i], "changed": changed} {
			r, err := NewReader(bytes.NewReader(damaged))
			if err != nil {
				t.Fatal(err)
			}
			all := ""
			for range 4 {
				rec, err := r.Next()
				if err == io.EOF {
					break
				}
				content := []byte("!")
				if err == nil {
					content, err = io.ReadAll(rec.Checked())
				}
				if err != nil {
					content = []byte("!")
				}
				all += string(content)
			}
			if !strings.Contains(all, "!") && (name == "cut" || all != "pearplum") {
				t.Errorf("byte %d, %s: %q without an error", i, name, all)
			}
		}
	}
}
