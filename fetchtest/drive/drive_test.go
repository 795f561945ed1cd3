package drive

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/file"
)

// A failing records failures. Fatalf panics to end its caller.
type failing struct {
	testing.TB
	failures []string
}

func (f *failing) Errorf(format string, args ...any) {
	f.failures = append(f.failures, fmt.Sprintf(format, args...))
}

func (f *failing) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	panic(f)
}

func TestOnlyTheExpectedOutcomePasses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	root := "file://" + filepath.ToSlash(dir)
	c := Client(t, nil, file.Load)
	for name, tt := range map[string]struct {
		assert func(t testing.TB)
		fails  string // expected failure message
	}{
		"the content":               {func(t testing.TB) { Gets(t, c, root+"/a", "content") }, ""},
		"another content":           {func(t testing.TB) { Gets(t, c, root+"/a", "other") }, `"content", error <nil>, want "other"`},
		"an error for the content":  {func(t testing.TB) { Gets(t, c, root+"/none", "") }, "not found"},
		"the class":                 {func(t testing.TB) { Fails(t, c, root+"/none", fetch.ErrNotFound) }, ""},
		"another class":             {func(t testing.TB) { Fails(t, c, root+"/none", fetch.ErrURL) }, `want one of class "malformed URL"`},
		"any content for a failure": {func(t testing.TB) { Fails(t, c, root+"/a", fetch.ErrNotFound) }, `"content", error <nil>`},
		"any content for no class":  {func(t testing.TB) { Fails(t, c, root+"/a", "") }, `"content", error <nil>`},
		"what is needed":            {func(t testing.TB) { MustGet(t, c, root+"/a") }, ""},
		"a listing":                 {func(t testing.TB) { MustList(t, c, root+"/") }, ""},
		"a listing is missing":      {func(t testing.TB) { MustList(t, c, root+"/none/") }, "not found"},
		"what is needed is missing": {func(t testing.TB) { MustGet(t, c, root+"/none") }, "not found"},
	} {
		f := &failing{TB: t}
		func() {
			defer func() {
				if p := recover(); p != nil && p != any(f) {
					panic(p)
				}
			}()
			tt.assert(f)
		}()
		if got := strings.Join(f.failures, "\n"); (got == "") != (tt.fails == "") || !strings.Contains(got, tt.fails) {
			t.Errorf("%s: the test fails with %q, want %q", name, got, tt.fails)
		}
	}
}

func TestResponsesAndListingsAreReturned(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	root := "file://" + filepath.ToSlash(dir)
	c := Client(t, nil, file.Load)
	body, resp, err := Do(t, c, &fetch.Request{URL: uri.MustParse(root + "/a"), Range: fetch.Range{Offset: 3}})
	if body != "tent" || err != nil || resp.Total != 7 {
		t.Errorf("%q, %+v, %v", body, resp, err)
	}
	if body, resp, err := Do(t, c, &fetch.Request{URL: uri.MustParse(root + "/none")}); body != "" || resp != nil || fetch.CodeOf(err) != fetch.ErrNotFound {
		t.Errorf("%q, %+v, %v", body, resp, err)
	}
	if entries, err := List(t, c, root+"/"); len(entries) != 1 || entries[0].Name != "a" || err != nil {
		t.Errorf("%v, %v", entries, err)
	}
	if entries, err := List(t, c, root+"/none/"); len(entries) != 0 || fetch.CodeOf(err) != fetch.ErrNotFound {
		t.Errorf("%v, %v", entries, err)
	}
}
