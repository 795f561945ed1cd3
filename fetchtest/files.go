package fetchtest

import (
	"io/fs"
	"path"
	"strings"
	"testing/fstest"
	"testing/iotest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/fetchfs"
)

// reader reads a file as a fetch.Resource, and checks it with testing/iotest.
func reader(t *caseTest) {
	rawURL, want := t.file(smallFile)
	r, err := t.client(nil).Open(t.context(), &fetch.Request{URL: t.parse(rawURL)})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	defer r.Close()
	if err := iotest.TestReader(r, want); err != nil {
		t.Error(err)
	}
}

// fileSystem presents the directory "pub" as an fs.FS with package fetchfs, and checks it with
// testing/fstest. It skips schemes whose listings have other names, such as those of messages.
func fileSystem(t *caseTest) {
	rawURL := t.url("pub")
	c := t.client(nil)
	if !t.scheme(c, rawURL).Can(fetch.OpList) {
		t.Skip("the scheme has no OpList")
	}
	named := false
	for e, err := range c.List(t.context(), rawURL) {
		if err != nil {
			t.Fatalf("List: %v", err)
		}
		named = named || e.Name == path.Base(smallFile)
	}
	if !named {
		t.Skip("the names in listings are not those of the files")
	}
	var names []string
	err := fs.WalkDir(t.tree, "pub", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && t.site.URL(name) != "" {
			names = append(names, strings.TrimPrefix(name, "pub/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(fetchfs.New(t.context(), c, rawURL), names...); err != nil {
		t.Error(err)
	}
}
