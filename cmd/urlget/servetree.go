package main

import (
	"archive/zip"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"net"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/fetchfs"
	"github.com/urlget/urlget/fetch/fetchhttp"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/protocols/file"
)

// serveWebDAV exports a tree at a loopback address until ctx ends. Its path is secret, so that other
// users of the machine and web pages cannot read it.
func serveWebDAV(ctx context.Context, n *network, addr string, root uri.URI) error {
	if root.IsZero() {
		return failure.Usagef("--webdav requires a URL or a directory")
	}
	opts, err := n.options()
	if err != nil {
		return err
	}
	drivers := n.driverConfig()
	if dir := localDirectory(root); dir != "" { // links do not lead out of it
		confined, err := os.OpenRoot(dir)
		if err != nil {
			return failure.File(err)
		}
		defer confined.Close()
		drivers.File = &file.Options{Root: confined}
		if root, err = (uri.File{Path: "/"}).URI(); err != nil {
			return err
		}
	}
	client := fetch.New(opts, append([]fetch.Loader{protocols.With(drivers)}, n.loaders...)...)
	defer client.Close()
	fsys, closeTree, err := openTree(ctx, client, root)
	if err != nil {
		return err
	}
	defer closeTree()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return failure.File(err)
	}
	prefix := "/" + rand.Text()
	if err := announce(n.rep.std.out, l, fetchhttp.Address(l.Addr().String()+prefix)); err != nil {
		return err
	}
	return serveHTTP(ctx, l, fetchhttp.NewWebDAV(fsys, prefix))
}

// localDirectory returns the name of a directory of this computer, or "".
func localDirectory(u uri.URI) string {
	f, err := uri.ParseFile(u)
	if err != nil || !f.IsLocal() {
		return ""
	}
	name := filepath.FromSlash(f.Path)
	if inDrive := strings.TrimLeft(name, `\/`); filepath.VolumeName(inDrive) != "" {
		name = inDrive
	}
	if info, err := os.Stat(name); err != nil || !info.IsDir() {
		return ""
	}
	return name
}

// openTree returns the tree of a URL: that in a zip file, or the one that listings show.
func openTree(ctx context.Context, c *fetch.Client, root uri.URI) (fs.FS, func() error, error) {
	if !strings.HasSuffix(strings.ToLower(root.LastSegment()), ".zip") {
		f := fetchfs.New(ctx, c, root.String()).ListWith((&links.Lister{Client: c}).List)
		var failed *fetch.Error
		if _, err := f.ReadDir("."); errors.As(err, &failed) {
			return nil, nil, failed
		}
		return f, func() error { return nil }, nil
	}
	r, err := c.Open(ctx, &fetch.Request{URL: root})
	if err != nil {
		return nil, nil, err
	}
	z, err := zip.NewReader(r, r.Size())
	if err != nil {
		r.Close()
		return nil, nil, &fetch.Error{Op: "open", URL: root.Redacted(), Code: fetch.ErrProtocol, Err: err}
	}
	z.File = readable(z.File)
	return z, r.Close, nil
}

// maxMemberName limits the names of files in a zip file, in bytes. Each directory on the way has an entry.
const maxMemberName = 4096

// readable returns the files of a zip file that can be opened by name: those whose names do not lead out
// of it and are unique. Package zip would refuse a listing with one of the others.
func readable(files []*zip.File) (kept []*zip.File) {
	uses, dirs := make(map[string]int), make(map[string]bool)
	isValid := func(name string) bool {
		return len(name) <= maxMemberName && fs.ValidPath(name) && !strings.Contains(name, `\`)
	}
	for _, f := range files {
		name, isDir := strings.CutSuffix(f.Name, "/")
		if !isValid(name) {
			continue
		}
		if !isDir {
			uses[name]++
			name = path.Dir(name)
		}
		for ; name != "." && !dirs[name]; name = path.Dir(name) {
			dirs[name] = true
		}
	}
	for _, f := range files {
		name, isDir := strings.CutSuffix(f.Name, "/")
		if isDir && isValid(name) && dirs[name] && uses[name] == 0 {
			kept = append(kept, f)
			dirs[name] = false // one entry is enough
		} else if !isDir && isValid(name) && uses[name] == 1 && !dirs[name] {
			kept = append(kept, f)
		}
	}
	return kept
}
