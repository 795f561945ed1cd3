package fetchfs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/fetchfs"
	"github.com/urlget/urlget/fetch/uri"
)

var stamp = time.Date(2020, 2, 3, 4, 5, 6, 0, time.UTC)

// tree is a file system served as x-tree://h/.
func tree(fsys fs.FS) fetch.Loader {
	return func(_ fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "x-tree", Ops: []fetch.Op{fetch.OpGet, fetch.OpList}, Driver: fetch.DriverFunc(
			func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
				name, err := uri.Unescape(strings.Trim(req.URL.URLPath(), "/"))
				if err != nil {
					return nil, err
				}
				isDir := name == "" || strings.HasSuffix(req.URL.Path(), "/")
				switch {
				case req.Op == fetch.OpList && !isDir || req.Op == fetch.OpGet && isDir:
					return nil, fetch.ErrNotFound
				case req.Op == fetch.OpGet:
					data, err := fs.ReadFile(fsys, name)
					if err != nil {
						return nil, fetch.ErrNotFound
					}
					return &fetch.Response{Meta: fetch.Meta{Size: int64(len(data)), Validator: fetch.Validator{ModTime: stamp}},
						Body: io.NopCloser(bytes.NewReader(data))}, nil
				case req.Op == fetch.OpList:
					return listing(fsys, name, req.URL)
				}
				return nil, errors.ErrUnsupported
			})})
	}
}

func listing(fsys fs.FS, name string, dir uri.URI) (*fetch.Response, error) {
	if name == "" {
		name = "."
	}
	members, err := fs.ReadDir(fsys, name)
	if err != nil {
		return nil, fetch.ErrNotFound
	}
	var entries iter.Seq2[fetch.Entry, error] = func(yield func(fetch.Entry, error) bool) {
		ok := yield(fetch.Entry{Name: "..", Rel: "parent", Kind: fetch.EntryListing}, nil) &&
			yield(fetch.Entry{Name: "Welcome", Kind: fetch.EntryText}, nil) &&
			yield(fetch.Entry{Name: "../../etc/passwd"}, nil)
		for _, m := range slices.Backward(members) {
			e := fetch.Entry{Name: m.Name(), URL: dir.Resolve(uri.MustParse(uri.Escape(m.Name()))), Size: -1}
			if m.IsDir() {
				e.Kind = fetch.EntryListing
			}
			ok = ok && yield(e, nil)
		}
	}
	return &fetch.Response{Meta: fetch.Meta{Kind: fetch.KindListing, Size: -1}, Body: io.NopCloser(strings.NewReader("")),
		Parse: func(io.Reader) iter.Seq2[fetch.Entry, error] { return entries }}, nil
}

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text), ModTime: stamp} }

func TestFS(t *testing.T) {
	t.Parallel()
	names := []string{"a.txt", "dir/b.txt", "dir/deep/c.txt", "a b;c?d#e%2F", "q:r"}
	m := fstest.MapFS{"odd/a:b%2Fc/x": file("x")}
	for _, n := range names {
		m[n] = file("This is " + n)
		m["pub/sub/"+n] = file("This is " + n)
	}
	c := fetch.New(nil, tree(m))
	for _, root := range []string{"x-tree://h/", "x-tree://h", "x-tree://h/pub/sub/", "x-tree://h/pub/sub"} {
		if err := fstest.TestFS(fetchfs.New(t.Context(), c, root), names...); err != nil {
			t.Errorf("%s: %v", root, err)
		}
	}
	if err := fstest.TestFS(fetchfs.New(t.Context(), c, "x-tree://h/odd/a:b%252Fc"), "x"); err != nil {
		t.Error(err)
	}
}

func TestErrorsArePathErrors(t *testing.T) {
	t.Parallel()
	c := fetch.New(nil, tree(fstest.MapFS{"dir/x": file("x")}))
	tests := []struct {
		root, name string
		want       error
	}{
		{"x-tree://h/", "absent", fs.ErrNotExist},
		{"x-tree://h/", "absent", fetch.ErrNotFound},
		{"x-tree://h/", "../x", fs.ErrInvalid},
		{"x-tree://h/", "/x", fs.ErrInvalid},
		{"x-tree://h/", "", fs.ErrInvalid},
		{"x-other://h/", "x", fetch.ErrScheme},
		{"x-other://h/", ".", fetch.ErrScheme},
	}
	for _, tt := range tests {
		fsys := fetchfs.New(t.Context(), c, tt.root)
		var p *fs.PathError
		if _, err := fsys.Open(tt.name); !errors.Is(err, tt.want) || !errors.As(err, &p) || p.Path != tt.name {
			t.Errorf("Open(%q) below %s: %v, want a *fs.PathError matching %v", tt.name, tt.root, err, tt.want)
		}
		if _, err := fsys.ReadDir(tt.name); !errors.Is(err, tt.want) || !errors.As(err, &p) || p.Path != tt.name {
			t.Errorf("ReadDir(%q) below %s: %v, want a *fs.PathError matching %v", tt.name, tt.root, err, tt.want)
		}
		if _, err := fsys.Stat(tt.name); tt.name != "." && !errors.Is(err, tt.want) {
			t.Errorf("Stat(%q) below %s: %v, want %v", tt.name, tt.root, err, tt.want)
		}
	}
	if _, err := fetchfs.New(t.Context(), c, "a b").Open("x"); !errors.Is(err, fetch.ErrURL) && !strings.Contains(fmt.Sprint(err), "space must be encoded") {
		t.Errorf("a malformed URL: %v", err)
	}
}

func TestContextEndsAllCalls(t *testing.T) {
	t.Parallel()
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	c := fetch.New(nil, fetch.Use("x", fetch.DriverFunc(func(ctx context.Context, _ *fetch.Request) (*fetch.Response, error) {
		return nil, context.Cause(ctx)
	})))
	cancel(why)
	if _, err := fetchfs.New(ctx, c, "x://h/").Open("a"); !errors.Is(err, why) {
		t.Errorf("error %v", err)
	}
}

func ExampleNew() {
	c := fetch.New(nil, tree(fstest.MapFS{"pub/motd": file("hello"), "pub/doc/rfc1738.txt": file("URL")}))
	defer c.Close()
	fsys := fetchfs.New(context.Background(), c, "x-tree://h/pub/")
	err := fs.WalkDir(fsys, ".", func(name string, _ fs.DirEntry, err error) error {
		fmt.Println(name)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// .
	// doc
	// doc/rfc1738.txt
	// motd
}
