package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"os"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	textencoding "golang.org/x/text/encoding"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
)

// An argument is a URL or job as written on the command line or in a list.
type argument struct {
	text string             // a URL as it was written, or a job as JSON
	url  uri.URI            // a link, in place of text
	from uri.URI            // the list, if a server sent it
	pos  string             // FILE:LINE; "" for arguments
	lock *download.Manifest // a line of a lock file, in place of text

	output string // name of the file; "" if it is not known yet
}

// maxLinks limits the number of remembered links of a page, which prevent duplicate retrievals.
const maxLinks = 100_000

// A source yields the arguments of a run: those of the command line, the lines of a lock file, and
// those of the list.
type source struct {
	args      []string
	outputs   []string  // names of files for args, from --glob-ranges; may be nil
	locks     *lockFile // nil if there is none
	offline   bool      // nothing is sent
	list      *list     // nil if there is none
	arguments chan argument
	err       error // the error that ended arguments; valid once that is closed
}

func (s *source) open(ctx context.Context, x *jobs) (err error) {
	s.list, err = openList(ctx, x, s.offline)
	s.arguments = make(chan argument)
	return err
}

func (s *source) close() {
	if s.list != nil {
		s.list.body.Close()
	}
}

// read sends the arguments. After ctx is done, it waits only for the line of the list that is being
// read.
func (s *source) read(ctx context.Context, x *jobs) {
	arguments := s.arguments
	defer close(arguments)
	pass := func(g argument) bool {
		select {
		case arguments <- g:
			return true
		case <-ctx.Done():
			return false
		}
	}
	for i, arg := range s.args {
		g := argument{text: arg}
		if s.outputs != nil {
			g.output = s.outputs[i]
		}
		if !pass(g) {
			return
		}
	}
	if s.locks != nil && !s.locks.each(x.rep, pass) || s.list == nil {
		return
	}
	empty := true
	s.err = s.list.each(x.retrievable, func(g argument) bool {
		empty = false
		x.rep.con.Expect(1)
		return pass(g)
	})
	if empty && s.err == nil {
		x.rep.say("no URLs in %s", fetch.Printable(s.list.name))
	}
}

type list struct {
	body io.ReadCloser
	name string  // for messages
	base uri.URI // of the links of a page
	line uri.URI // base of relative lines; zero if they are not allowed
	from uri.URI // URL of a retrieved list; zero if it is local
	page bool
	html bool // --force-html
	file bool // a regular file, which has no lines to wait for

	charset textencoding.Encoding // of lines that are not UTF-8; nil if the server did not name it
}

func openList(ctx context.Context, x *jobs, offline bool) (*list, error) {
	s := &x.opts.List
	l := &list{name: s.File, base: s.BaseURL, line: s.BaseURL, page: s.HTML, html: s.HTML}
	u, err := uri.ParseLoose(s.File)
	switch {
	case s.File == "":
		return nil, nil
	case s.File == "-":
		l.name, l.body, l.file = "standard input", io.NopCloser(x.rep.std.in), isRegular(x.rep.std.in)
		return l, nil
	case strings.Contains(s.File, ":/") && err == nil && u.IsAbs() && !exists(s.File):
		if offline {
			return nil, failure.Usagef("explain cannot read -i %s: it sends nothing",
				fetch.Printable(u.Redacted()))
		}
		x.net.logins.name(u)
		return l, l.retrieve(ctx, x.client, u)
	}
	f, err := os.Open(s.File)
	if err != nil {
		return nil, failure.File(err)
	}
	l.body, l.file = f, isRegular(f)
	switch strings.ToLower(path.Ext(s.File)) {
	case ".html", ".htm", ".xhtml":
		l.page = true
	}
	if l.base.IsZero() {
		l.base, _ = fileURL(s.File)
	}
	return l, nil
}

func isRegular(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// retrieve opens a remote list. Its URLs do not come from the user, so the strict policy applies.
func (l *list) retrieve(ctx context.Context, c *fetch.Client, u uri.URI) error {
	resp, err := c.Get(ctx, u.String())
	if err != nil {
		return err
	}
	l.name, l.body, l.from = u.Redacted(), resp.Body, resp.URL
	if l.base.IsZero() {
		l.base = resp.URL
	}
	kind, params, _ := mime.ParseMediaType(resp.ContentType)
	switch kind {
	case "text/html", "application/xhtml+xml":
		l.page = true
	}
	l.charset, _ = charset.Lookup(params["charset"])
	return nil
}

// decode returns a line in UTF-8. Many servers name a charset for all files, also for those in UTF-8.
func (l *list) decode(line string) string {
	if l.charset == nil || utf8.ValidString(line) {
		return line
	}
	text, err := l.charset.NewDecoder().String(line)
	if err != nil {
		return line
	}
	return text
}

// each calls pass for each URL of the list until pass returns false.
func (l *list) each(retrievable func(string) bool, pass func(argument) bool) error {
	in := bufio.NewReader(&toEnd{r: l.body})
	if page := l.page || startsPage(in); page && !l.html && !l.from.IsZero() {
		return failure.Hinted(l.name+" is a page, not a list of URLs",
			"curl's -i is -S; to retrieve the links of the page, use --force-html -i "+
				fetch.Printable(l.name))
	} else if page {
		return l.links(in, retrievable, pass)
	}
	var held argument // waits for the options below it, if it has a position
	options := make(map[string][]string)
	release := func() bool {
		if held.pos == "" {
			return true
		}
		g := held
		held = argument{}
		if len(options) > 0 {
			g.text, g.url = optionJob(&g, options), uri.URI{}
			clear(options)
		}
		return pass(g)
	}
	for line, err := range job.Lines(in) {
		var digits [20]byte
		pos := l.name + ":" + string(strconv.AppendInt(digits[:0], int64(line.Number), 10))
		line.Text = l.decode(line.Text)
		if errors.Is(err, job.ErrLongLine) {
			err = failure.Usagef("%s: %v", pos, err)
		}
		if err != nil {
			return failure.File(err)
		}
		if name, value, ok := strings.Cut(line.Text, "="); ok && line.Indented &&
			strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-") == "" {
			if err := l.checkOption(held, name); err != nil {
				return failure.Hinted(pos+": "+err.Error(),
					"of aria2's options in a list, urlget reads out, dir, header and checksum")
			}
			options[name] = append(options[name], value)
			continue
		}
		if !release() {
			return nil
		}
		g := argument{text: line.Text, from: l.from, pos: pos}
		if ref, err := uri.ParseRef(g.text); err == nil && !ref.IsAbs() && !l.line.IsZero() &&
			g.text[0] != '{' {
			g.url = l.line.Resolve(ref)
		}
		if l.file {
			held = g
		} else if !pass(g) {
			return nil
		}
	}
	release()
	return nil
}

// checkOption rejects an option of aria2 below the URL of held.
func (l *list) checkOption(held argument, name string) error {
	switch {
	case !l.file:
		return errors.New("options below a URL are read only from files")
	case held.pos == "" || strings.HasPrefix(held.text, "{"):
		return errors.New("the option does not follow a URL")
	case !slices.Contains([]string{"out", "dir", "header", "checksum"}, name):
		return fmt.Errorf("the option %s is not supported", name)
	}
	return nil
}

func optionJob(g *argument, options map[string][]string) string {
	last := func(name string) string {
		if all := options[name]; all != nil {
			return all[len(all)-1]
		}
		return ""
	}
	line := map[string]any{"url": g.text}
	if !g.url.IsZero() {
		line["url"] = g.url.String()
	}
	dir, out := strings.TrimSuffix(last("dir"), "/"), last("out")
	if dir != "" {
		dir += "/"
	}
	if dir+out != "" {
		line["output"] = dir + out
	}
	if header := options["header"]; header != nil {
		line["header"] = header
	}
	if sum := last("checksum"); sum != "" {
		line["checksum"] = checksumText(sum)
	}
	text, _ := json.Marshal(line) // texts cannot fail
	return string(text)
}

// A toEnd is a reader that is not read again after EOF, because a terminal would wait for more input.
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

// startsPage reports whether the input starts with HTML. It waits only for the start of a line.
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

// links calls pass once for each link of a page. It skips links that cannot be retrieved, such as
// mail addresses.
func (l *list) links(in io.Reader, retrievable func(string) bool, pass func(argument) bool) error {
	seen := make(map[string]bool)
	entries, _ := links.Read(in, "text/html", l.base)
	for e, err := range entries {
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
		if !pass(argument{url: u, from: l.from, pos: l.name}) {
			return nil
		}
	}
	return nil
}

// remoteFields are the JSON fields allowed in a list retrieved from a server. Output files and header
// fields are reserved for the user.
var remoteFields = []string{"url", "checksum"}

func (t *template) lineURL(text string) string {
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
	return t.subject(u, line.URL)
}

func jsonMistake(err error) string {
	var kind *json.UnmarshalTypeError
	var form *json.SyntaxError
	switch {
	case errors.As(err, &kind):
		got, _, _ := strings.Cut(kind.Value, " ") // followed by the number itself
		return fmt.Sprintf("%q: got %s, expected %s", kind.Field, cmp.Or(jsonKinds[got], "a "+got),
			wantedKind(kind.Type))
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "unexpected end of line"
	case errors.As(err, &form):
		return fmt.Sprintf("syntax error at byte %d", form.Offset)
	}
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), "json: "), "download: ")
}

var (
	jsonKinds = map[string]string{"array": "a list", "object": "an object", "bool": "true or false"}
	goKinds   = map[reflect.Kind]string{reflect.Slice: "a list", reflect.Map: "an object",
		reflect.Struct: "an object", reflect.Int: "an integer", reflect.Int64: "an integer"}
)

func wantedKind(t reflect.Type) string {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return "a string"
	}
	return cmp.Or(goKinds[t.Kind()], "a string")
}
