package main

import (
	"context"
	"errors"
	"maps"
	"net/textproto"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
)

// perURL are the flags that may stand in a section of the configuration file.
var perURL = []string{"header", "user-agent", "referer", "user", "password", "password-file", "proxy", "no-proxy"}

// sectioned reports whether there is a section.
func (c *config) sectioned() bool { return c != nil && c.sections != nil }

// checkSections finds mistakes in the values of sections, and reads the files that they name.
func (c *config) checkSections() error {
	for _, s := range c.sections {
		if err := c.checkLogin(s); err != nil {
			return err
		}
		for i := range s.lines {
			line := &s.lines[i]
			switch {
			case !line.given && line.name != "no-proxy":
				return c.wrong(line.number, "--%s needs a value", line.name)
			case line.given && line.name == "no-proxy":
				return c.wrong(line.number, "--no-proxy has no value in a section")
			case line.name == "header":
				if err := checkField(line.value); err != nil {
					return c.wrong(line.number, "%v", err)
				}
			case line.name == "proxy":
				if _, err := proxyURL(line.value, false); err != nil {
					return c.wrong(line.number, "%v", err)
				}
			case line.name == "password-file":
				password, err := firstLine(line.value)
				if err != nil {
					return fileError(err)
				}
				line.name, line.value = "password", password
			}
		}
	}
	return nil
}

// checkLogin refuses half a login.
func (c *config) checkLogin(s configSection) error {
	user, password := 0, false
	for _, line := range s.lines {
		switch line.name {
		case "user":
			user = line.number
			password = password || strings.Contains(line.value, ":")
		case "password", "password-file":
			password = true
		}
	}
	switch {
	case user > 0 && !password:
		return c.wrong(user, "--user needs a password in the same section")
	case user == 0 && password:
		return c.wrong(s.lines[0].number, "a password needs --user in the same section")
	}
	return nil
}

// checkField finds what is wrong with a header field of a section.
func checkField(field string) error {
	j := job.Job{Header: []string{field}}
	if wrong := (*job.FieldError)(nil); errors.As(j.Validate(), &wrong) {
		return errors.New("--header: " + wrong.Reason)
	}
	return nil
}

// find returns the value of a flag in the last section that is for u and has it.
func (c *config) find(u uri.URI, name string) (string, bool) {
	value, ok := "", false
	for _, s := range c.sections {
		if !s.matches(u) {
			continue
		}
		for _, line := range s.lines {
			if line.name == name {
				value, ok = line.value, true
			}
		}
	}
	return value, ok
}

// fields returns the header fields that sections give for u.
func (c *config) fields(u uri.URI) textproto.MIMEHeader {
	h := make(textproto.MIMEHeader)
	for _, s := range c.sections {
		if !s.matches(u) {
			continue
		}
		for _, line := range s.lines {
			switch line.name {
			case "header":
				name, value, _ := strings.Cut(line.value, ":")
				h.Add(strings.TrimSpace(name), strings.TrimSpace(value))
			case "user-agent":
				h.Set("User-Agent", line.value)
			case "referer":
				h.Set("Referer", line.value)
			}
		}
	}
	return h
}

// addFields is a middleware: each request gets the fields of the sections for its own URL, so that
// none of them travels with a redirect to another host. What the command line gives comes first.
func (a *app) addFields(next fetch.Driver) fetch.Driver {
	return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
		return next.Open(ctx, a.withFields(req))
	})
}

// withFields returns the request with the fields of the sections for its URL; the same one if there
// are none.
func (a *app) withFields(req *fetch.Request) *fetch.Request {
	if !a.config.sectioned() {
		return req
	}
	fields := a.config.fields(req.URL)
	if a.set.agent != "" && a.typedFlag("user-agent") {
		delete(fields, "User-Agent")
	}
	if len(fields) == 0 {
		return req
	}
	maps.Copy(fields, req.Header)
	dup := *req
	dup.Header = fields
	return &dup
}

// typedFlag reports whether a flag is from the command line, not from the file.
func (a *app) typedFlag(name string) bool {
	for _, line := range a.config.counted {
		if line.name == name {
			return false
		}
	}
	return a.set.given(name)
}

// sectionProxy lets sections choose the proxy, and others in their place.
func (c *config) sectionProxy(others func(uri.URI) (uri.URI, error)) func(uri.URI) (uri.URI, error) {
	return func(u uri.URI) (uri.URI, error) {
		if _, ok := c.find(u, "no-proxy"); ok {
			return uri.URI{}, nil
		}
		if text, ok := c.find(u, "proxy"); ok {
			return proxyURL(text, false)
		}
		return others(u)
	}
}

// sectionLogin answers from the sections of the configuration file, once.
type sectionLogin struct{ app *app }

func (l sectionLogin) Credential(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) {
	user, password, ok := l.login(ch)
	if !ok || ch.Attempt > 1 {
		return fetch.Credential{}, fetch.ErrAuth
	}
	return fetch.Credential{User: user, Password: password}, nil
}

func (l sectionLogin) login(ch fetch.Challenge) (user, password string, ok bool) {
	if ch.Foreign {
		return "", "", false
	}
	c := l.app.config
	user, hasUser := c.find(ch.URL, "user")
	user, password, _ = strings.Cut(user, ":")
	if p, given := c.find(ch.URL, "password"); given {
		password = p
	}
	return user, password, hasUser && password != "" && (ch.User == "" || ch.User == user)
}

func (l sectionLogin) Source(ch fetch.Challenge) string {
	if _, _, ok := l.login(ch); ok {
		return l.app.config.path
	}
	return ""
}
