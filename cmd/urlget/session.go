package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/tty"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/render"
)

// escape is the key that leads from a session to the command's own prompt, as in telnet: ^].
const escape = 0x1d

// session attaches the terminal to an interactive service. If standard input is not a terminal, it
// is sent, and what arrives is printed until the server closes the connection or, after the end of
// the input, has been silent for the time given by -T. What arrives goes where -O says.
func (g *getter) session(ctx context.Context, j *job.Job) error {
	terminal := g.input.terminal()
	if !terminal && g.input.absent() {
		return &fetch.Error{Code: fetch.ErrInteractive, Err: errors.New("there is neither a terminal nor input to send"),
			Hint: "run it from a terminal, or pipe the input into it"}
	}
	client, idle, err := g.sessionClient(terminal)
	if err != nil {
		return err
	}
	defer client.Close()
	g.about = j.URL
	opened, messages, err := g.openSession(ctx, client, j)
	if err != nil {
		return err
	}
	defer opened.Close()
	out, end, err := g.sessionOutput(terminal)
	if err != nil {
		return err
	}
	s := &session{get: g, conn: opened, out: out, idle: idle}
	if g.events != nil {
		s.url = j.URL.Redacted()
	}
	switch {
	case messages != nil:
		s.messages = messages
		if terminal {
			g.say("connected to %s; each line is a message, and ^D ends the session", fetch.Printable(j.URL.Host()))
		}
		begun := time.Now()
		err := end(s.run(ctx, func(ctx context.Context) error { return s.lines(ctx, terminal) }))
		if err == nil {
			g.write(render.Closed(s.url, time.Since(begun)))
		}
		return err
	case !terminal:
		return end(s.run(ctx, s.pipe))
	}
	if user, ok := j.URL.User(); ok && user != "" {
		advice := "the URL suggests the user name " + user
		if _, ok := j.URL.Password(); ok {
			advice += " and a password"
		}
		g.say("%s", fetch.Printable(advice))
	}
	g.say("connected to %s, escape character is ^]", fetch.Printable(j.URL.Host()))
	return end(s.attach(ctx))
}

// openSession opens the session of j. Messages is nil if it does not consist of them.
func (g *getter) openSession(ctx context.Context, client *fetch.Client, j *job.Job) (io.ReadWriteCloser, fetch.Messenger, error) {
	req, err := j.Request()
	if err != nil {
		return nil, nil, err
	}
	resp, err := client.Do(ctx, &fetch.Request{URL: j.URL, Op: fetch.OpDial, From: j.From, Header: req.Header})
	if err != nil {
		return nil, nil, err
	}
	opened, ok := resp.Body.(io.ReadWriteCloser)
	messages, framed := resp.Body.(fetch.Messenger)
	switch {
	case !ok:
		err = &fetch.Error{Code: fetch.ErrProtocol, Err: errors.New("there is no session")}
	case !framed && g.events != nil:
		err = failure.Usagef("--json has no form for this session")
	}
	if err != nil {
		resp.Body.Close()
		return nil, nil, err
	}
	return opened, messages, nil
}

// sessionClient returns a client whose connections may be silent, because people need time to
// think, and how long the server may be silent.
func (g *getter) sessionClient(terminal bool) (*fetch.Client, time.Duration, error) {
	idle := max(timeouts(g.opts).Idle, 0)
	if !terminal && idle == 0 && !g.opts.Given("timeout") && !g.opts.Given("read-timeout") {
		idle = 60 * time.Second
	}
	opts, err := g.options()
	if err != nil {
		return nil, 0, err
	}
	opts.Timeouts.Idle = -1
	return g.clientWith(opts), idle, nil
}

// A session is an open interactive service.
type session struct {
	get      *getter
	conn     io.ReadWriteCloser
	messages fetch.Messenger // what conn consists of; nil for plain bytes
	url      string          // for the events of messages; "" if they are printed as they are
	out      io.Writer
	idle     time.Duration // 0 for none
	gate     sync.Mutex    // held to pause output
}

// errClosed ends a session at the user's request.
var errClosed = errors.New("closed")

// run prints what the server sends while feed sends the input. It returns when the server closes
// the connection, feed fails, or nothing has arrived for the idle time.
func (s *session) run(ctx context.Context, feed func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	arrived := make(chan struct{}, 1)
	received, fed := make(chan error, 1), make(chan error, 1)
	go func() {
		if s.url != "" {
			received <- s.frames(arrived)
			return
		}
		received <- s.receive(arrived)
	}()
	go func() { fed <- feed(ctx) }()
	silence := newSilence(s.idle)
	defer silence.stop()
	err, receiving, feeding := error(nil), true, true
	for done := false; !done; {
		select {
		case err = <-received:
			done, receiving = true, false
		case feedErr := <-fed:
			feeding, fed = false, nil
			done, err = feedErr != nil, feedErr
		case <-arrived:
			silence.reset()
		case <-silence.expired():
			done = true
			if feeding {
				err = &fetch.Error{Code: fetch.ErrNetwork, Err: fmt.Errorf("nothing came for %v", s.idle)}
			}
		case <-ctx.Done():
			done, err = true, context.Cause(ctx)
		}
	}
	s.conn.Close()
	cancel()
	if receiving {
		<-received
	}
	if feeding {
		<-fed
	}
	if errors.Is(err, errClosed) {
		return nil
	}
	return err
}

// A silence measures how long nothing has arrived.
type silence struct {
	limit time.Duration
	timer *time.Timer // nil for no limit
}

func newSilence(limit time.Duration) *silence {
	s := &silence{limit: limit}
	if limit > 0 {
		s.timer = time.NewTimer(limit)
	}
	return s
}

func (s *silence) expired() <-chan time.Time {
	if s.timer == nil {
		return nil
	}
	return s.timer.C
}

func (s *silence) reset() {
	if s.timer != nil {
		s.timer.Reset(s.limit)
	}
}

func (s *silence) stop() {
	if s.timer != nil {
		s.timer.Stop()
	}
}

// receive prints what arrives until the server closes the connection.
func (s *session) receive(arrived chan<- struct{}) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := s.conn.Read(buf)
		if n > 0 {
			select {
			case arrived <- struct{}{}:
			default:
			}
			s.gate.Lock()
			_, writeErr := s.out.Write(buf[:n])
			s.gate.Unlock()
			if writeErr != nil {
				return failure.File(writeErr)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// pipe sends standard input.
func (s *session) pipe(ctx context.Context) error {
	for {
		select {
		case chunk, ok := <-s.get.input.read():
			if !ok {
				return nil
			}
			if _, err := s.conn.Write(chunk); err != nil {
				return s.sendError(err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// sendError returns the error for a failed write: if the server has closed the connection, reading
// tells why.
func (s *session) sendError(err error) error {
	if fetch.CodeOf(err) == "" {
		return &fetch.Error{Code: fetch.ErrNetwork, Err: err}
	}
	return err
}

// attach hands the terminal over to the session and always takes it back.
func (s *session) attach(ctx context.Context) error {
	fd := int(s.get.std.in.Fd())
	state, err := term.MakeRaw(fd)
	if err != nil {
		return failure.File(err)
	}
	defer term.Restore(fd, state)
	screen, _ := s.conn.(fetch.Terminal)
	if screen != nil {
		defer s.followSize(screen)()
	}
	err = s.run(ctx, func(ctx context.Context) error { return s.typing(ctx, fd, state, screen) })
	term.Restore(fd, state)
	s.get.say("")
	s.get.say("connection closed")
	return err
}

// followSize reports the size of the window to the server, now and whenever it changes, until stop
// is called.
func (s *session) followSize(screen fetch.Terminal) (stop func()) {
	tell := func() {
		if columns, rows, err := term.GetSize(int(s.get.std.in.Fd())); err == nil {
			screen.Resize(columns, rows)
		}
	}
	tell()
	return tty.OnResize(tell)
}

// typing sends what is typed, up to the escape character, and then prompts for a command.
func (s *session) typing(ctx context.Context, fd int, state *term.State, screen fetch.Terminal) error {
	for {
		select {
		case chunk, ok := <-s.get.input.read():
			if !ok {
				return errClosed
			}
			send, rest, escaped := bytes.Cut(chunk, []byte{escape})
			if len(send) > 0 {
				if _, err := s.conn.Write(send); err != nil {
					return s.sendError(err)
				}
			}
			if !escaped {
				continue
			}
			if err := s.command(ctx, fd, state, screen, rest); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// command prompts for a command, with the terminal as it was before the session and the server's
// output held back. Typed is what immediately followed the escape character.
func (s *session) command(ctx context.Context, fd int, state *term.State, screen fetch.Terminal, typed []byte) error {
	s.gate.Lock()
	defer s.gate.Unlock()
	term.Restore(fd, state)
	defer term.MakeRaw(fd)
	for {
		fmt.Fprint(s.get.con, "\nurlget (close, break, status, or nothing to go on)> ")
		for !bytes.ContainsAny(typed, "\r\n") {
			select {
			case chunk, ok := <-s.get.input.read():
				if !ok {
					return errClosed
				}
				typed = append(typed, chunk...)
			case <-ctx.Done():
				return nil
			}
		}
		line, _, _ := bytes.Cut(typed, []byte("\n"))
		typed = nil
		switch word := strings.ToLower(strings.TrimSpace(string(line))); {
		case word == "":
			return nil
		case strings.HasPrefix("close", word), strings.HasPrefix("quit", word):
			return errClosed
		case screen == nil && (strings.HasPrefix("break", word) || strings.HasPrefix("send break", word)):
			s.get.say("this protocol has no break")
		case strings.HasPrefix("break", word), strings.HasPrefix("send break", word):
			if err := screen.Break(); err != nil {
				return s.sendError(err)
			}
			return nil
		case strings.HasPrefix("status", word):
			s.get.say("%s", s.status(screen))
		default:
			s.get.say("%s?", fetch.Printable(word))
		}
	}
}

func (s *session) status(screen fetch.Terminal) string {
	if screen == nil {
		return "connected"
	}
	return fetch.Printable(screen.Status())
}
