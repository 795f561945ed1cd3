package formdata_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"mime/multipart"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/formdata"
)

func TestBody(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	page, empty := write("a page.html", "<p>"), write(`q"uote`, "")
	big := write("big", strings.Repeat("0123456789", 20_000))
	b, err := formdata.New([]formdata.Part{
		{Name: "b", Value: "1"}, {Name: "a\r\nX: y", Value: "2\r\n--"}, {Name: "a", Value: ""},
		{Name: "page", File: page, ContentType: "text/html"}, {Name: "empty", File: empty}, {Name: "big", File: big, ContentType: "x/big"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`b "" "" 1`, `a%0D%0AX: y "" "" 2` + "\r\n--", `a "" "" `,
		`page "a page.html" "text/html" <p>`, `empty "q%22uote" "application/octet-stream" `,
		`big "big" "x/big" ` + strings.Repeat("0123456789", 20_000)}
	req := &fetch.Request{Header: map[string][]string{"A": {"b"}}}
	b.SetBody(req)
	if req.Header.Get("A") != "b" {
		t.Errorf("%+v", req)
	}
	for range 2 { // as after a redirect
		body, _ := req.GetBody()
		content, err := io.ReadAll(body)
		if err != nil || int64(len(content)) != req.ContentLength {
			t.Fatalf("%d bytes of %d, %v", len(content), req.ContentLength, err)
		}
		if err := body.Close(); err != nil {
			t.Error(err)
		}
		if got := parts(t, req.Header.Get("Content-Type"), string(content)); !slices.Equal(got, want) {
			t.Errorf("got %.200q, want %.200q", got, want)
		}
	}
}

// parts parses a body with mime/multipart.
func parts(t *testing.T, contentType, content string) []string {
	t.Helper()
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	r := multipart.NewReader(strings.NewReader(content), params["boundary"])
	for {
		p, err := r.NextRawPart()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		value, _ := io.ReadAll(p)
		list = append(list, fmt.Sprintf("%s %q %q %s", p.FormName(), p.FileName(), p.Header.Get("Content-Type"), value))
	}
}

func TestUnusableFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := formdata.New([]formdata.Part{{Name: "a", File: filepath.Join(dir, "none")}}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := formdata.New([]formdata.Part{{Name: "a", File: dir}}); err == nil || !strings.HasSuffix(err.Error(), "is not a regular file") {
		t.Errorf("a directory: %v", err)
	}
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := formdata.New([]formdata.Part{{Name: "a", File: path}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	req := &fetch.Request{}
	b.SetBody(req)
	body, _ := req.GetBody()
	if _, err := io.ReadAll(body); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is gone: %v", err)
	}
	body.Close()
	if _, err := body.Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
