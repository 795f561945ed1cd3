package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/urlget/urlget/archive/capture"
	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// archiveSettings are what flags say of archives.
type archiveSettings struct {
	warc    string
	maxSize size
	cdx     bool
	dedup   string
	plain   bool
	replay  []string
	only    bool
	at      time.Time
}

// addArchiveFlags defines the flags about archives.
func addArchiveFlags(f *pflag.FlagSet, s *settings) {
	addWarcFlags(f, s)
	addReplayFlags(f, s)
}

// addWarcFlags defines the flags about the archive that is written.
func addWarcFlags(f *pflag.FlagSet, s *settings) {
	r := &s.archive
	f.StringVar(&r.warc, "warc", "", "record everything in `FILE` (.warc.gz); -c goes on with one that is there")
	f.StringVar(&r.warc, "warc-file", "", "the same as --warc")
	f.Lookup("warc-file").Hidden = true
	f.Var(&r.maxSize, "warc-max-size", "begin another archive when one has `SIZE`")
	f.BoolVar(&r.cdx, "warc-cdx", false, "write an index (CDXJ) beside the archive")
	f.StringVar(&r.dedup, "warc-dedup", "", "do not record again what the index in `FILE` (CDXJ) has")
	f.BoolVar(&r.plain, "no-warc-compression", false, "do not compress the archive")
}

// addGoOnFlag defines -c for commands that save no files.
func addGoOnFlag(f *pflag.FlagSet, s *settings) {
	f.BoolVarP(&s.resume, "continue", "c", false, "go on with an archive that is there")
}

// checkGoOn finds that there is no archive to go on with.
func (a *app) checkGoOn() error {
	if a.set.resume && a.set.archive.warc == "" {
		return &usageError{"-c goes on with an archive, and none is written", "--warc FILE"}
	}
	return nil
}

// addReplayFlags defines the flags about what is answered by archives.
func addReplayFlags(f *pflag.FlagSet, s *settings) {
	r := &s.archive
	f.Var((*several)(&r.replay), "replay", "answer from the archive in `FILE` what it has")
	f.BoolVar(&r.only, "replay-only", false, "with --replay: answer nothing else, and send nothing")
	f.Var((*date)(&r.at), "replay-at", "with --replay: as it was at `DATE`, such as 2026-01-31, not the last time")
}

// check finds flags that do not fit.
func (r *archiveSettings) check() error {
	switch {
	case r.warc == "" && (r.maxSize > 0 || r.cdx || r.dedup != "" || r.plain):
		return &usageError{"flags about an archive, and none is written", "--warc FILE"}
	case strings.HasSuffix(r.warc, string(filepath.Separator)):
		return &usageError{"--warc " + r.warc + " names no file", "--warc " + r.warc + "NAME is one in it"}
	case r.replay == nil && (r.only || !r.at.IsZero()):
		return &usageError{"flags about replay, and there is no archive", "--replay FILE"}
	}
	return nil
}

// archives are those that are open during a run.
type archives struct {
	writer  *warc.Writer
	seen    *capture.Seen
	capture *capture.Capture
	replay  *replay.Archive
}

// openArchives opens what the flags name. The context that it returns ends when nothing can be
// recorded any more.
func (a *app) openArchives(ctx context.Context, args []string, offline bool) (context.Context, error) {
	r := &a.set.archive
	if err := r.check(); err != nil || offline {
		return ctx, err
	}
	if r.replay != nil {
		var err error
		if a.archives.replay, err = replay.Open(r.replay...); err != nil {
			return ctx, fileError(err)
		}
		for _, damage := range a.archives.replay.Damage() {
			a.say("%v", damage)
		}
	}
	if r.warc == "" {
		return ctx, nil
	}
	seen := capture.NewSeen()
	if r.dedup != "" {
		index, err := os.Open(r.dedup)
		if err != nil {
			return ctx, fileError(err)
		}
		defer index.Close()
		switch err := seen.Load(index); {
		case errors.Is(err, warc.ErrNoIndex), errors.Is(err, capture.ErrDigests):
			return ctx, usage("--warc-dedup %s: %v; one is expected as --warc-cdx writes it", r.dedup, err)
		case err != nil:
			return ctx, fileError(err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(r.warc), 0o777); err != nil {
		return ctx, fileError(err)
	}
	w, err := warc.Create(r.warc, warc.WriterOptions{Plain: r.plain, MaxSize: int64(r.maxSize), Append: a.set.resume, Index: r.cdx,
		Info: a.warcInfo(args), Format: capture.Format})
	if errors.Is(err, fs.ErrExist) {
		return ctx, &usageError{err.Error(), "-c appends to an archive that is there"}
	}
	if err != nil {
		return ctx, fileError(err)
	}
	if a.set.cert != "" || a.set.cookies.jar != nil || a.config.hasSecrets() {
		w.Restrict()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	a.archives.writer, a.archives.seen = w, seen
	a.archives.capture = capture.New(w, seen, func(err error) {
		cancel(&fetch.Error{Code: fetch.ErrFile, Err: errors.New("the archive cannot be written: " + err.Error())})
	})
	return ctx, nil
}

// warcInfo returns what an archive says of the command that wrote it. Values of flags may be
// secret: only those are told that are numbers or switches.
func (a *app) warcInfo(args []string) warc.Header {
	command := []string{"urlget"}
	a.set.flags.Visit(func(f *pflag.Flag) {
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
	info.Add("http-header-user-agent", cmp.Or(a.set.agent, "urlget"))
	info.Add("command", strings.Join(command, " "))
	return info
}

// noting returns logins whose use makes the archive one for the user alone, if one is written.
func (v *archives) noting(logins fetch.Credentials) fetch.Credentials {
	if v.writer == nil {
		return logins
	}
	return notedLogins{logins, v.writer}
}

type notedLogins struct {
	fetch.Credentials
	w *warc.Writer
}

func (l notedLogins) Credential(ctx context.Context, ch fetch.Challenge) (fetch.Credential, error) {
	cred, err := l.Credentials.Credential(ctx, ch)
	if err == nil {
		l.w.Restrict()
	}
	return cred, err
}

// close ends what was written. An error that came up before has been told.
func (v *archives) close() error {
	var err error
	if v.writer != nil {
		err = fileError(v.writer.Close())
	}
	if v.replay != nil {
		err = errors.Join(err, fileError(v.replay.Close()))
	}
	return err
}
