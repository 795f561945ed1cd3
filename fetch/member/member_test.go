package member_test

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/member"
	"github.com/urlget/urlget/fetch/uri"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		url, archive, name string
		ok                 bool
	}{
		{"https://h/x.zip!/a/b.txt", "https://h/x.zip", "a/b.txt", true},
		{"https://h/x.zip!/a%20b%3F#part", "https://h/x.zip", "a b?", true},
		{"https://h/x.zip!/", "https://h/x.zip", "", true},
		{"https://h/x.zip!/a!/b", "https://h/x.zip", "a!/b", true},
		{"https://h/get?file=x.zip!/a", "https://h/get?file=x.zip", "a", true},
		{"ftp://u:p@h/d/x.zip!/a", "ftp://u:p@h/d/x.zip", "a", true},
		{"file:///d/x.zip!/a", "file:///d/x.zip", "a", true},
		{"https://h!/x.zip", "", "", false},
		{"https://h/!/a", "", "", false},
		{"https://h/x.zip%21/a", "", "", false},
		{"https://h/x.zip!/a%0Db", "", "", false},
		{"https://h/x.zip!", "", "", false},
		{"https://h/x#!/a", "", "", false},
	} {
		archive, name, ok := member.Split(uri.MustParse(tt.url))
		if archive.String() != tt.archive || name != tt.name || ok != tt.ok {
			t.Errorf("%s: %q, %q, %v", tt.url, archive, name, ok)
		}
	}
}

var contents = []file{{"a/b.txt", strings.Repeat("hello\n", 100)}, {"a/c d?.html", "<p>c</p>"}, {"top", "top"}}

// formats returns a store with the same members in every format.
func formats(t *testing.T) *store {
	t.Helper()
	tarFile := tarOf(t, append([]file{{"./", ""}, {"a/", ""}}, contents...)...)
	return &store{files: map[string][]byte{"x.zip": zipOf(t, append([]file{{"a/", ""}}, contents...)...), "x.tar": tarFile,
		"x.tgz": gzipOf(tarFile), "x.tar.zst": zstdOf(tarFile)}}
}

func TestMembersOfEveryFormat(t *testing.T) {
	t.Parallel()
	for _, noRanges := range []bool{false, true} {
		s := formats(t)
		s.noRanges = noRanges
		c := s.client(nil, member.Options{})
		for name := range s.files {
			base := "x-store:" + name
			if got, err := names(t, c, base); err != nil || !slices.Equal(got, []string{"a/b.txt", "a/c d?.html", "top"}) {
				t.Errorf("%s: %q, %v", base, got, err)
			}
			for dir, want := range map[string][]string{"!/a/": {"a/b.txt", "a/c d?.html"}, "!/": {"a/b.txt", "a/c d?.html", "top"}} {
				if got, err := names(t, c, base+dir); err != nil || !slices.Equal(got, want) {
					t.Errorf("%s%s: %q, %v", base, dir, got, err)
				}
			}
			for _, f := range contents {
				u := base + "!/" + strings.NewReplacer(" ", "%20", "?", "%3F").Replace(f.name)
				if got, err := get(t, c, u); err != nil || got != f.content {
					t.Errorf("%s: %q, %v", u, got, err)
				}
				m, err := stat(t, c, u)
				if err != nil || m.Size != int64(len(f.content)) || !m.ModTime.Equal(modified) {
					t.Errorf("%s: %+v, %v", u, m, err)
				}
			}
			for _, missing := range []string{"!/none", "!/none/", "!/a/b", "!/../top", "!/a//b.txt"} {
				_, err := get(t, c, base+missing)
				if err == nil {
					_, err = names(t, c, base+missing)
				}
				wantCode(t, base+missing, err, fetch.ErrNotFound)
			}
		}
	}
}

func TestMediaTypeAndValidatorOfMember(t *testing.T) {
	t.Parallel()
	c := formats(t).client(nil, member.Options{})
	m, err := stat(t, c, "x-store:x.zip!/a/b.txt")
	if err != nil || m.ContentType != "text/plain" || m.Name != "b.txt" || m.ETag == "" {
		t.Fatalf("%+v, %v", m, err)
	}
	for _, v := range []fetch.Validator{{ETag: m.ETag}, {ModTime: m.ModTime}} {
		_, err = c.Do(t.Context(), &fetch.Request{URL: uri.MustParse("x-store:x.zip!/a/b.txt"), IfChanged: v})
		wantCode(t, "unchanged", err, fetch.ErrNotModified)
	}
}

func TestResourceOfThatNameComesFirst(t *testing.T) {
	t.Parallel()
	s := formats(t)
	s.files["x.zip!/top"] = []byte("from the server")
	c := s.client(nil, member.Options{})
	if got, err := get(t, c, "x-store:x.zip!/top"); err != nil || got != "from the server" || len(s.requests) != 1 {
		t.Errorf("%q, %v, %q", got, err, s.requests)
	}
	if m, err := stat(t, c, "x-store:x.zip!/top"); err != nil || m.Size != 15 {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestOtherResourcesAreNotArchives(t *testing.T) {
	t.Parallel()
	s := &store{files: map[string][]byte{"page.zip": []byte("<p>page</p>"), "empty.zip": nil, "x.gz": gzipOf([]byte("text")), "x.bin": zipOf(t, contents...)}}
	c := s.client(nil, member.Options{})
	for _, u := range []string{"page.zip", "empty.zip", "x.gz", "x.bin", "none.zip"} {
		_, err := names(t, c, "x-store:"+u)
		wantCode(t, u, err, fetch.ErrNotRetrievable)
	}
	s.requests = nil
	for _, u := range []string{"page.zip!/a", "empty.zip!/a", "x.gz!/a", "none.zip!/a", "none/b"} {
		_, err := get(t, c, "x-store:"+u)
		wantCode(t, u, err, fetch.ErrNotFound)
	}
	if n := slices.Index(s.requests, "get none/b"); n != len(s.requests)-1 {
		t.Errorf("a missing resource led to more requests: %q", s.requests)
	}
	if got, err := names(t, c, "x-store:x.bin!/"); err != nil || len(got) != 3 {
		t.Errorf("%q, %v", got, err)
	}
}

func TestPolicyLimitsMembers(t *testing.T) {
	t.Parallel()
	bomb := strings.Repeat("\x00", 4<<20)
	tarBomb := tarOf(t, file{"bomb", bomb}, file{"after", "small"})
	s := &store{files: map[string][]byte{"x.zip": zipOf(t, file{"bomb", bomb}, file{"after", "small"}), "x.tgz": gzipOf(tarBomb), "x.tar.zst": zstdOf(tarBomb)}}
	const limit = 1 << 20
	c := s.client(&fetch.Policy{MaxSize: limit}, member.Options{MaxSize: limit})
	for name := range s.files {
		_, err := get(t, c, "x-store:"+name+"!/bomb")
		wantCode(t, name, err, fetch.ErrTooLarge)
		got, err := get(t, c, "x-store:"+name+"!/after")
		if name == "x.zip" {
			if err != nil || got != "small" {
				t.Errorf("%q, %v", got, err)
			}
			continue
		}
		wantCode(t, name+", after the bomb", err, fetch.ErrTooLarge)
		_, err = names(t, c, "x-store:"+name)
		wantCode(t, name+", listed", err, fetch.ErrTooLarge)
	}
}

// A member that is read through Client.Open has no ranges, but can be read.
func TestMemberAsResource(t *testing.T) {
	t.Parallel()
	r, err := formats(t).client(nil, member.Options{}).Open(t.Context(), &fetch.Request{URL: uri.MustParse("x-store:x.zip!/top")})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || string(got) != "top" {
		t.Errorf("%q, %v", got, err)
	}
}
