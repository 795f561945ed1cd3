package main

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/unnamed"
)

// openFiles opens the archives of --replay: files, and URLs of archives on servers.
func (n *network) openFiles(ctx context.Context, names []string) (files []replay.File, err error) {
	defer func() {
		if err != nil {
			for _, f := range files {
				f.Close()
			}
		}
	}()
	for _, name := range names {
		var f replay.File
		if u, wrong := uri.ParseRef(name); wrong == nil && strings.Contains(name, "://") {
			f, err = n.openRemote(ctx, u)
		} else {
			f, err = replay.OpenFile(name)
			err = failure.File(err)
		}
		if err != nil {
			return files, err
		}
		files = append(files, f)
	}
	return files, nil
}

// A remoteFile is an archive on a server, or a temporary copy of it.
type remoteFile struct {
	io.ReaderAt
	name  string
	size  int64
	close func() error
}

func (f *remoteFile) Name() string { return f.name }
func (f *remoteFile) Size() int64  { return f.size }
func (f *remoteFile) Close() error { return f.close() }

// firstRange is the part of an archive that the first request is for, in bytes. It shows whether the server
// has ranges.
const firstRange = 64 << 10

// openRemote opens an archive on a server. If the server has no ranges, or does not tell which version
// they belong to, the archive is retrieved as a whole.
func (n *network) openRemote(ctx context.Context, u uri.URI) (replay.File, error) {
	client, err := n.archiveClient()
	if err != nil {
		return nil, err
	}
	r, err := client.Open(ctx, &fetch.Request{URL: u, Range: fetch.Range{Length: firstRange}})
	if err != nil {
		return nil, err
	}
	f := &remoteFile{r, r.URL().Redacted(), r.Size(), r.Close}
	if r.Ranges() && f.size >= 0 {
		return f, nil
	}
	defer r.Close()
	tmp, remove, err := unnamed.Temporary(os.TempDir(), "urlget-archive-*")
	if err != nil {
		return nil, failure.File(err)
	}
	f.ReaderAt, f.close = tmp, func() error {
		defer remove()
		return tmp.Close()
	}
	if f.size, err = io.Copy(tmp, r); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// archiveClient returns a client that reads archives: its requests are neither replayed nor recorded.
func (n *network) archiveClient() (*fetch.Client, error) {
	return n.unreplayed(&n.archives.reader, func(opts *fetch.Options) {
		if n.opts.Archive.WARC != "" || n.opts.Archive.Cache != "" {
			opts.Recorder = nil
		}
	})
}

func areArchives(args []string) bool {
	return len(args) > 0 && !slices.ContainsFunc(args, func(arg string) bool {
		u, err := uri.ParseRef(arg)
		return err != nil || !strings.Contains(arg, "://") || !hasArchiveSuffix(u.Path())
	})
}

func (p *program) listRemote(ctx context.Context, args []string) error {
	for _, arg := range args {
		u, err := uri.ParseRef(arg)
		if err == nil {
			err = p.listRecords(ctx, u)
		}
		if err != nil {
			p.rep.fail(u.Redacted(), err)
		}
	}
	return nil
}

func (p *program) listRecords(ctx context.Context, u uri.URI) error {
	f, err := p.net.openRemote(ctx, u)
	if err != nil {
		return err
	}
	defer f.Close()
	return eachIn(f, isPacked(u.Path()), reading(func(_ string, r *warc.Reader) error {
		return p.rep.printEntries(u, recordsOf(r, p.opts.Listing.Long))
	}))
}
