package main

import (
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/urlget/urlget/fetch/uri"
)

// A selection chooses results or dead letters. A field that is zero chooses all.
type selection struct {
	url, class, host, worker, since string

	begin time.Time // of since
}

func (s *selection) define(set *pflag.FlagSet, names ...string) {
	fields := map[string]struct {
		value *string
		help  string
	}{
		"url":    {&s.url, "only URLs that match `PATTERN`, in which * stands for any text"},
		"class":  {&s.class, "only failures of the class `CLASS`, such as network"},
		"host":   {&s.host, "only URLs of `HOST`"},
		"worker": {&s.worker, "only results of the worker `NAME`"},
		"since":  {&s.since, "only results since `TIME`, such as 2026-01-31, 2026-01-31T12:00:00Z or 2h"},
	}
	for _, name := range names {
		set.StringVar(fields[name].value, name, "", fields[name].help)
	}
}

func (s *selection) check() error {
	if s.since == "" {
		return nil
	}
	if ago, err := time.ParseDuration(s.since); err == nil {
		s.begin = time.Now().Add(-ago)
		return nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, s.since, time.Local); err == nil {
			s.begin = t
			return nil
		}
	}
	return usage("--since: %q is not a time", s.since)
}

func (s *selection) isZero() bool {
	return s.url == "" && s.class == "" && s.host == "" && s.worker == "" && s.since == ""
}

func (s *selection) has(rawURL, class, worker string, at time.Time) bool {
	switch {
	case s.class != "" && s.class != class,
		s.worker != "" && s.worker != worker,
		!s.begin.IsZero() && at.Before(s.begin):
		return false
	case s.url != "" && !matches(s.url, rawURL):
		return false
	case s.host == "":
		return true
	}
	u, err := uri.Parse(rawURL)
	return err == nil && strings.EqualFold(u.Host(), s.host)
}

// matches reports whether a pattern matches a text. Unlike in path.Match, * also stands for slashes.
func matches(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	for i, part := range parts[1:] {
		if i == len(parts)-2 {
			return strings.HasSuffix(text, part)
		}
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return text == ""
}
