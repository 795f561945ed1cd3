package config

import (
	"context"
	"errors"
	"maps"
	"net/textproto"
	"strings"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
)

// Sectioned reports whether the file has sections.
func (c *File) Sectioned() bool { return c != nil && c.sections != nil }

func (c *File) checkSections() error {
	for _, s := range c.sections {
		if err := c.checkLogin(s); err != nil {
			return err
		}
		for i := range s.lines {
			l := &s.lines[i]
			switch {
			case !l.hasValue && l.name != "no-proxy":
				return c.lineError(l.number, "--%s requires a value", l.name)
			case l.hasValue && l.name == "no-proxy":
				return c.lineError(l.number, "--no-proxy takes no value in a section")
			case l.name == "header":
				if err := checkField(l.value); err != nil {
					return c.lineError(l.number, "%v", err)
				}
			case l.name == "proxy":
				if _, err := flags.ProxyURL(l.value); err != nil {
					return c.lineError(l.number, "%v", err)
				}
			case l.name == "password-file":
				password, err := flags.FirstLine(l.value)
				if err != nil {
					return failure.File(err)
				}
				l.name, l.value = "password", password
			}
		}
	}
	return nil
}

func (c *File) checkLogin(s section) error {
	user, password := 0, false
	for _, l := range s.lines {
		switch l.name {
		case "user":
			user = l.number
			password = password || strings.Contains(l.value, ":")
		case "password", "password-file":
			password = true
		}
	}
	switch {
	case user > 0 && !password:
		return c.lineError(user, "--user requires a password in the same section")
	case user == 0 && password:
		return c.lineError(s.lines[0].number, "a password requires --user in the same section")
	}
	return nil
}

func checkField(field string) error {
	j := job.Job{Header: []string{field}}
	if wrong := (*job.FieldError)(nil); errors.As(j.Validate(), &wrong) {
		return errors.New("--header: " + wrong.Reason)
	}
	return nil
}

// find returns the value of a flag in the last section that applies to u and sets it.
func (c *File) find(u uri.URI, name string) (string, bool) {
	value, ok := "", false
	for _, s := range c.sections {
		if !s.matches(u) {
			continue
		}
		for _, l := range s.lines {
			if l.name == name {
				value, ok = l.value, true
			}
		}
	}
	return value, ok
}

func (c *File) fields(u uri.URI) textproto.MIMEHeader {
	h := make(textproto.MIMEHeader)
	for _, s := range c.sections {
		if !s.matches(u) {
			continue
		}
		for _, l := range s.lines {
			switch l.name {
			case "header":
				name, value, _ := strings.Cut(l.value, ":")
				h.Add(strings.TrimSpace(name), strings.TrimSpace(value))
			case "user-agent":
				h.Set("User-Agent", l.value)
			case "referer":
				h.Set("Referer", l.value)
			}
		}
	}
	return h
}

// WithFields returns req with the header fields of the sections for its URL. It returns req itself if
// there are none. Fields of the command line take precedence; keepAgent reports that it sets the user
// agent.
func (c *File) WithFields(req *fetch.Request, keepAgent bool) *fetch.Request {
	if !c.Sectioned() {
		return req
	}
	fields := c.fields(req.URL)
	if keepAgent {
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

// Proxy returns a proxy function that uses the sections and falls back to another function.
func (c *File) Proxy(others func(uri.URI) (uri.URI, error)) func(uri.URI) (uri.URI, error) {
	return func(u uri.URI) (uri.URI, error) {
		if _, ok := c.find(u, "no-proxy"); ok {
			return uri.URI{}, nil
		}
		if text, ok := c.find(u, "proxy"); ok {
			return flags.ProxyURL(text)
		}
		return others(u)
	}
}

// Logins provides the credentials of the sections, each at most once.
type Logins struct{ File *File }

// Credential implements fetch.Credentials.
func (l Logins) Credential(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) {
	user, password, ok := l.login(ch)
	if !ok || ch.Attempt > 1 || ch.Question {
		return fetch.Credential{}, fetch.ErrAuth
	}
	return fetch.Credential{User: user, Password: password}, nil
}

func (l Logins) login(ch fetch.Challenge) (user, password string, ok bool) {
	if ch.Foreign {
		return "", "", false
	}
	c := l.File
	user, hasUser := c.find(ch.URL, "user")
	user, password, _ = strings.Cut(user, ":")
	if p, given := c.find(ch.URL, "password"); given {
		password = p
	}
	return user, password, hasUser && password != "" && (ch.User == "" || ch.User == user)
}

// Source returns the name of the file if it has credentials for ch.
func (l Logins) Source(ch fetch.Challenge) string {
	if _, _, ok := l.login(ch); ok {
		return l.File.path
	}
	return ""
}
