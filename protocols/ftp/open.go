package ftp

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/wire"
)

// A transfer is one that the server has granted.
type transfer struct {
	meta  fetch.Meta
	ch    *channel
	final *wire.Reply // the report of the end, if it came at once
	limit int64       // how many octets are wanted; 0 means all
}

// facts is what the server says of a file before the transfer (RFC 3659). Only together do size and
// time show that a file is still the same.
type facts struct {
	size    int64 // of the image; -1 if unknown
	modTime time.Time
	// refused counts the answers that take the name for no file; unknown those that show that the
	// server does not know the command.
	refused, unknown int
}

// Validator is the state of the file. Its ETag is ours: FTP has none.
func (f *facts) validator() fetch.Validator {
	v := fetch.Validator{ModTime: f.modTime}
	if f.size >= 0 && !f.modTime.IsZero() {
		v.ETag = fmt.Sprintf("%d-%s", f.size, f.modTime.UTC().Format("20060102150405.999"))
	}
	return v
}

// same reports whether the file is in the state that the caller knows.
func (f *facts) same(known fetch.Validator) bool {
	if known.ETag != "" {
		return known.ETag == f.validator().ETag
	}
	return !f.modTime.IsZero() && f.modTime.Equal(known.ModTime)
}

// steps returns the commands that ask for the facts. SIZE counts what a transfer in the present type
// would take, which servers know for images only.
func (f *facts) steps(t *task) []step {
	f.size = -1
	note := func(r wire.Reply) {
		switch {
		case isUnknown(r):
			f.unknown++
		case r.Code == 550:
			f.refused++
		}
	}
	var steps []step
	if t.isImage() {
		steps = append(steps, step{line: "SIZE " + t.name, then: func(r wire.Reply) error {
			note(r)
			if n, ok := parseSize(r); ok {
				f.size = n
			}
			return nil
		}})
	}
	return append(steps, step{line: "MDTM " + t.name, then: func(r wire.Reply) error {
		note(r)
		f.modTime = parseTime(r)
		return nil
	}})
}

// parseSize reads the reply to SIZE, behind which some servers write more.
func parseSize(r wire.Reply) (int64, bool) {
	if r.Code != 213 {
		return 0, false
	}
	digits, _, _ := strings.Cut(strings.TrimSpace(r.Text()), " ")
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil && n >= 0
}

// parseTime reads the reply to MDTM, "213 19940208120000.5", which is in UTC (RFC 3659, section 3).
func parseTime(r wire.Reply) time.Time {
	if r.Code != 213 {
		return time.Time{}
	}
	digits, _, _ := strings.Cut(strings.TrimSpace(r.Text()), " ")
	if at, ok := strings.CutPrefix(digits, "191"); ok && len(digits) == 15 {
		digits = "20" + at // "19" and the years since 1900: a bug of the year 2000
	}
	at, err := time.Parse("20060102150405", digits) // takes a fraction too
	if err != nil {
		return time.Time{}
	}
	return at
}

// transfer leads to the file or directory and begins the transfer: all that is said for a task is
// said here and in what this calls.
func (s *session) transfer(ctx context.Context, t *task) (_ *transfer, err error) {
	ch := &channel{}
	defer func() {
		if err != nil {
			ch.close()
		}
	}()
	f, err := s.prepare(ctx, t, ch)
	if err != nil {
		return nil, err
	}
	x := &transfer{meta: fetch.Meta{Size: -1}, ch: ch}
	if t.kind == retrieve {
		if err := s.choosePart(t, f, x); err != nil {
			return nil, err
		}
	}
	if ch.port == 0 && ch.listener == nil && ch.refused == nil {
		cmd, err := s.offer(ctx, ch)
		if err != nil {
			return nil, err
		}
		if err := s.say(cmd); err != nil {
			return nil, err
		}
	}
	if err := s.establish(ctx, ch); err != nil {
		s.lost = true
		return nil, err
	}
	if x.meta.Range.Offset > 0 {
		if err := s.restart(t, x); err != nil {
			return nil, err
		}
	}
	return x, s.start(t, f, x)
}

// prepare changes to the directory, sets the type, asks for the facts and, unless these may end the
// task, prepares the data connection. All of that travels together.
func (s *session) prepare(ctx context.Context, t *task, ch *channel) (*facts, error) {
	f := &facts{size: -1}
	steps, err := s.walk(t.cwd)
	if err != nil {
		return nil, err
	}
	if (t.kind == members || t.kind == match) && s.features == nil {
		steps = append([]step{s.feat()}, steps...)
	}
	steps = append(steps, s.setType(t.typ)...)
	if t.kind == retrieve || t.kind == inspect {
		steps = append(steps, f.steps(t)...)
	}
	if t.kind != inspect && t.req.IfChanged.IsZero() {
		cmd, err := s.offer(ctx, ch)
		if err != nil {
			return nil, err
		}
		steps = append(steps, cmd)
	}
	if err := s.say(steps...); err != nil {
		s.lost = true // where we are is unknown
		return nil, err
	}
	return f, nil
}

// choosePart decides what of the file is asked for, from what the caller knows and what the server
// says.
func (s *session) choosePart(t *task, f *facts, x *transfer) error {
	x.meta.Validator = f.validator()
	x.meta.ContentType = t.mediaType()
	if t.isImage() {
		x.meta.Size = f.size
	}
	want, known := t.req.Range, t.req.IfChanged
	if want.IsZero() {
		if !known.IsZero() && f.same(known) {
			return &fetch.Error{Code: fetch.ErrNotModified, Err: errors.New("size and time are the same")}
		}
		return nil
	}
	if !t.isImage() || want.Offset < 0 || want.Length < 0 || !known.IsZero() && !f.same(known) {
		return nil // all of it
	}
	if f.size >= 0 && want.Offset > f.size {
		return &fetch.Error{Code: fetch.ErrRange, Err: fmt.Errorf("the file has %d octets", f.size)}
	}
	x.meta.Range, x.limit = want, want.Length
	if f.size >= 0 {
		x.meta.Total = f.size
		x.meta.Size = f.size - want.Offset
		if want.Length > 0 && want.Length < x.meta.Size {
			x.meta.Size = want.Length
		} else {
			x.limit = 0
		}
	}
	return nil
}

// restart tells the server where in the file to begin (RFC 3659, section 5). If it cannot, all of the
// file comes.
func (s *session) restart(t *task, x *transfer) error {
	offset := x.meta.Range.Offset
	return s.say(step{line: "REST " + strconv.FormatInt(offset, 10), then: func(r wire.Reply) error {
		if r.Code/100 == 3 {
			return nil
		}
		s.control.env.Logger().Warn("the server cannot begin in the middle of a file; it sends all of it",
			"url", t.req.URL.Redacted(), "reply", replyOf(r).String())
		x.meta.Range, x.limit, x.meta.Size = fetch.Range{}, 0, x.meta.Total
		if x.meta.Total == 0 {
			x.meta.Size = -1
		}
		x.meta.Total = 0
		return nil
	}})
}

// start gives the command that begins the transfer.
func (s *session) start(t *task, f *facts, x *transfer) error {
	verb := s.verb(t)
	reply, err := s.announce(verb, t.name)
	if verb == "MLSD" && isUnknown(reply) {
		delete(s.features, "MLST")
		verb = "LIST"
		reply, err = s.announce(verb, t.name)
	}
	switch {
	case err == nil && reply.Code/100 == 2:
		x.final = &reply
	case err == nil:
	case t.kind != retrieve && isEmpty(reply):
		x.final = &wire.Reply{Code: 226, Lines: reply.Lines}
		x.ch.close()
	case reply.Code == 550 && f.refused > 0 && !contains(strings.ToLower(reply.Text()), denied):
		// What SIZE and MDTM do not find either is not there.
		e := refusal(command(verb, t.name), reply)
		e.Code = fetch.ErrNotFound
		return e
	default:
		return err
	}
	x.meta.Reply = replyOf(reply)
	if t.kind != retrieve {
		x.meta.Kind, x.meta.ContentType = fetch.KindListing, contentTypes[verb]
	}
	return nil
}

// verb returns the last command of the task.
func (s *session) verb(t *task) string {
	switch {
	case t.kind == retrieve:
		return "RETR"
	case t.kind == names:
		return "NLST"
	case s.features["MLST"]:
		return "MLSD"
	}
	return "LIST"
}

// announce says the command and returns its first reply, which announces data or, from some servers,
// is the last one at once.
func (s *session) announce(verb, name string) (reply wire.Reply, err error) {
	cmd := step{line: command(verb, name)}
	cmd.then = func(r wire.Reply) error {
		if reply = r; r.Code/100 > 2 {
			return refusal(cmd.line, r)
		}
		return nil
	}
	err = s.say(cmd)
	return reply, err
}

// command returns the command with its argument, if it has one.
func command(verb, name string) string {
	if name == "" {
		return verb
	}
	return verb + " " + name
}

// isEmpty reports whether a refusal to list says that there is nothing to list.
func isEmpty(r wire.Reply) bool {
	return (r.Code == 450 || r.Code == 550) && strings.Contains(strings.ToLower(r.Text()), "no files")
}
