package ftp

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

// A transfer has been accepted by the server.
type transfer struct {
	meta      fetch.Meta
	data      *dataConn
	command   string      // which started the transfer
	final     *wire.Reply // the final reply, if it came first
	limit     int64       // bytes to read; 0 means all
	announced int64       // the size in the preliminary reply; 0 if there is none
}

// facts are the size and time of a file before the transfer (RFC 3659). Only both together show
// that a file is unchanged.
type facts struct {
	size    int64 // as TYPE I; -1 if unknown
	modTime time.Time
	// refused counts the replies for a missing file, and unknown those of a server without the
	// command.
	refused, unknown int
}

// validator returns the validator of the file. FTP has no entity tags, so the driver makes one.
func (f *facts) validator() fetch.Validator {
	v := fetch.Validator{ModTime: f.modTime}
	if f.size >= 0 && !f.modTime.IsZero() {
		v.ETag = fmt.Sprintf("%d-%s", f.size, f.modTime.UTC().Format("20060102150405.999"))
	}
	return v
}

// steps returns the commands that request the facts. SIZE depends on the TYPE; servers only know it
// for TYPE I.
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

// parseSize reads the reply to SIZE. Some servers append words to the number.
func parseSize(r wire.Reply) (int64, bool) {
	if r.Code != 213 {
		return 0, false
	}
	digits, _, _ := strings.Cut(strings.TrimSpace(r.Text()), " ")
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil && n >= 0
}

// parseTime reads the reply to MDTM, "213 19940208120000.5", in UTC (RFC 3659, section 3).
func parseTime(r wire.Reply) time.Time {
	if r.Code != 213 {
		return time.Time{}
	}
	digits, _, _ := strings.Cut(strings.TrimSpace(r.Text()), " ")
	if at, ok := strings.CutPrefix(digits, "191"); ok && len(digits) == 15 {
		digits = "20" + at // "19" and the years since 1900: a year 2000 bug
	}
	at, err := time.Parse("20060102150405", digits) // accepts a fraction too
	if err != nil || !fetch.PlausibleTime(at) {
		return time.Time{}
	}
	return at
}

// transfer changes to the directory and starts the transfer. It and its callees send all commands
// of a task.
func (s *session) transfer(ctx context.Context, t *task) (_ *transfer, err error) {
	dc := &dataConn{}
	defer func() {
		if err != nil {
			dc.close()
		}
	}()
	f, err := s.prepare(ctx, t, dc)
	if err != nil {
		return nil, err
	}
	x := &transfer{meta: fetch.Meta{Size: -1}, data: dc}
	if t.kind == retrieve {
		if err := s.choosePart(t, f, x); err != nil {
			return nil, err
		}
		if x.meta.Digests, err = s.digest(t, f.size); err != nil {
			return nil, err
		}
	}
	if s.needsProof(t, f, x) {
		if s.restarts.ignored.Has(t.addr()) {
			s.control.env.Logger().Warn("the server ignores REST; the complete file is retrieved",
				"url", t.req.URL.Redacted())
			x.wholeFile()
		} else if err := s.proveRestart(ctx, t, f.size, dc); err != nil {
			return nil, err
		}
	}
	if err := s.connectData(ctx, dc); err != nil {
		return nil, err
	}
	if x.meta.Range.Offset > 0 {
		if err := s.restart(t, x); err != nil {
			return nil, err
		}
	}
	return x, s.start(t, f, x)
}

// connectData makes dc a data connection, unless it is one already.
func (s *session) connectData(ctx context.Context, dc *dataConn) error {
	if dc.conn != nil {
		return nil
	}
	if dc.port == 0 && dc.listener == nil && dc.refused == nil {
		cmd, err := s.offer(ctx, dc)
		if err != nil {
			return err
		}
		if err := s.say(cmd); err != nil {
			return err
		}
	}
	if err := s.establish(ctx, dc); err != nil {
		s.lost = true
		return err
	}
	return nil
}

// prepare changes to the directory, sets the type, requests the facts and prepares the data
// connection, unless the facts may end the task. All these commands are pipelined.
func (s *session) prepare(ctx context.Context, t *task, dc *dataConn) (*facts, error) {
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
	if t.kind != inspect && t.req.IfChanged.IsZero() && !t.req.WantDigest {
		cmd, err := s.offer(ctx, dc)
		if err != nil {
			return nil, err
		}
		steps = append(steps, cmd)
	}
	if err := s.say(steps...); err != nil {
		s.typ = unknownType
		return nil, err
	}
	return f, nil
}

func (s *session) choosePart(t *task, f *facts, x *transfer) error {
	x.meta.Validator = f.validator()
	x.meta.ContentType = t.mediaType()
	if t.isImage() {
		x.meta.Size = f.size
	}
	same := remotefile.Same(t.req.IfChanged, x.meta.Validator)
	if err := remotefile.NotModified(t.req, same); err != nil || !t.isImage() {
		return err
	}
	if err := remotefile.SelectPart(t.req, &x.meta, same); err != nil {
		return err
	}
	if r := x.meta.Range; f.size < 0 || r.Offset+x.meta.Size < f.size {
		x.limit = r.Length // the server would send more
	}
	return nil
}

// restart sends the offset (RFC 3659, section 5). If the server refuses it, the complete file is
// retrieved.
func (s *session) restart(t *task, x *transfer) error {
	r, err := s.exchange(restartAt(x.meta.Range.Offset))
	if err != nil || r.Code/100 == 3 {
		return err
	}
	s.control.env.Logger().Warn("the server cannot resume; the complete file is retrieved",
		"url", t.req.URL.Redacted(), "reply", replyOf(r).String())
	x.wholeFile()
	return nil
}

func restartAt(offset int64) step { return step{line: "REST " + strconv.FormatInt(offset, 10)} }

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
		x.data.close()
	case reply.Code == 550 && f.refused > 0 && !contains(strings.ToLower(reply.Text()), denied):
		// SIZE and MDTM did not find it either.
		e := refusal(command(verb, t.name), reply)
		e.Code = fetch.ErrNotFound
		return e
	default:
		return err
	}
	x.command, x.meta.Reply = command(verb, t.name), replyOf(reply)
	if t.kind == retrieve && t.isImage() && x.meta.Size < 0 {
		x.announced = announcedSize(reply.Text(), t.name)
		if x.meta.Range.Offset == 0 && x.limit == 0 && x.announced > 0 {
			x.meta.Size = x.announced
		}
	}
	if t.kind != retrieve {
		x.meta.Kind, x.meta.ContentType = fetch.KindListing, contentType(verb)
	}
	return nil
}

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

// announce sends the command and returns its first reply. Some servers send the final reply first.
func (s *session) announce(verb, name string) (reply wire.Reply, err error) {
	cmd := step{line: command(verb, name), transfer: true}
	if reply, err = s.exchange(cmd); err == nil && reply.Code/100 > 2 {
		err = refusal(cmd.line, reply)
	}
	return reply, err
}

// announcement matches the size in a preliminary reply: "150 Opening BINARY mode data connection
// for motd (9 bytes)."
var announcement = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\((\d{1,18}) bytes?\)`)
})

// announcedSize ignores the file name, which may look like a size.
func announcedSize(text, name string) int64 {
	m := announcement().FindAllStringSubmatch(strings.Replace(text, name, "*", 1), -1)
	if len(m) != 1 {
		return 0
	}
	n, _ := strconv.ParseInt(m[0][1], 10, 64)
	return n
}

func command(verb, name string) string {
	if name == "" {
		return verb
	}
	return verb + " " + name
}

// isEmpty reports whether a negative reply means an empty directory.
func isEmpty(r wire.Reply) bool {
	return (r.Code == 450 || r.Code == 550) && strings.Contains(strings.ToLower(r.Text()), "no files")
}
