package main

import (
	"errors"
	"io/fs"

	"github.com/spf13/pflag"

	"github.com/urlget/urlget/fetch/cookies"
)

// cookieFiles is what the flags say of cookies.
type cookieFiles struct {
	both, load, save string
	session          bool
	jar              *cookies.Jar // nil if no file is named
}

// addCookieFlags defines the flags about cookies.
func addCookieFlags(f *pflag.FlagSet, s *settings) {
	f.StringVar(&s.cookies.both, "cookies", "", "keep cookies in `FILE` (cookies.txt) from one run to the next")
	f.StringVar(&s.cookies.load, "load-cookies", "", "begin with the cookies in `FILE`, which stays as it is")
	f.StringVar(&s.cookies.save, "save-cookies", "", "save the cookies in `FILE` at the end")
	f.BoolVar(&s.cookies.session, "keep-session-cookies", false, "save those too that are for one session")
}

// open reads the files.
func (c *cookieFiles) open() error {
	switch {
	case c.both != "" && (c.load != "" || c.save != ""):
		return usage("--cookies is --load-cookies and --save-cookies in one")
	case c.session && c.both == "" && c.save == "":
		return usage("--keep-session-cookies goes with --cookies or --save-cookies")
	case c.both == "" && c.load == "" && c.save == "":
		return nil
	}
	c.jar = cookies.New()
	if c.load != "" {
		return fileError(c.jar.Load(c.load))
	}
	if c.both != "" {
		if err := c.jar.Load(c.both); !errors.Is(err, fs.ErrNotExist) {
			return fileError(err)
		}
	}
	return nil
}

// close saves what there is to save.
func (c *cookieFiles) close() error {
	switch {
	case c.jar == nil:
		return nil
	case c.save != "":
		return fileError(c.jar.Save(c.save, c.session))
	case c.both != "" && c.jar.Changed():
		return fileError(c.jar.Save(c.both, c.session))
	}
	return nil
}
