package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/session"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/internal/render"
)

// attachSession attaches the terminal to an interactive service. If standard input is not a terminal,
// it is sent. Received data is printed until the server closes the connection or, after the end of
// input, until the timeout of -T. -O redirects received data.
func (a *app) attachSession(ctx context.Context, j *job.Job) error {
	terminal := a.input.Terminal()
	if !terminal && a.input.Absent() {
		return &fetch.Error{Code: fetch.ErrInteractive, Err: errors.New("no terminal and no input to send"),
			Hint: "run urlget from a terminal, or pipe input into it"}
	}
	client, idle, err := a.sessionClient(terminal)
	if err != nil {
		return err
	}
	defer client.Close()
	a.target = j.URL
	opened, messages, err := a.openSession(ctx, client, j)
	if err != nil {
		return err
	}
	defer opened.Close()
	out, end, err := a.sessionOutput(terminal)
	if err != nil {
		return err
	}
	s := &session.Session{Conn: opened, Messages: messages, Input: a.input, Output: out, Idle: idle, Console: a.con, Say: a.say}
	host := fetch.Printable(j.URL.Host())
	switch user, _ := j.URL.User(); {
	case messages != nil:
		return end(a.exchangeMessages(ctx, s, j.URL.Redacted(), host))
	case !terminal:
		return end(s.Run(ctx))
	case user != "":
		advice := "the URL suggests the user name " + user
		if _, ok := j.URL.Password(); ok {
			advice += " and a password"
		}
		a.say("%s", fetch.Printable(advice))
	}
	a.say("connected to %s, escape character is ^]", host)
	return end(s.Run(ctx))
}

// exchangeMessages runs a session that consists of messages. With --json, each received message and
// the end of the session are events.
func (a *app) exchangeMessages(ctx context.Context, s *session.Session, url, host string) error {
	if s.Input.Terminal() {
		a.say("connected to %s; each line is a message, and ^D ends the session", host)
	}
	if w := a.events; w != nil {
		if s.Output != io.Writer(a.std.out) {
			w = render.NewEventWriter(s.Output)
		}
		s.Received = func(m fetch.Message) error { return w.Write(render.Message{URL: url, Message: m}) }
	}
	begun := time.Now()
	err := s.Run(ctx)
	if err == nil {
		a.write(render.Closed{URL: url, Elapsed: time.Since(begun)})
	}
	return err
}

// openSession opens the session of j. messages is nil unless the session consists of messages.
func (a *app) openSession(ctx context.Context, client *fetch.Client, j *job.Job) (io.ReadWriteCloser, fetch.Messenger, error) {
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
		err = &fetch.Error{Code: fetch.ErrProtocol, Err: errors.New("the server did not open a session")}
	case !framed && a.events != nil:
		err = failure.Usagef("--json is not supported for this session")
	}
	if err != nil {
		resp.Body.Close()
		return nil, nil, err
	}
	return opened, messages, nil
}

// sessionClient returns a client without an idle timeout, because users may pause, and the idle
// timeout of the session itself.
func (a *app) sessionClient(terminal bool) (*fetch.Client, time.Duration, error) {
	idle := max(timeouts(a.opts).Idle, 0)
	if !terminal && idle == 0 && !a.opts.Given("timeout") && !a.opts.Given("read-timeout") {
		idle = 60 * time.Second
	}
	opts, err := a.options()
	if err != nil {
		return nil, 0, err
	}
	opts.Timeouts.Idle = -1
	return a.clientWith(opts), idle, nil
}

// sessionOutput returns the writer for session output and a function to call at its end. On a
// terminal, output is also shown there because the session is interactive.
func (a *app) sessionOutput(terminal bool) (io.Writer, func(error) error, error) {
	both := func(w io.Writer) io.Writer {
		if terminal {
			return io.MultiWriter(a.std.out, w)
		}
		return w
	}
	same := func(err error) error { return err }
	switch {
	case a.opts.Output.Continue || a.opts.Output.Newer:
		return nil, nil, failure.Usagef("-c and -N do not apply to sessions")
	case a.out.stream == "-" || a.out.stream == "" && a.out.name == "":
		return a.std.out, same, nil
	case a.out.stream != "":
		return both(a.device), same, nil
	}
	file, err := session.Create(a.files.Root, a.out.name, int64(a.opts.Limits.MaxSize))
	if err != nil {
		return nil, nil, err
	}
	return both(file), func(failed error) error {
		if err := file.End(failed); err != nil {
			return err
		}
		a.say("%s %s (%s)", a.con.Paint.Good("saved"), fetch.Printable(file.Path()), sizeText(file.Size))
		return nil
	}, nil
}
