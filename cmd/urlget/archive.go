package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/urlget/urlget/archive/capture"
	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
)

// archives are those that are open during a run.
type archives struct {
	writer  *warc.Writer
	seen    *capture.Seen
	capture *capture.Capture
	replay  *replay.Archive
}

// record is a Recorder for the archive that is written. Nothing is recorded before it is open.
func (v *archives) record(ctx context.Context, req *fetch.Request) *fetch.Recording {
	if v.capture == nil {
		return nil
	}
	return v.capture.Recorder(ctx, req)
}

// answer is a middleware that answers from the archives to replay, once they are open.
func (v *archives) answer(o replay.Options) driver.Middleware {
	return func(next driver.Driver) driver.Driver {
		return driver.DriverFunc(func(ctx context.Context, req *fetch.Request) (*driver.Response, error) {
			return v.replay.Middleware(o)(next).Open(ctx, req)
		})
	}
}

// openArchives opens what the flags name. The context that it returns ends when nothing can be
// recorded any more.
func (n *network) openArchives(ctx context.Context, args []string, offline bool) (context.Context, error) {
	r := &n.opts.Archive
	if err := n.opts.CheckArchive(); err != nil || offline {
		return ctx, err
	}
	if r.Replay != nil {
		var err error
		if n.archives.replay, err = replay.Open(r.Replay...); err != nil {
			return ctx, failure.File(err)
		}
		for _, damage := range n.archives.replay.Damage() {
			n.say("%v", damage)
		}
	}
	if r.WARC == "" {
		return ctx, nil
	}
	seen := capture.NewSeen()
	if r.Dedup != "" {
		index, err := os.Open(r.Dedup)
		if err != nil {
			return ctx, failure.File(err)
		}
		defer index.Close()
		switch err := seen.Load(index); {
		case errors.Is(err, warc.ErrNoIndex), errors.Is(err, capture.ErrDigests):
			return ctx, failure.Usagef("--warc-dedup %s: %v; one is expected as --warc-cdx writes it", r.Dedup, err)
		case err != nil:
			return ctx, failure.File(err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(r.WARC), 0o777); err != nil {
		return ctx, failure.File(err)
	}
	w, err := warc.Create(r.WARC, warc.WriterOptions{Plain: r.Plain, MaxSize: int64(r.MaxSize), Append: n.opts.Output.Continue, Index: r.Index,
		Info: n.warcInfo(args), Format: capture.Format})
	if errors.Is(err, fs.ErrExist) {
		return ctx, failure.Hinted(err.Error(), "-c appends to an archive that is there")
	}
	if err != nil {
		return ctx, failure.File(err)
	}
	if n.opts.Trust.Certificate != "" || n.jar != nil || n.config.HasSecrets(n.table) {
		w.Restrict()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	n.archives.writer, n.archives.seen = w, seen
	n.archives.capture = capture.New(w, seen, func(err error) {
		cancel(&fetch.Error{Code: fetch.ErrFile, Err: errors.New("the archive cannot be written: " + err.Error())})
	})
	return ctx, nil
}

// warcInfo returns what an archive says of the command that wrote it. Values of flags may be
// secret: only those are told that are numbers or switches.
func (n *network) warcInfo(args []string) warc.Header {
	command := []string{"urlget"}
	n.opts.Set().Visit(func(f *pflag.Flag) {
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
	info.Add("http-header-user-agent", cmp.Or(n.opts.Request.Agent, "urlget"))
	info.Add("command", strings.Join(command, " "))
	return info
}

// restricting returns logins whose use makes the archive readable by the user alone. The archive may
// be opened later, but before the first request.
func (v *archives) restricting(logins fetch.Credentials) fetch.Credentials {
	return restrictingLogins{logins, v}
}

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

// Source implements fetch.CredentialSource.
func (l restrictingLogins) Source(ch fetch.Challenge) string {
	if s, ok := l.Credentials.(fetch.CredentialSource); ok {
		return s.Source(ch)
	}
	return ""
}

// close ends what was written. An error that came up before has been told.
func (v *archives) close() error {
	var err error
	if v.writer != nil {
		err = failure.File(v.writer.Close())
	}
	if v.replay != nil {
		err = errors.Join(err, failure.File(v.replay.Close()))
	}
	return err
}
