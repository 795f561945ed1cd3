// Package dict is the driver for dictionary servers (RFC 2229): definitions of words, lists of
// matching words, and the list of a server's databases.
package dict

import (
	"cmp"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"io"
	"iter"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/internal/quoted"
)

const (
	port    = 2628
	maxLine = 8 << 10 // RFC 2229 allows 1024 bytes; lines of definitions are not limited
	// maxCommand is the longest line that a client may send, including CRLF (RFC 2229, section
	// 2.3).
	maxCommand = 1024
	maxLogins  = 3
)

// Reply codes (RFC 2229, section 7).
const (
	replyDatabases       = 110 // n databases present - text follows
	replyDefinitions     = 150 // n definitions retrieved - definitions follow
	replyDefinition      = 151 // word database name - text follows
	replyMatches         = 152 // n matches found - text follows
	replyBanner          = 220
	replyAuthenticated   = 230 // authentication successful
	replyOK              = 250
	replySyntax          = 500 // syntax error, command not recognized
	replyParameters      = 501 // syntax error, illegal parameters
	replyInvalidDatabase = 550
	replyInvalidStrategy = 551
	replyNoMatch         = 552
	replyNoDatabases     = 554 // no databases present
)

// Load registers the driver.
func Load(env fetch.Env, reg *fetch.Registry) {
	reg.Register(fetch.Scheme{
		Name: "dict", Port: port, Ops: []fetch.Op{fetch.OpGet, fetch.OpList},
		Summary: "definitions of words, from dictionary servers",
		Driver:  &opener{env: env},
	})
}

type opener struct {
	env   fetch.Env
	tried driver.Logins
}

func (d *opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	q, err := parseURL(req.URL)
	if err != nil {
		return nil, err
	}
	a := &response{query: q, listed: q.verb == define && req.Op == fetch.OpList, base: req.URL}
	question := driver.Question{Addr: req.URL.HostPort(port)}
	err = driver.Ask(ctx, d.env, question, func(conn *fetch.Conn) error {
		a.Closer, a.lines = conn, wire.NewLines(conn, maxLine)
		a.replyTimeout = func() (done func()) { return conn.ReplyTimeout(d.env.Timeouts().Reply) }
		conn.PieceLines()
		return d.sendQuery(ctx, req, a)
	})
	if err != nil {
		return nil, err
	}
	resp := &fetch.Response{Body: a, Meta: fetch.Meta{
		Name: fetch.SafeName(q.word + ".txt"), ContentType: "text/plain; charset=utf-8",
		Size: -1, Text: true,
		Reply: fetch.Reply{Code: a.status.Code, Text: wire.Text(a.status.Text())},
	}}
	switch {
	case a.listed:
		resp.Kind, resp.Parse = fetch.KindListing, a.definitions
	case q.verb != define:
		resp.Kind = fetch.KindListing
		resp.Parse = func(r io.Reader) iter.Seq2[fetch.Entry, error] { return q.members(req.URL, r) }
	}
	return resp, nil
}

func (d *opener) sendQuery(ctx context.Context, req *fetch.Request, a *response) error {
	banner, err := a.lines.Reply()
	if err != nil {
		return err
	}
	if banner.Code != replyBanner {
		return failure(banner, a.query)
	}
	if err := a.lines.Queue(d.clientCommand()); err != nil {
		return err
	}
	if a.query.user != "" {
		if err := d.login(ctx, req, a, banner.Text()); err != nil {
			return err
		}
	}
	if err := a.lines.Queue(a.query.command()); err != nil {
		return err
	}
	if err := a.lines.Send("QUIT"); err != nil {
		return err
	}
	if a.query.user == "" {
		if _, err := a.lines.Reply(); err != nil { // reply to CLIENT, which some servers do not support
			return err
		}
	}
	return a.begin()
}

// clientCommand returns the command that identifies the client. It must be sent, and its reply
// carries no information (RFC 2229, section 3.6.1).
func (d *opener) clientCommand() string {
	name := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, d.env.Identity().UserAgent)
	return "CLIENT " + quoted.String(cmp.Or(name, "urlget"))
}

// login authenticates the user with a digest of the server's message identifier and the password
// (RFC 2229, section 3.11.1). The reply to CLIENT has not been read yet.
func (d *opener) login(ctx context.Context, req *fetch.Request, a *response, banner string) error {
	id, ok := messageID(banner)
	if !ok {
		return &fetch.Error{Code: fetch.ErrAuth,
			Reply: fetch.Reply{Code: replyBanner, Text: wire.Text(banner)},
			Err:   errors.New("the server does not support logins"), Hint: "remove the user from the URL"}
	}
	var refused error
	greeted := false
	for attempt := 1; attempt <= maxLogins; attempt++ {
		cred, err := d.env.Credential(ctx, fetch.Challenge{URL: req.URL, Mechanism: "dict",
			User: a.query.user, Attempt: attempt})
		switch {
		case refused != nil && errors.Is(err, fetch.ErrAuth):
			return refused
		case err != nil:
			return err
		}
		cred.User = a.query.user
		refused = d.tried.Send(ctx, d.env, req.URL, cred, func() error {
			defer func() { greeted = true }()
			return a.authenticate(id, cred, greeted)
		})
		if !errors.Is(refused, fetch.ErrAuth) {
			return refused
		}
	}
	return refused
}

// authenticate sends a login. The reply to CLIENT comes before its first one.
func (a *response) authenticate(id string, cred fetch.Credential, greeted bool) error {
	sum := md5.Sum([]byte(id + cred.Password))
	line := "AUTH " + quoted.String(cred.User) + " "
	if err := a.lines.SendSecret(line+hex.EncodeToString(sum[:]), line+"****"); err != nil {
		return err
	}
	if !greeted {
		if _, err := a.lines.Reply(); err != nil {
			return err
		}
	}
	reply, err := a.lines.Reply()
	if err != nil || reply.Code == replyAuthenticated {
		return err
	}
	return failure(reply, a.query)
}

// messageID returns the message identifier at the end of a banner, with angle brackets.
func messageID(banner string) (string, bool) {
	start, end := strings.LastIndexByte(banner, '<'), strings.LastIndexByte(banner, '>')
	if start < 0 || end < start || !strings.Contains(banner[start:end], "@") {
		return "", false
	}
	return banner[start : end+1], true
}

// failure returns the error that a reply reports (RFC 2229, section 7.2).
func failure(r wire.Reply, q query) error {
	e := &fetch.Error{Reply: fetch.Reply{Code: r.Code, Text: wire.Text(r.Text())}}
	switch {
	case r.Code == replyNoMatch:
		e.Code = fetch.ErrNotFound
	case r.Code == replyInvalidDatabase:
		e.Code, e.Hint = fetch.ErrNotFound, "use dict://"+q.host+"/ to list the databases"
	case r.Code == replyInvalidStrategy:
		e.Code, e.Hint = fetch.ErrNotFound, "omit the strategy to use the server's default"
	case r.Code >= 530 && r.Code < 540:
		e.Code = fetch.ErrAuth
	case r.Code == replySyntax, r.Code == replyParameters:
		e.Code = fetch.ErrProtocol
	case r.Code >= 500 && r.Code < 600:
		e.Code = fetch.ErrServer
	case r.Code >= 400 && r.Code < 500:
		e.Code, e.Retry = fetch.ErrBusy, true
	default:
		e.Code, e.Err = fetch.ErrProtocol, errors.New("unexpected reply")
	}
	return e
}

func (d *opener) Expect(req *fetch.Request) (fetch.Meta, bool) {
	q, err := parseURL(req.URL)
	m := fetch.Meta{Name: fetch.SafeName(q.word + ".txt")}
	if q.verb != define {
		m.Kind = fetch.KindListing
	}
	return m, err == nil
}

func (d *opener) Explain(req *fetch.Request) ([]string, error) {
	q, err := parseURL(req.URL)
	if err != nil {
		return nil, err
	}
	steps := []string{d.clientCommand()}
	if q.user != "" {
		steps = append(steps, "AUTH "+quoted.String(q.user)+" ****")
	}
	return append(steps, q.command(), "QUIT"), nil
}
