package mounted_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/protocols/file"
	"github.com/urlget/urlget/protocols/mounted"
)

func write(t testing.TB, name, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// withFile loads the driver and the file driver.
func withFile(opts mounted.Options) fetch.Loader {
	return func(env fetch.Env, reg *fetch.Registry) {
		file.Load(env, reg)
		mounted.With(opts)(env, reg)
	}
}

func TestMountedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"secret", "afs/secret", "afs/cell.example/a b", "home/x", "deep/y", "other port/z"} {
		write(t, filepath.Join(dir, name), name)
	}
	mounts := write(t, filepath.Join(dir, "mounts"), strings.ReplaceAll(`proc /proc proc rw 0 0
Server.Example:/ DIR/nowhere nfs4 rw,addr=192.0.2.1 0 0
server.example:/export/home DIR/home nfs rw,addr=192.0.2.1,port=0 0 0
server.example:/export/home/deep/ DIR/deep nfs4 ro 0 0
[2001:db8::1]:/v6 DIR/home nfs rw,addr=2001:db8::1 0 0
server.example:/export/home DIR/other\040port nfs rw,port=12049 0 0
server.example:/local DIR ext4 rw 0 0
short line
relative:path DIR nfs rw 0 0
`, "DIR", dir))
	c := drive.Client(t, nil, withFile(mounted.Options{AFS: filepath.Join(dir, "afs"), Mounts: mounts}))
	for url, want := range map[string]struct {
		text string
		code fetch.Code
	}{
		"afs://cell.example/a%20b":                       {"afs/cell.example/a b", ""},
		"afs://cell.example/../cell.example/a%20b":       {"", fetch.ErrNotFound},
		"afs://cell.example/../secret":                   {"", fetch.ErrNotFound},
		"afs://cell.example/%2E%2E%2Fsecret":             {"", fetch.ErrNotFound},
		"afs://cell.example/none":                        {"", fetch.ErrNotFound},
		"afs://other.example/a":                          {"", fetch.ErrNotRetrievable},
		"afs://../secret":                                {"", fetch.ErrURL},
		"afs:/secret":                                    {"", fetch.ErrURL},
		"afs://cell.example/a%00":                        {"", fetch.ErrURL},
		"nfs://server.example/export/home/x":             {"home/x", ""},
		"nfs://SERVER.example//export/home/./x":          {"home/x", ""},
		"nfs://192.0.2.1/export/home/x":                  {"home/x", ""},
		"nfs://[2001:db8::1]/v6/x":                       {"home/x", ""},
		"nfs://server.example/export/home/deep/y":        {"deep/y", ""},
		"nfs://server.example:12049/export/home/z":       {"other port/z", ""},
		"nfs://server.example/export/home/../../secret":  {"", fetch.ErrNotRetrievable},
		"nfs://server.example/export/home/%2e%2e/secret": {"", fetch.ErrNotRetrievable},
		"nfs://server.example/export/homeless":           {"", fetch.ErrNotRetrievable},
		"nfs://server.example:2050/export/home/x":        {"", fetch.ErrNotRetrievable},
		"nfs://other.example/export/home/x":              {"", fetch.ErrNotRetrievable},
		"nfs://server.example/%0A":                       {"", fetch.ErrURL},
	} {
		if got, err := drive.Get(t, c, url); got != want.text || want.code == "" && err != nil || want.code != "" && !errors.Is(err, want.code) {
			t.Errorf("%s: %q, %v; want %q, %q", url, got, err, want.text, want.code)
		}
	}
}

func TestNotMounted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := drive.Client(t, nil, withFile(mounted.Options{AFS: filepath.Join(dir, "afs"), Mounts: filepath.Join(dir, "mounts")}))
	for _, url := range []string{"afs://cell.example/a", "nfs://server.example/a"} {
		_, err := drive.Get(t, c, url)
		var e *fetch.Error
		if !errors.As(err, &e) || e.Code != fetch.ErrNotRetrievable || e.Hint == "" || e.Err == nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestRedirectsToMountsAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "cell.example/a"), "a")
	redirecting := fetch.Use("x-lure", fetch.DriverFunc(func(context.Context, *fetch.Request) (*fetch.Response, error) {
		return &fetch.Response{Location: []uri.URI{uri.MustParse("afs://cell.example/a")}, Body: fetch.NoBody}, nil
	}))
	c := drive.Client(t, nil, withFile(mounted.Options{AFS: dir}), redirecting)
	drive.Fails(t, c, "x-lure://h/", fetch.ErrPolicy)
}

func TestExplainNamesTheFile(t *testing.T) {
	t.Parallel()
	c := drive.Client(t, nil, withFile(mounted.Options{}))
	x, err := c.Explain(&fetch.Request{URL: uri.MustParse("afs://cell.example/a%20b/../c")})
	if err != nil || len(x.Steps) != 1 || x.Steps[0] != "open file:///afs/cell.example/c" {
		t.Errorf("%+v, %v", x, err)
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	fetchtest.Run(t, fetchtest.Harness{Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
		dir := t.TempDir()
		if err := os.CopyFS(filepath.Join(dir, "cell.example"), tree); err != nil {
			t.Fatal(err)
		}
		return fetchtest.Site{
			Load: withFile(mounted.Options{AFS: dir}),
			URL: func(name string) string {
				if name == "." {
					name = ""
				}
				parts := strings.Split(name, "/")
				for i, part := range parts {
					if parts[i] = uri.Escape(part); strings.ContainsAny(part, "\r\n\x00") {
						parts[i] = strings.NewReplacer("\r", "%0D", "\n", "%0A", "\x00", "%00").Replace(part)
					}
				}
				return "afs://cell.example/" + strings.Join(parts, "/")
			},
		}
	}})
}
