package z3950

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/internal/codec/ber"
	codec "github.com/urlget/urlget/internal/codec/z3950"
)

const (
	// messageSize is the preferred maximum size of a message with several records, in bytes.
	messageSize = 1 << 20
	// recordSize is the maximum size of a message with one record, in bytes.
	recordSize = 256 << 20
	// overhead limits the part of a message that is not records, in bytes.
	overhead = 1 << 20
	// maxMessage limits a message with several records, in bytes. It is larger than messageSize
	// because some servers ignore the preferred size.
	maxMessage = 16 << 20
	// closeTimeout is the timeout for sending Close. The session does not wait for the response.
	closeTimeout = time.Second
)

type serverKey struct {
	addr  string
	login string // the URL's user and password
}

// Addr is used by [driver.Pool].
func (k serverKey) Addr() string { return k.addr }

type session struct {
	conn       *fetch.Conn
	r          *ber.Reader
	times      fetch.Timeouts
	options    uint64      // the server's options
	broken     atomic.Bool // the session is unusable; also set by Close, possibly during a Read
	result     string      // the target.resultKey of the result set; "" if there is none
	count      int64       // number of records in the result set
	next       int64       // the position after the last Present, as the server said; 0 if it is unknown
	diagnostic string      // the diagnostic in a successful SearchResponse
	password   string      // of the login that was sent, which no error and no trace repeats
}

// dial sends credentials only after the server has rejected a session without them.
func (d *opener) dial(ctx context.Context, t *target) (*session, error) {
	s, err := d.begin(ctx, t, nil)
	for attempt := 1; attempt <= maxLogins && (errors.Is(err, errRejected) ||
		attempt > 1 && errors.Is(err, fetch.ErrAuth)); attempt++ {
		login, refusal := d.login(ctx, t, attempt, err)
		if refusal != nil {
			return nil, refusal
		}
		err = d.tried.Send(ctx, d.env, t.url, fetch.Credential{User: login.User, Password: login.Password},
			func() (err error) {
				s, err = d.begin(ctx, t, login)
				return err
			})
	}
	return s, err
}

func (d *opener) begin(ctx context.Context, t *target, login *codec.IDPass) (*session, error) {
	conn, err := d.env.Dial(ctx, "tcp", t.url.HostPort(port))
	if err != nil {
		return nil, err
	}
	s := &session{conn: conn, times: d.env.Timeouts(), r: ber.NewReader(bufio.NewReaderSize(conn, 32<<10))}
	release := conn.Bind(ctx)
	if login != nil {
		s.password = login.Password
	}
	err = s.init(d.env.Identity().UserAgent, login)
	if !release() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

const maxLogins = 3

// If there are no credentials, login returns the reason for the rejection.
func (d *opener) login(ctx context.Context, t *target, attempt int, rejected error) (*codec.IDPass, error) {
	var e *fetch.Error
	if !errors.As(rejected, &e) {
		return nil, rejected
	}
	dup := *e
	if !d.opts.AllowPlaintext {
		dup.Err = fmt.Errorf("%w without a login, and the password would be sent in plaintext", errRejected)
		dup.Reason = fetch.Reason{Kind: fetch.ReasonPlaintext}
		return nil, &dup
	}
	user, _ := t.url.User()
	cred, err := d.env.Credential(ctx,
		fetch.Challenge{URL: t.url, Mechanism: "z39.50", Realm: t.url.Host(), User: user, Attempt: attempt})
	switch {
	case err == nil:
		return &codec.IDPass{User: cred.User, Password: cred.Password}, nil
	case !errors.Is(err, fetch.ErrAuth):
		return nil, err
	case attempt == 1:
		dup.Reason = fetch.Reason{Kind: fetch.ReasonNoLogin}
	}
	return nil, &dup
}

func (s *session) init(agent string, login *codec.IDPass) error {
	m := codec.Init{Version: 3, Options: []int{codec.OptionSearch, codec.OptionPresent,
		codec.OptionScan}, PreferredMessageSize: messageSize, ExceptionalRecordSize: recordSize,
		ID: "urlget", Name: cmp.Or(agent, "urlget"), Login: login}
	s.trace(true, "%s", describeInit(login != nil))
	defer s.conn.ReplyTimeout(s.times.Reply)()
	if _, err := s.conn.WriteMasked(m.Encode(false), m.Encode(true)); err != nil {
		return s.markBroken(err)
	}
	if err := s.receive(codec.TagInitResponse, overhead); err != nil {
		return err
	}
	m = codec.ReadInit(s.r)
	if err := s.decodeError(); err != nil {
		return err
	}
	s.options = m.OptionBits
	s.trace(false, "INIT version %d, accepted=%t, %s", m.Version, m.Accepted,
		fetch.Printable(wire.Text(m.Name)))
	if !m.Accepted {
		return s.markBroken(rejection(m.Reasons))
	}
	return nil
}

func describeInit(login bool) string {
	text := fmt.Sprintf("INIT version 3, records of at most %d bytes", recordSize)
	if login {
		text += ", with a user and a password"
	}
	return text
}

// ask sends a message, whose description in the trace is shown, and decodes the response, which has
// the given tag and about limit bytes at most.
func (s *session) ask(message []byte, shown string, tag uint32, limit int64, decode func(*ber.Reader)) error {
	defer s.conn.ReplyTimeout(s.times.Reply)()
	s.trace(true, "%s", shown)
	if _, err := s.conn.Write(message); err != nil {
		return s.markBroken(err)
	}
	wire.QuickAck(s.conn)
	if err := s.receive(tag, limit); err != nil {
		return err
	}
	decode(s.r)
	return s.decodeError()
}

// receive reads a header with the given tag. The message has about limit bytes at most.
func (s *session) receive(tag uint32, limit int64) error {
	if !s.r.Message(limit) {
		return s.markBroken(readError(s.r.Err()))
	}
	h := s.r.Header()
	switch {
	case h.Is(tag) && h.Constructed:
		return nil
	case h.Is(codec.TagClose) && h.Constructed:
		m := codec.ReadClose(s.r)
		if err := s.decodeError(); err != nil {
			return err
		}
		s.trace(false, "CLOSE %s", fetch.Printable(wire.Text(m.String())))
		return s.markBroken(closeError(m))
	}
	return s.markBroken(fetch.ErrProtocol.Errorf("received a message with tag %d, want %d", h.Tag, tag))
}

func (s *session) decodeError() error {
	if err := s.r.Err(); err != nil {
		return s.markBroken(readError(err))
	}
	return nil
}

func (s *session) markBroken(err error) error {
	s.broken.Store(true)
	return err
}

func (s *session) trace(sent bool, format string, args ...any) {
	if trace := s.conn.Line(); trace != nil {
		trace(sent, s.maskText(fmt.Sprintf(format, args...)))
	}
}

// close closes the connection. It sends Close first if no message is being read.
func (s *session) close() {
	if !s.broken.Load() && s.r.Complete() {
		s.conn.SetWriteDeadline(time.Now().Add(closeTimeout))
		s.conn.Write(codec.Close{Reason: codec.CloseFinished}.Encode()) // best effort
	}
	s.conn.Abort()
}

// A lease is a session in use, bound to the context of one request.
type lease struct {
	*session
	*driver.Lease[serverKey, *session]
}

// Discard ends the lease and closes the connection without sending Close.
func (l *lease) Discard() {
	l.broken.Store(true)
	l.Lease.Discard()
}

// with leases a session, preferably one with the result set of t, and runs op on it. If a reused
// session has been closed by the server, it tries another one. If with succeeds, the caller must put
// or discard the lease.
func (d *opener) with(ctx context.Context, t *target, op func(*lease) error) (*lease, error) {
	password, _ := t.url.Password()
	user, _ := t.url.User()
	key := serverKey{addr: t.url.HostPort(port), login: user + "\x00" + password}
	result := t.resultKey()
	var l *lease
	_, err := d.pool.Use(ctx, key, func(s *session) bool { return s.result == result },
		func(ctx context.Context) (*session, error) { return d.dial(ctx, t) },
		func(pooled *driver.Lease[serverKey, *session]) error {
			l = &lease{session: pooled.Conn, Lease: pooled}
			return op(l)
		}, func(s *session, err error) bool {
			return s.broken.Load() && !errors.Is(err, os.ErrDeadlineExceeded) &&
				fetch.CodeOf(err) != fetch.ErrProtocol
		})
	return l, err
}
