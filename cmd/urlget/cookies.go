package main

import (
	"errors"
	"io/fs"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch/cookies"
)

// openCookies reads the files of cookies; nil if the user names none.
func openCookies(o *flags.Options) (*cookies.Jar, error) {
	c := &o.Cookies
	if err := o.CheckCookies(); err != nil || c.Both == "" && c.Load == "" && c.Save == "" {
		return nil, err
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

// saveCookies saves what there is to save.
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
