package main

import (
	"cmp"
	"errors"
	"io/fs"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch/cookies"
)

// openCookies loads the cookie files and returns the jar, or nil if no file is named. It passes a
// warning about skipped lines to warn.
func openCookies(o *flags.Options, warn func(string)) (*cookies.Jar, error) {
	c := &o.Cookies
	if c.Both == "" && c.Load == "" && c.Save == "" {
		return nil, nil
	}
	jar := cookies.New()
	var err error
	if file := cmp.Or(c.Load, c.Both); file != "" {
		err = jar.Load(file)
	}
	var skipped *cookies.SkipError
	switch {
	case errors.As(err, &skipped):
		warn(err.Error())
		err = nil
	case c.Load == "" && errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	return jar, failure.File(err)
}

func saveCookies(c *flags.Cookies, jar *cookies.Jar) error {
	switch {
	case jar == nil:
		return nil
	case c.Save != "":
		return failure.File(jar.Save(c.Save, c.Session))
	case c.Both != "" && jar.Changed():
		return failure.File(jar.Update(c.Both, c.Session))
	}
	return nil
}
