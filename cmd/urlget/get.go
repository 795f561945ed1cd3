package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/render"
)

// get retrieves one URL: a document becomes a file, a listing is printed, a
// session attached.
func (a *app) get(ctx context.Context, j *job) error {
	switch {
	case a.set.compose:
		return a.compose(j.url)
	case a.set.parts:
		return a.listParts(ctx, j)
	}
	a.emit(render.Start(j.name, j.started))
	req, err := a.set.request(j.url, fetch.OpGet)
	if err != nil {
		return err
	}
	req.From = j.from
	for {
		err := a.transfer(ctx, j, req)
		if scheme, _ := a.client.Scheme(j.url.Scheme()); fetch.CodeOf(err) == fetch.ErrInteractive && scheme.Can(fetch.OpDial) && !a.set.extracts() {
			return a.session(ctx, j)
		}
		if !a.fillIn(ctx, req, err) {
			return err
		}
	}
}

// transfer brings the content to where it belongs.
func (a *app) transfer(ctx context.Context, j *job, req *fetch.Request) error {
	s := &a.set
	progress, end := a.progress(j)
	defer end()
	var matches []fetch.Entry
	opts := &download.Options{
		Exists:   s.exists(),
		Tries:    s.tries,
		Checksum: s.checksum,
		SHA256:   s.json,
		Progress: progress,
		Response: func(resp *fetch.Response) error {
			if err := s.extract(j.url, resp); err != nil {
				return err
			}
			a.emit(render.Response(j.name, &resp.Meta))
			return nil
		},
		Listing: func(resp *fetch.Response) error { return a.listing(resp, &matches) },
		Retry: func(failed int, wait time.Duration, err error) {
			a.emit(render.Retry(j.name, failed+1, wait, err))
			a.say("%s: %s; trying again in %v", j.name, render.Message(err), wait.Round(time.Millisecond))
		},
		Restart: func(reason string) { a.say("%s: starting from the beginning: %s", j.name, reason) },
	}
	if s.tries == 0 {
		opts.Tries = -1 // to the library, 0 is its default
	}
	out, err := s.destination()
	if err != nil {
		return err
	}
	d := &download.Downloader{Client: a.client, Tool: "urlget " + programVersion()}
	if out.stream != "" {
		return a.stream(ctx, d, j, req, out.stream, opts, end)
	}
	if d.Root, err = openRoot(out.dir); err != nil {
		return err
	}
	defer d.Root.Close()
	res, err := d.Do(ctx, req, out.name, opts)
	if err != nil {
		return err
	}
	end()
	if matches != nil {
		a.getMatches(ctx, j, matches)
		return nil
	}
	a.report(j, filepath.Join(out.dir, res.Name), res)
	return nil
}

// stream writes the content to standard output or to something that is no
// file and cannot be replaced by one, such as a device.
func (a *app) stream(ctx context.Context, d *download.Downloader, j *job, req *fetch.Request, name string, opts *download.Options, end func()) error {
	w := a.std.out
	if name != "-" {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return fileError(err)
		}
		defer f.Close()
		w = f
	}
	res, err := d.Copy(ctx, req, w, opts)
	if err == nil && name != "-" {
		end()
		a.report(j, name, res)
	}
	return err
}

// report tells that a file is there.
func (a *app) report(j *job, path string, res *download.Result) {
	took := time.Since(j.started)
	name := fetch.Printable(path)
	switch res.Outcome {
	case download.Saved:
		a.emit(render.Saved(j.name, path, res.Size, res.SHA256, took))
		a.say("saved %s (%s in %.2f s)", name, octets(res.Size), took.Seconds())
	case download.Existed:
		a.say("%s is there already", name)
	case download.NotModified:
		a.say("%s is as new as %s", name, j.name)
	}
}

func octets(n int64) string {
	if n == 1 {
		return "1 byte"
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

// say prints one line for people about the transfer, if they want to know.
func (a *app) say(format string, args ...any) {
	if !a.set.quiet && a.events == nil {
		fmt.Fprintf(a.con, format+"\n", args...)
	}
}

// exists says what to do with a file that is there already.
func (s *settings) exists() download.Exists {
	switch {
	case s.keep:
		return download.Skip
	case s.resume:
		return download.Resume
	case s.newer:
		return download.Newer
	case s.output != "":
		return download.Overwrite
	}
	return download.NewName
}

// checkOutput finds flags that contradict each other, and sets up --json.
func (a *app) checkOutput() error {
	s := &a.set
	chosen := 0
	for _, flag := range []bool{s.resume, s.newer, s.keep} {
		if flag {
			chosen++
		}
	}
	switch {
	case chosen > 1:
		return usage("-c, -N and -nc exclude each other")
	case s.output == "-" && chosen > 0:
		return usage("-c, -N and -nc are about files, but -O - is standard output")
	case s.output == "-" && s.json:
		return usage("--json and -O - both want standard output")
	case s.output != "" && s.dir != "":
		return usage("-O and -P exclude each other")
	case s.output != "" && s.output != "-" && s.input != "":
		return &usageError{"-O names one file, but -i is for many", "-P DIR saves all of them in a directory"}
	case s.rng != "" && (s.resume || s.newer):
		return usage("--range asks for a part, -c and -N are about the whole")
	case s.tries < 0:
		return usage("-t: %d tries are not possible", s.tries)
	}
	if err := s.checkMessageFlags(); err != nil {
		return err
	}
	if s.checksum != "" {
		if err := download.CheckChecksum(s.checksum); err != nil {
			return usage("--checksum: %v", err)
		}
	}
	if s.json {
		a.events = render.NewEventWriter(a.std.out)
	}
	return nil
}

// A destination is where content goes: into a stream, or into a file whose
// name may be "" for the suggested one.
type destination struct{ stream, dir, name string }

// destination looks at -O and -P.
func (s *settings) destination() (destination, error) {
	switch {
	case s.output == "":
		return destination{dir: cmp.Or(s.dir, ".")}, nil
	case s.output == "-":
		return destination{stream: "-"}, nil
	}
	info, err := os.Stat(s.output)
	switch {
	case err == nil && info.IsDir():
		return destination{}, &usageError{"-O " + s.output + " is a directory", "-P " + s.output + " saves in it"}
	case err == nil && !info.Mode().IsRegular():
		return destination{stream: s.output}, nil
	}
	dir, name := filepath.Split(s.output)
	if name == "" || name == "." || name == ".." {
		return destination{}, usage("-O %s names no file", s.output)
	}
	return destination{dir: cmp.Or(dir, "."), name: name}, nil
}

// openRoot opens the directory that files go to, and makes it if need be.
func openRoot(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, os.ErrNotExist) {
		if err = os.MkdirAll(dir, 0o777); err == nil {
			root, err = os.OpenRoot(dir)
		}
	}
	return root, fileError(err)
}
