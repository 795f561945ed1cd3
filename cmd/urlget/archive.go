package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/urlget/urlget/archive/cache"
	"github.com/urlget/urlget/archive/capture"
	"github.com/urlget/urlget/archive/memento"
	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

type archives struct {
	writer  *warc.Writer
	name    string // of the archive of writer
	seen    *capture.Seen
	capture *capture.Capture
	replay  *replay.Archive
	cache   *cache.Options // nil without a cache
	lock    *os.File       // of the cache; nil if another run has it
	private bool           // the configuration file has secrets: only the owner may read the archive
	mu      sync.Mutex     // guards the fields below
	gates   *fetch.Client  // asks TimeGates; nil before the first request
	reader  *fetch.Client  // reads archives on servers; nil before the first one
}

// Record implements capture for the archive that is written. Before the archive is open, it records
// nothing.
func (v *archives) Record(ctx context.Context, req *fetch.Request) *fetch.Recording {
	if v.capture == nil {
		return nil
	}
	return v.capture.Record(ctx, req)
}

// replayMiddleware returns a middleware that replays responses from the archives once they are open.
// With --locked it does so only for requests with an archivesKey.
func (n *network) replayMiddleware(o replay.Options) fetch.Middleware {
	return func(next fetch.Driver) fetch.Driver {
		return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
			o := o
			if n.opts.Lock.File != "" {
				sum, ok := ctx.Value(archivesKey{}).(string)
				if !ok {
					return next.Open(ctx, req)
				}
				o.Only, o.SHA256 = true, sum
			}
			return n.archives.replay.Middleware(o)(next).Open(ctx, req)
		})
	}
}

// addTimeGates adds the middleware that answers requests for a date from the TimeGates, if a date was
// named.
func (n *network) addTimeGates(list []fetch.Middleware,
	at func(context.Context) time.Time) []fetch.Middleware {
	o := n.opts.Archive
	if o.At.IsZero() {
		return list
	}
	return append(list, func(next fetch.Driver) fetch.Driver {
		return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
			client, err := n.gateClient()
			if err != nil {
				return nil, err
			}
			gates := memento.Options{Client: client, TimeGates: o.TimeGates, At: at,
				Within: o.Within}
			return memento.Middleware(gates)(next).Open(ctx, req)
		})
	})
}

func (n *network) gateClient() (*fetch.Client, error) {
	return n.unreplayed(&n.archives.gates, func(opts *fetch.Options) {
		if opts.TLS != nil {
			opts.TLS.Certificates = nil // the user's certificate is for the servers of URLs
		}
	})
}

// unreplayed returns a client whose requests are not replayed, which the first call creates with adjusted
// options.
func (n *network) unreplayed(client **fetch.Client, adjust func(*fetch.Options)) (*fetch.Client, error) {
	n.archives.mu.Lock()
	defer n.archives.mu.Unlock()
	if *client == nil {
		opts, err := n.options()
		if err != nil {
			return nil, err
		}
		opts.Middleware = n.observers()
		adjust(opts)
		*client = n.clientWith(opts)
	}
	return *client, nil
}

// archivesKey is the key of the SHA-256 of the content that a request gets from the archives.
type archivesKey struct{}

// openArchives opens the archives named by flags. The returned context is canceled when recording
// fails.
func (n *network) openArchives(ctx context.Context, args []string) (context.Context, error) {
	if err := n.logins.loadTLS(ctx); err != nil {
		return ctx, err
	}
	r := &n.opts.Archive
	if r.Cache != "" {
		if err := n.openCache(); err != nil {
			return ctx, err
		}
	}
	if r.Replay != nil {
		files, err := n.openFiles(ctx, r.Replay)
		if err != nil {
			return ctx, err
		}
		if n.archives.replay, err = replay.OpenFiles(files...); err != nil {
			return ctx, failure.File(err)
		}
		for _, damage := range n.archives.replay.Damage() {
			n.rep.say("%v", damage)
		}
	}
	if r.WARC == "" {
		return ctx, nil
	}
	seen := capture.NewSeen()
	if r.Cache != "" {
		n.archives.loadSeen(seen)
	}
	if r.Dedup != "" {
		index, err := os.Open(r.Dedup)
		if err != nil {
			return ctx, failure.File(err)
		}
		defer index.Close()
		switch err := seen.Load(index); {
		case errors.Is(err, warc.ErrNoIndex), errors.Is(err, capture.ErrDigests):
			return ctx, failure.Usagef("--warc-dedup %s: %v; a CDXJ index as written by --warc-cdx is "+
				"required", r.Dedup, err)
		case err != nil:
			return ctx, failure.File(err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(r.WARC), 0o777); err != nil {
		return ctx, failure.File(err)
	}
	w, err := warc.Create(r.WARC, warc.WriterOptions{Plain: r.Plain, MaxSize: r.MaxSize,
		Append: n.opts.AppendsArchive(), Index: r.Index,
		Info: warcInfo(n.opts, args), Format: capture.Format})
	if errors.Is(err, fs.ErrExist) {
		return ctx, failure.Hinted(err.Error(), "use --warc-append to append to an existing archive")
	}
	if errors.Is(err, warc.ErrInUse) {
		return ctx, archiveFailure(r.WARC, err)
	}
	if err != nil {
		return ctx, failure.File(err)
	}
	if n.opts.Trust.Certificate != "" || n.jar != nil || n.archives.private {
		w.Restrict()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	n.archives.writer, n.archives.seen, n.archives.name = w, seen, r.WARC
	n.archives.capture = capture.New(w, seen, func(err error) {
		cancel(archiveFailure(r.WARC, err))
	})
	if r.Cache != "" {
		n.archives.capture.ForCache(n.archives.cache.Key)
		if r.MaxSize == 0 {
			return ctx, failure.File(n.archives.cache.Archive.Follow(w.Files()[0]))
		}
	}
	return ctx, nil
}

// warcInfo returns the fields of the warcinfo record. Flag values may be secret, so only numbers and
// switches are recorded.
func warcInfo(o *flags.Options, args []string) warc.Header {
	command := []string{"urlget"}
	o.Set().Visit(func(f *pflag.Flag) {
		switch f.Value.Type() {
		case "bool", "int", "size", "seconds":
			command = append(command, "--"+f.Name+"="+f.Value.String())
		default:
			command = append(command, "--"+f.Name+"=…")
		}
	})
	for _, arg := range args {
		if u, err := uri.ParseLoose(arg); err == nil {
			command = append(command, u.Redacted())
		}
	}
	var info warc.Header
	info.Add("software", "urlget/"+programVersion())
	info.Add("http-header-user-agent", cmp.Or(o.Request.Agent, "urlget"))
	info.Add("command", strings.Join(command, " "))
	return info
}

// restrictingLogins are credentials whose use makes the archive readable only by its owner. The archive
// may be opened later, but before the first request.
type restrictingLogins struct {
	fetch.Credentials
	archives *archives
}

func (l restrictingLogins) Credential(ctx context.Context, ch fetch.Challenge) (fetch.Credential, error) {
	cred, err := l.Credentials.Credential(ctx, ch)
	if err == nil && l.archives.writer != nil {
		l.archives.writer.Restrict()
	}
	return cred, err
}

func (l restrictingLogins) Source(ch fetch.Challenge) string {
	if s, ok := l.Credentials.(fetch.CredentialSource); ok {
		return s.Source(ch)
	}
	return ""
}

// archiveFailure returns the error for the archive of --warc. It names the archive instead of the
// file that was written, which may be temporary.
func archiveFailure(name string, err error) error {
	if file, ok := errors.AsType[*fs.PathError](err); ok {
		err = file.Err
	}
	return &fetch.Error{Code: fetch.ErrFile, Err: fmt.Errorf("cannot write the archive %s: %w", name, err),
		Hint: "use --warc FILE to write it elsewhere"}
}

// close closes the archives. Errors of recording have been reported before.
func (v *archives) close() error {
	var err error
	if v.gates != nil {
		v.gates.Close()
	}
	if v.writer != nil {
		if werr := v.writer.Close(); werr != nil {
			err = archiveFailure(v.name, werr)
		}
	}
	if v.replay != nil {
		err = errors.Join(err, failure.File(v.replay.Close()))
	}
	if v.reader != nil {
		v.reader.Close()
	}
	return errors.Join(err, v.closeCache())
}
