package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
)

// A given is something to do as the user gave it.
type given struct {
	text  string  // a URL as it was written, or a job as JSON
	url   uri.URI // a link, in place of text
	from  uri.URI // the list, if a server sent it
	place string  // FILE:LINE; "" for arguments
}

// maxLinks bounds the links of a page that are remembered, so that none is retrieved twice.
const maxLinks = 100_000

// A list is an open list of URLs.
type list struct {
	body io.ReadCloser
	name string  // for messages
	base uri.URI // of the links of a page
	line uri.URI // of what is relative in lines; zero if nothing can be
	from uri.URI // who sent it; zero if the user has it
	page bool
}

// openList opens the list; nil if there is none.
func (g *getter) openList(ctx context.Context, offline bool) (*list, error) {
	s := &g.opts.List
	l := &list{name: s.File, base: s.Begin, line: s.Begin, page: s.HTML}
	u, err := uri.ParseLoose(s.File)
	switch {
	case s.File == "":
		return nil, nil
	case s.File == "-":
		l.name, l.body = "standard input", io.NopCloser(g.std.in)
		return l, nil
	case strings.Contains(s.File, ":/") && err == nil && u.IsAbs() && !exists(s.File):
		if offline {
			return nil, failure.Usagef("-i %s would have to be retrieved, and explain sends nothing", fetch.Printable(u.Redacted()))
		}
		g.typed.add(u)
		return l, l.retrieve(ctx, g.client, u)
	}
	f, err := os.Open(s.File)
	if err != nil {
		return nil, failure.File(err)
	}
	l.body = f
	switch strings.ToLower(path.Ext(s.File)) {
	case ".html", ".htm", ".xhtml":
		l.page = true
	}
	if abs, err := filepath.Abs(s.File); err == nil && l.base.IsZero() {
		l.base, _ = uri.File{Path: filepath.ToSlash(abs)}.URI()
	}
	return l, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// retrieve opens a list that is elsewhere. What it names was not named by the user, so the policy
// is strict with it.
func (l *list) retrieve(ctx context.Context, c *fetch.Client, u uri.URI) error {
	resp, err := c.Get(ctx, u.String())
	if err != nil {
		return err
	}
	l.name, l.body, l.from = u.Redacted(), resp.Body, resp.URL
	if l.base.IsZero() {
		l.base = resp.URL
	}
	switch kind, _, _ := mime.ParseMediaType(resp.ContentType); kind {
	case "text/html", "application/xhtml+xml":
		l.page = true
	}
	return nil
}

// each passes on what the list names, until pass returns false.
func (l *list) each(retrievable func(string) bool, pass func(given) bool) error {
	in := bufio.NewReader(&toEnd{r: l.body})
	if l.page || startsPage(in) {
		return l.links(in, retrievable, pass)
	}
	for line, err := range job.Lines(in) {
		place := fmt.Sprintf("%s:%d", l.name, line.Number)
		if errors.Is(err, job.ErrLongLine) {
			err = failure.Usagef("%s: %v", place, err)
		}
		if err != nil {
			return failure.File(err)
		}
		g := given{text: line.Text, from: l.from, place: place}
		if ref, err := uri.ParseRef(g.text); err == nil && !ref.IsAbs() && !l.line.IsZero() && g.text[0] != '{' {
			g.url = l.line.Resolve(ref)
		}
		if !pass(g) {
			return nil
		}
	}
	return nil
}

// A toEnd is not read again after its end: at a terminal, more would be waited for.
type toEnd struct {
	r   io.Reader
	err error
}

func (r *toEnd) Read(p []byte) (n int, err error) {
	if r.err == nil {
		n, r.err = r.r.Read(p)
	}
	return n, r.err
}

// startsPage reports whether HTML comes. It waits for no more than the beginning of a line.
func startsPage(in *bufio.Reader) bool {
	if head, err := in.Peek(1); err != nil || head[0] != '<' {
		return false
	}
	for _, tag := range []string{"<html", "<!doctype html"} {
		if head, err := in.Peek(len(tag)); err == nil && strings.EqualFold(string(head), tag) {
			return true
		}
	}
	return false
}

// links passes on what a page leads to, each once, and leaves out what nobody can retrieve, such as
// the mail addresses on it.
func (l *list) links(in io.Reader, retrievable func(string) bool, pass func(given) bool) error {
	seen := make(map[string]bool)
	for e, err := range links.HTML(in, l.base) {
		if err != nil {
			return err
		}
		if e.Kind == fetch.EntryError || !retrievable(e.URL.Scheme()) {
			continue
		}
		u := e.URL.WithoutFragment()
		if seen[u.String()] {
			continue
		}
		if len(seen) < maxLinks {
			seen[u.String()] = true
		}
		if !pass(given{url: u, from: l.from, place: l.name}) {
			return nil
		}
	}
	return nil
}

// remoteFields are what a line of a list may say if a server sent it: nothing about files and
// fields, which are the user's.
var remoteFields = []string{"url", "checksum"}

// lineURL returns the URL in a line of JSON that is no job, redacted, or "".
func lineURL(text string) string {
	var line struct {
		URL string `json:"url"`
	}
	if json.Unmarshal([]byte(text), &line) != nil || line.URL == "" {
		return ""
	}
	u, err := uri.ParseLoose(line.URL)
	if err != nil {
		return ""
	}
	return u.Redacted()
}

// jsonMistake says what is wrong with a line of JSON, in words of JSON and not of Go.
func jsonMistake(err error) string {
	var kind *json.UnmarshalTypeError
	var form *json.SyntaxError
	switch {
	case errors.As(err, &kind):
		got, _, _ := strings.Cut(kind.Value, " ") // a number is told
		return fmt.Sprintf("%q: %s where %s is due", kind.Field, jsonKind(got), wantedKind(kind.Type))
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "it ends too early"
	case errors.As(err, &form):
		return fmt.Sprintf("there is a mistake at byte %d", form.Offset)
	}
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), "json: "), "download: ")
}

// jsonKind returns the word for a kind of value that package json has found.
func jsonKind(kind string) string {
	switch kind {
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "bool":
		return "true or false"
	}
	return "a " + kind
}

// wantedKind returns the word for what JSON has in place of a type.
func wantedKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "a list"
	case reflect.Map:
		return "an object"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Struct:
		if !reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
			return "an object"
		}
	}
	return "a string"
}

// lineJob returns the job of a line of JSON: what the flags say, and what the line says besides.
func (gt *getter) lineJob(template *job.Job, g given) (*job.Job, error) {
	var keys map[string]json.RawMessage
	type plain job.Job
	j := plain(*template)
	j.Header, j.Form = nil, nil
	dec := json.NewDecoder(bytes.NewReader([]byte(g.text)))
	dec.DisallowUnknownFields()
	err := dec.Decode(&j)
	if err == nil && dec.More() {
		err = errors.New("there is more than one object in the line")
	}
	if err == nil {
		err = json.Unmarshal([]byte(g.text), &keys)
	}
	if err != nil {
		return nil, failure.Usagef("not a line of JSON with a url: %s", jsonMistake(err))
	}
	for key := range keys {
		switch {
		case !g.from.IsZero() && !slices.Contains(remoteFields, key):
			return nil, failure.Usagef("%q is not for a list that a server sent", key)
		case slices.Contains([]string{"op", "from", "depth", "attempt"}, key):
			return nil, failure.Usagef("%q is not for a list", key)
		case gt.opts.Tree.On() && key != "url":
			return nil, failure.Usagef("%q is for single files: of what a tree begins at, only the URL counts", key)
		}
	}
	if j.Output == "-" && template.Output != "-" {
		return nil, failure.Usagef("\"output\" names a file; urlget cat prints")
	}
	if base := gt.opts.List.Begin; !j.URL.IsAbs() && j.URL.String() != "" && !base.IsZero() {
		j.URL = base.Resolve(j.URL)
	}
	if j.Form == nil {
		j.Form = template.Form
	}
	j.Header = append(slices.Clone(template.Header), j.Header...)
	done := job.Job(j)
	if wrong := (*job.FieldError)(nil); errors.As(done.Validate(), &wrong) {
		err := failure.Usagef("%s: %s", wrong.Field, wrong.Reason)
		if wrong.Field == "output" {
			err.Hint = "files of a list are below the directory of -P, as in \"sub/name\""
		}
		return nil, err
	}
	return &done, nil
}
