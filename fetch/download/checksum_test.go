package download_test

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/fetch/uri"
)

func TestChecksum(t *testing.T) {
	t.Parallel()
	content, other := pattern(2<<20, 1), pattern(4<<20, 2)
	for _, segments := range []int{1, 4} {
		for _, sum := range []string{
			fmt.Sprintf("sha256:%x", sha256.Sum256(content)),
			fmt.Sprintf("SHA512:%X", sha512.Sum512(content)),
			fmt.Sprintf("sha384:%x", sha512.Sum384(content)),
			fmt.Sprintf("sha224:%x", sha256.Sum224(content)),
			fmt.Sprintf("sha1:%x", sha1.Sum(content)),
			fmt.Sprintf("md5:%x", md5.Sum(content)),
		} {
			dir := t.TempDir()
			d := newLiar(content, reply{cut: 1000}).downloader(t, dir)
			opts := &download.Options{Checksum: sum, Segments: segments, Retry: retry.Policy{Wait: 1}}
			if _, err := d.Get(t.Context(), liarURL, "", opts); err != nil {
				t.Errorf("%s: %v", sum, err)
			}
			d = newLiar(other).downloader(t, t.TempDir())
			if _, err := d.Get(t.Context(), liarURL, "", opts); !errors.Is(err, fetch.ErrChecksum) {
				t.Errorf("%s of other content: %v", sum, err)
			}
			if have := contents(t, d.Root.Name()); len(have) != 0 {
				t.Errorf("left after a wrong checksum: %q", names(have))
			}
		}
	}
}

// The checksum of a resumed transfer includes the bytes of earlier runs.
func TestChecksumOfResumed(t *testing.T) {
	t.Parallel()
	content := pattern(5000, 1)
	dir := t.TempDir()
	l := newLiar(content, reply{cut: 1000}, reply{err: stop})
	d := l.downloader(t, dir)
	if _, err := d.Get(t.Context(), liarURL, "", nil); !errors.Is(err, fetch.ErrAuth) {
		t.Fatal(err)
	}
	if err := d.Root.WriteFile("file.bin.part", make([]byte, 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	opts := &download.Options{Exists: download.Resume, Checksum: fmt.Sprintf("sha256:%x", sha256.Sum256(content))}
	if _, err := d.Get(t.Context(), liarURL, "", opts); !errors.Is(err, fetch.ErrChecksum) {
		t.Fatal(err)
	}
	if _, err := d.Get(t.Context(), liarURL, "", opts); err != nil {
		t.Errorf("the damaged part is in the way: %v", err)
	}
	if got := l.requests(); !slices.Equal(got, []string{"all", "1000+0 if", "1000+0 if", "all"}) {
		t.Errorf("requests %q", got)
	}
}

func TestCheckChecksum(t *testing.T) {
	t.Parallel()
	l := newLiar(nil)
	d, wrong := l.downloader(t, t.TempDir()), &download.Options{Checksum: "sha256"}
	_, saved := d.Get(t.Context(), liarURL, "", wrong)
	_, copied := d.Copy(t.Context(), &fetch.Request{URL: uri.MustParse(liarURL)}, io.Discard, wrong)
	if !errors.Is(saved, fetch.ErrRequest) || !errors.Is(copied, fetch.ErrRequest) || len(l.requests()) > 0 {
		t.Errorf("%v, %v after %d requests", saved, copied, len(l.requests()))
	}
	for _, sum := range []string{"", "sha256", "sha256:", "sha256:00", "md5:zz", "crc32:00000000", "md5:" + strings.Repeat("0", 31)} {
		if download.CheckChecksum(sum) == nil {
			t.Errorf("%q is taken", sum)
		}
	}
	if err := download.CheckChecksum("md5:" + strings.Repeat("0", 32)); err != nil {
		t.Error(err)
	}
}
