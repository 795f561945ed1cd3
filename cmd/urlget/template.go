package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
)

// A template makes the jobs of arguments.
type template struct {
	flags   *job.Job // the flags, as a job without a URL
	opts    *flags.Options
	client  *fetch.Client
	logins  *logins
	upload  *upload
	sums    *sumFile // of --checksum; nil if it names none
	locking bool     // content is recorded in a lock file
}

func newTemplate(p *program, client *fetch.Client, how settings) (*template, error) {
	j, err := flagsJob(p.opts, how.op)
	if err != nil {
		return nil, err
	}
	t := &template{flags: j, opts: p.opts, client: client, logins: &p.net.logins, locking: how.locking,
		upload: &upload{opts: &p.opts.Send, stdin: p.rep.std.in}}
	if err := t.upload.describe(j); err != nil {
		return nil, err
	}
	if text := p.opts.Output.Checksum; text != "" {
		j.Checksum, t.sums = parseChecksum(text)
	}
	if wrong := (*job.FieldError)(nil); errors.As(j.Validate(), &wrong) {
		return nil, failure.Usagef("--%s: %s", wrong.Field, wrong.Reason)
	}
	return t, nil
}

func flagsJob(o *flags.Options, op fetch.Op) (*job.Job, error) {
	if strings.ContainsAny(o.Request.Agent, "\r\n\x00") {
		return nil, failure.Usagef("--user-agent: must not contain a line break or NUL")
	}
	j := &job.Job{Op: op, View: o.Request.View, Header: o.Request.Header, Exists: o.Exists(),
		Segments: o.Many.Segments}
	if o.Request.Referer != "" {
		j.Header = append(j.Header[:len(j.Header):len(j.Header)], "Referer: "+o.Request.Referer)
	}
	if o.Request.Range != "" {
		var err error
		if j.Ranges, err = flags.ParseRanges(o.Request.Range); err != nil {
			return nil, failure.Usagef("--range: %q is not A-B, A-, A, -N or a comma-separated list of "+
				"them, counted from 0", o.Request.Range)
		}
		if len(j.Ranges) == 1 {
			j.Range, j.Ranges = j.Ranges[0], nil
		}
	}
	return j, nil
}

// newJob returns the job of an argument and its name in messages.
func (t *template) newJob(ctx context.Context, g argument) (subject string, j *job.Job, err error) {
	if subject, j, err = t.parseArgument(g); err != nil {
		return subject, nil, err
	}
	if err := t.upload.fillForm(t.client, j); err != nil {
		return subject, nil, err
	}
	return subject, j, t.sums.checksum(ctx, t.client, j)
}

// parseArgument is newJob without the form and the checksum.
func (t *template) parseArgument(g argument) (subject string, j *job.Job, err error) {
	switch {
	case strings.HasPrefix(g.text, "{") && g.pos != "":
		if j, err = t.lineJob(g); err != nil {
			return t.lineURL(g.text), nil, err
		}
		g.text, g.url = "", j.URL
	default:
		dup := *t.flags
		j = &dup
	}
	if g.lock != nil {
		g.url = g.lock.URLs[0]
	}
	u := g.url
	if u.IsZero() {
		subject, u, err = t.parse(g.text)
	} else {
		err = t.checkScheme(u, u.String())
		subject = t.subject(u, u.String())
	}
	if wrong, ok := errors.AsType[*failure.Usage](err); ok && g.pos != "" {
		wrong.Hint = lineHint(u, wrong.Hint)
	}
	if err != nil {
		return subject, nil, err
	}
	if g.from.IsZero() {
		t.logins.name(u)
		u = withoutReplacedLogin(t.opts, u)
	}
	j.URL, j.From = u, g.from
	return subject, j, nameGlobbed(j, g.output)
}

// lineHint returns the hint for a list line without a scheme. If the line looks like a host or file,
// hint already has it.
func lineHint(u uri.URI, hint string) string {
	text := u.String()
	switch {
	case strings.HasPrefix(hint, "did you mean file:"):
		return hint
	case strings.HasPrefix(text, "/"), strings.HasPrefix(text, "."), strings.HasPrefix(text, "?"):
		return "use --base URL to resolve relative lines"
	case strings.HasPrefix(hint, "did you mean"):
		return hint
	}
	return "each line must be a URL, a # comment or a JSON object with a url field"
}

// lineJob returns the job of a JSON line: the flags, overridden by the fields of the line.
func (t *template) lineJob(g argument) (*job.Job, error) {
	var keys map[string]json.RawMessage
	type plain job.Job
	j := plain(*t.flags)
	j.Header, j.Form = nil, nil
	dec := json.NewDecoder(bytes.NewReader([]byte(g.text)))
	dec.DisallowUnknownFields()
	err := dec.Decode(&j)
	if err == nil && dec.More() {
		err = errors.New("more than one object in the line")
	}
	if err == nil {
		err = json.Unmarshal([]byte(g.text), &keys)
	}
	if err != nil {
		return nil, failure.Usagef("not a JSON object with a url: %s", jsonMistake(err))
	}
	for key := range keys {
		switch {
		case !g.from.IsZero() && !slices.Contains(remoteFields, key):
			return nil, failure.Usagef("%q is not allowed in a list retrieved from a server", key)
		case slices.Contains([]string{"op", "from", "depth", "attempt"}, strings.ToLower(key)):
			return nil, failure.Usagef("%q is not allowed in a list", key)
		case t.locking && !slices.Contains([]string{"url", "output", "checksum"}, key):
			return nil, failure.Usagef("%q cannot be recorded in a lock file", key)
		case t.opts.Tree.On() && key != "url":
			return nil, failure.Usagef("%q is for single files: recursive retrievals use only the URL", key)
		}
	}
	if j.Output == "-" && t.flags.Output != "-" {
		return nil, failure.Usagef("\"output\" names a file, but urlget cat prints the content")
	}
	if base := t.opts.List.BaseURL; !j.URL.IsAbs() && j.URL.String() != "" && !base.IsZero() {
		j.URL = base.Resolve(j.URL)
	}
	if j.Form == nil {
		j.Form = t.flags.Form
	}
	j.Header = append(slices.Clone(t.flags.Header), j.Header...)
	done := job.Job(j)
	if wrong := (*job.FieldError)(nil); errors.As(done.Validate(), &wrong) {
		err := failure.Usagef("%s: %s", wrong.Field, wrong.Reason)
		if wrong.Field == "output" {
			err.Hint = "use a path relative to the directory of -P, such as \"sub/name\""
		}
		return nil, err
	}
	return &done, nil
}

// parse parses a URL as the user wrote it and returns its name in messages.
func (t *template) parse(text string) (subject string, u uri.URI, err error) {
	u, err = uri.ParseLoose(text)
	if wrong, ok := errors.AsType[*uri.Error](err); ok {
		return wrong.Input, u, &fetch.Error{Code: fetch.ErrURL, Err: errors.New(wrong.Reason),
			Hint: t.meantForOthers(strings.TrimSpace(text))}
	}
	if err == nil {
		err = t.checkScheme(u, strings.TrimSpace(text))
	}
	return t.subject(u, text), u, err
}

// subject returns the name in messages of u, which text was parsed as.
func (t *template) subject(u uri.URI, text string) string {
	if u.HasAuthority() || u.IsAbs() && !t.isAddress(u) {
		return u.Redacted()
	}
	subject := withoutPassword(strings.TrimSpace(text)) // as written: it is not a URL
	if len(subject) > maxQuoted {
		subject = strings.ToValidUTF8(subject[:maxQuoted], "") + "…"
	}
	return subject
}

// maxQuoted limits how much of an invalid URL an error message quotes, in bytes.
const maxQuoted = 200

// checkScheme rejects a URL without a scheme, or with a probably mistyped one. It does not guess; the
// hint suggests a URL for text, which u was parsed from.
func (t *template) checkScheme(u uri.URI, text string) error {
	if u.IsAbs() && !t.isAddress(u) {
		return t.checkSpelling(u)
	}
	wrong, hint := &failure.Usage{Text: "the URL has no scheme"}, t.meantForOthers(text)
	switch _, err := os.Lstat(text); {
	case text == "":
		wrong.Text = "the URL is empty"
	case err == nil:
		if file, err := fileURL(text); err == nil {
			wrong.Hint = "did you mean " + file.String() + " ?"
		}
	case hint != "":
		wrong.Hint = hint
	case strings.ContainsAny(text, ".:/") && !strings.HasPrefix(text, "."):
		scheme := flags.Guessed
		if isPort(u) && !strings.HasPrefix(u.Path(), "443") {
			scheme = flags.GuessedWithPort
		}
		wrong.Hint = "did you mean " + scheme + "://" + strings.TrimLeft(withoutPassword(text), "/") + " ?"
	}
	return wrong
}

// withoutPassword masks the password of a login in a text that is not a URL.
func withoutPassword(text string) string {
	name, rest, _ := strings.Cut(text, ":")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndexByte(rest[:end], '@')
	if at < 0 {
		at = strings.LastIndexByte(rest, '@') // the password has a slash
	}
	if at <= 0 {
		return text
	}
	return name + ":xxxxx" + rest[at:]
}

// checkSpelling rejects an unknown scheme that resembles a known one.
func (t *template) checkSpelling(u uri.URI) error {
	name := u.Scheme()
	if _, known := t.client.Scheme(name); known || t.opts.Proxy.Gateways != nil {
		return nil
	}
	var all, retrieved []string
	for _, s := range t.client.Schemes() {
		if all = append(all, s.Name); s.Retrieves() {
			retrieved = append(retrieved, s.Name)
		}
	}
	nearest := cmp.Or(uri.NearestScheme(name, retrieved), uri.NearestScheme(name, all))
	if nearest == "" {
		return nil
	}
	return &fetch.Error{Code: fetch.ErrScheme, Err: fmt.Errorf("%q is not registered", name),
		Hint: "did you mean " + nearest + u.Redacted()[len(name):] + " ?"}
}

// isAddress reports whether u begins with a host and port instead of a scheme, as localhost:8080/x does, or
// with a login, as joe:password@host/x does.
func (t *template) isAddress(u uri.URI) bool {
	isLogin := strings.Contains(u.Path(), "@") && !strings.HasPrefix(u.Scheme(), "x-")
	if !isPort(u) && !isLogin || u.HasAuthority() || t.opts.Proxy.Gateways != nil {
		return false
	}
	_, known := t.client.Scheme(u.Scheme())
	return !known
}

// isPort reports whether a port follows the scheme of u.
func isPort(u uri.URI) bool {
	port, _, _ := strings.Cut(u.Path(), "/")
	return u.IsAbs() && port != "" && strings.Trim(port, "0123456789") == ""
}

// meantForOthers returns a hint for an argument that is not a URL, but the value of a flag, an address or a
// filter of another tool.
func (t *template) meantForOthers(text string) string {
	switch hint := t.opts.Misread(text); {
	case hint != "":
		return hint
	case isSCPPath(text):
		return flags.SCP
	case strings.HasPrefix(text, ":"):
		return flags.LocalPort
	case strings.HasPrefix(text, "+"):
		return "httrack's +PATTERN is -A LIST, and its -PATTERN is -R LIST"
	}
	return ""
}

// isSCPPath reports whether s is USER@HOST:PATH, as scp and rsync write it.
func isSCPPath(s string) bool {
	user, rest, found := strings.Cut(s, "@")
	host, path, colon := strings.Cut(rest, ":")
	return found && colon && path != "" && !strings.ContainsAny(user+host, "/:") &&
		(path[0] < '0' || path[0] > '9')
}
