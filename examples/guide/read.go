package guide

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols"
)

func show(ctx context.Context, w io.Writer, rawURL string) error {
	c := fetch.New(nil, protocols.All)
	defer c.Close()

	resp, err := c.Get(ctx, rawURL)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	fmt.Fprintln(w, resp.ContentType, resp.Size)
	_, err = io.Copy(w, resp.Body)
	return err
}

func motd(ctx context.Context, c *fetch.Client, rawURL string) string {
	text, err := c.ReadAll(ctx, rawURL, 64<<10)
	var e *fetch.Error
	switch {
	case err == nil:
		return string(text)
	case errors.Is(err, fs.ErrNotExist):
		return "no message today"
	case errors.As(err, &e) && e.Retry:
		return "perhaps later: " + e.Message()
	}
	return err.Error()
}

func list(ctx context.Context, c *fetch.Client, w io.Writer, rawURL string) error {
	for e, err := range c.List(ctx, rawURL) {
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%-8s %5d  %s\n", e.Kind, e.Size, e.Name)
	}
	return nil
}

func usage(ctx context.Context, c *fetch.Client, rawURL string) (files, bytes int64, err error) {
	for m, failed := range c.Walk(ctx, rawURL, &fetch.WalkOptions{MaxDepth: 10}) {
		switch {
		case failed != nil:
			err = errors.Join(err, failed) // continue with the rest
		case m.Kind == fetch.EntryListing && m.Name == "tmp":
			m.SkipDir()
		case m.Kind == fetch.EntryObject:
			files++
			bytes += max(m.Size, 0)
		}
	}
	return files, bytes, err
}

func contents(ctx context.Context, c *fetch.Client, rawURL string) ([]string, error) {
	u, err := uri.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	r, err := c.Open(ctx, &fetch.Request{URL: u})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	z, err := zip.NewReader(r, r.Size())
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
	}
	return names, nil
}

func all(ctx context.Context, c *fetch.Client, reqs []*fetch.Request, w io.Writer) (failed int) {
	for resp, err := range c.DoAll(ctx, reqs) {
		if err == nil {
			_, err = io.Copy(w, resp.Body)
		}
		if err != nil {
			failed++ // only this one
		}
	}
	return failed
}
