package main

import (
	"errors"
	"io/fs"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch/cookies"
)

// openCookies loads the cookie files and returns the jar, or nil if no file is named.
func openCookies(o *flags.Options) (*cookies.Jar, error) {
	c := &o.Cookies
	if c.Both == "" && c.Load == "" && c.Save == "" {
		return nil, nil
	}
	jar := cookies.New()
	if c.Load != "" {
		return jar, failure.File(jar.Load(c.Load))
	}
	if c.Both != "" {
		if err := jar.Load(c.Both); !errors.Is(err, fs.ErrNotExist) {
			return jar, failure.File(err)
		}
	}
	return jar, nil
}

// saveCookies saves the jar to the file of --cookies or --save-cookies.
func saveCookies(c *flags.Cookies, jar *cookies.Jar) error {
	switch {
	case jar == nil:
		return nil
	case c.Save != "":
		return failure.File(jar.Save(c.Save, c.Session))
	case c.Both != "" && jar.Changed():
		return failure.File(jar.Save(c.Both, c.Session))
	}
	return nil
}
