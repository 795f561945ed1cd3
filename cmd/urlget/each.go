package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/middleware"
	"github.com/urlget/urlget/fetch/uri"
)

// A job is one URL that the user gave.
type job struct {
	url     uri.URI
	from    uri.URI // the pattern that url matched; zero if the user gave url itself
	name    string  // the URL as it may be printed
	started time.Time
}

// each returns the body of a command that does one thing to each URL. check,
// if not nil, looks at the flags first.
func (a *app) each(do func(context.Context, *job) error, check func() error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.set.flags = cmd.Flags()
		if len(args) == 0 && a.set.input == "" {
			return &usageError{"no URL", cmd.CommandPath() + " --help"}
		}
		if a.set.quiet && a.set.verbose {
			return usage("-q and -v exclude each other")
		}
		if check != nil {
			if err := check(); err != nil {
				return err
			}
		}
		if a.set.output != "" && a.set.output != "-" && len(args) > 1 {
			return &usageError{"-O names one file, but there are several URLs", "-P DIR saves all of them in a directory"}
		}
		if a.set.rate > 0 {
			a.rate = middleware.RateLimit(int64(a.set.rate))
		}
		var err error
		if a.client, err = a.newClient(); err != nil {
			return err
		}
		// Mistakes in what describes the requests are found before the first.
		if _, err := a.set.request(uri.URI{}, fetch.OpGet); err != nil {
			return err
		}
		return a.all(cmd.Context(), args, do)
	}
}

// all does one thing to each of the arguments, and then to each line of the
// input file.
func (a *app) all(ctx context.Context, args []string, do func(context.Context, *job) error) error {
	first := true
	one := func(text string) bool {
		if !first && a.set.wait > 0 {
			pause(ctx, time.Duration(a.set.wait))
		}
		if ctx.Err() != nil {
			a.fail("", context.Cause(ctx))
			return false
		}
		first = false
		a.one(ctx, text, do)
		return ctx.Err() == nil
	}
	for _, arg := range args {
		if !one(arg) {
			return nil
		}
	}
	if a.set.input == "" {
		return nil
	}
	return a.lines(ctx, one)
}

// lines calls do for each URL in the input file, until do returns false. It
// does not wait for a line once ctx is done.
func (a *app) lines(ctx context.Context, do func(string) bool) error {
	var in io.Reader = a.std.in
	if a.set.input != "-" {
		f, err := os.Open(a.set.input)
		if err != nil {
			return fileError(err)
		}
		defer f.Close()
		in = f
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, uri.MaxLen)
	next := make(chan bool, 1)
	for {
		go func() { next <- lines.Scan() }()
		select {
		case more := <-next:
			if !more {
				return fileError(lines.Err())
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		if !do(text) {
			return nil
		}
	}
}

func (a *app) one(ctx context.Context, text string, do func(context.Context, *job) error) {
	u, err := uri.ParseLoose(text)
	if wrong := (*uri.Error)(nil); errors.As(err, &wrong) {
		a.fail(wrong.Input, &fetch.Error{Code: fetch.ErrURL, Err: errors.New(wrong.Reason)})
		return
	}
	if err := a.checkScheme(u, strings.TrimSpace(text)); err != nil {
		a.fail(u.Redacted(), err)
		return
	}
	a.typed.add(u)
	a.job = &job{url: u, name: u.Redacted(), started: time.Now()}
	if err := do(ctx, a.job); err != nil {
		a.fail(a.job.name, err)
	}
}

// checkScheme refuses what has no scheme. It is not guessed, but a hint says
// what text, from which u was read, may have meant.
func (a *app) checkScheme(u uri.URI, text string) error {
	if u.IsAbs() && !a.isHostPort(u) {
		return nil
	}
	wrong := &usageError{text: "the URL has no scheme"}
	switch _, err := os.Lstat(text); {
	case text == "":
		wrong.text = "the URL is empty"
	case err == nil:
		if path, err := filepath.Abs(text); err == nil {
			wrong.hint = "did you mean " + (uri.File{Path: filepath.ToSlash(path)}).URI().String() + " ?"
		}
	case strings.ContainsAny(text, ".:/") && !strings.HasPrefix(text, "."):
		wrong.hint = "did you mean " + guessed + "://" + strings.TrimLeft(text, "/") + " ?"
	}
	return wrong
}

// isHostPort reports whether u, such as localhost:8080/x, is meant as a host
// and a port.
func (a *app) isHostPort(u uri.URI) bool {
	port, _, _ := strings.Cut(u.Path(), "/")
	if port == "" || strings.Trim(port, "0123456789") != "" || u.HasAuthority() || a.set.gateway != nil {
		return false
	}
	_, known := a.client.Scheme(u.Scheme())
	return !known
}

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
