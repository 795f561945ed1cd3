// Package mounted is the driver for afs and nfs (RFC 1738, section 4; RFC 2224). It reads files
// from mounted file systems, and otherwise explains why they cannot be retrieved.
package mounted

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// Options configure the driver. The zero value selects the defaults.
type Options struct {
	// AFS is the directory that contains the AFS cells; "" means /afs.
	AFS string
	// Mounts is a file with the mount table, in the format of fstab; "" means /proc/mounts.
	Mounts string
}

// Load registers the driver with default options.
func Load(env fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With returns a Loader that registers the driver with options. It requires a driver for file URLs.
// If there is already a driver for nfs, mounted file systems are read only if that driver fails.
func With(opts Options) fetch.Loader {
	opts.AFS, opts.Mounts = cmp.Or(opts.AFS, "/afs"), cmp.Or(opts.Mounts, "/proc/mounts")
	return func(env fetch.Env, reg *fetch.Registry) {
		s := fetch.Scheme{Ops: []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList},
			Ranges: true, Local: true, Traits: fetch.Traits{Tree: true}}
		s.Name, s.Summary, s.Driver = "afs", "files of AFS, if it is mounted", &opener{env, opts.cell}
		reg.Register(s)
		d := &opener{env, opts.export}
		if client, ok := reg.Lookup("nfs"); ok {
			client.Driver = &fallback{client.Driver, d}
			reg.Replace(client)
			return
		}
		s.Name, s.Summary, s.Driver = "nfs", "files of NFS servers, if they are mounted", d
		s.Port = nfsPort
		reg.Register(s)
	}
}

type opener struct {
	env    fetch.Env
	locate func(uri.URI) (dir, rest string, err error) // returns the mount point and the path below it
}

// file returns the file URL for u. A ".." does not lead out of the mount point.
func (d *opener) file(u uri.URI) (f uri.URI, dir string, err error) {
	if u.Host() == "" || u.Host() == "." || u.Host() == ".." {
		return f, "", fetch.ErrURL.Errorf("the URL has no cell or server")
	}
	dir, rest, err := d.locate(u)
	if err != nil {
		return f, "", err
	}
	f, err = uri.File{Path: path.Join(dir, path.Clean("/"+rest))}.URI()
	return f, dir, err
}

func (d *opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	f, dir, err := d.file(req.URL)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, notMounted(fmt.Errorf("%s is not mounted at %s", req.URL.Host(), dir))
	}
	dup := *req
	dup.URL, dup.From = f, req.URL
	return d.env.Open(ctx, &dup)
}

func (d *opener) Explain(req *fetch.Request) ([]string, error) {
	f, _, err := d.file(req.URL)
	if err != nil {
		return nil, err
	}
	return []string{"open " + f.String()}, nil
}

// afs://CELL/PATH
func (o Options) cell(u uri.URI) (dir, rest string, err error) {
	rest, err = uri.Unescape(u.URLPath())
	return path.Join(o.AFS, u.Host()), rest, err
}
