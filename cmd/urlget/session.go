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
func attachSession(ctx context.Context, x *jobs, j *job.Job) error {
	input := x.net.dialog.input
	terminal := input.Terminal()
	if !terminal && input.Absent() {
		return &fetch.Error{Code: fetch.ErrInteractive, Err: errors.New("no terminal and no input to send"),
			Hint: "run urlget from a terminal, or pipe input into it"}
	}
	x.net.dialog.mu.Lock()
	defer x.net.dialog.mu.Unlock()
	client, idle, err := sessionClient(x.net, terminal)
	if err != nil {
		return err
	}
	defer client.Close()
	x.net.logins.target = j.URL
	opened, messages, err := openSession(ctx, client, j, x.rep.events != nil)
	if err != nil {
		return err
	}
	defer opened.Close()
	out, end, err := sessionOutput(x, terminal)
	if err != nil {
		return err
	}
	s := &session.Session{Conn: opened, Messages: messages, Input: input, Output: out, Idle: idle,
		Console: x.rep.con, Say: x.rep.say}
	host := fetch.Printable(j.URL.Host())
	switch user, _ := j.URL.User(); {
	case messages != nil:
		return end(exchangeMessages(ctx, x.rep, s, j.URL.Redacted(), host))
	case !terminal:
		return end(s.Run(ctx))
	case user != "":
		advice := "the URL suggests the user name " + user
		if _, ok := j.URL.Password(); ok {
			advice += " and a password"
		}
		x.rep.say("%s", fetch.Printable(advice))
	}
	x.rep.say("connected to %s, escape character is ^]", host)
	return end(s.Run(ctx))
}

// exchangeMessages runs a session that consists of messages. With --json, each received message and
// the end of the session are events.
func exchangeMessages(ctx context.Context, rep *reporter, s *session.Session, url, host string) error {
	if s.Input.Terminal() {
		rep.say("connected to %s; each line is a message, and ^D ends the session", host)
	}
	if w := rep.events; w != nil {
		if s.Output != io.Writer(rep.std.out) {
			w = render.NewEventWriter(s.Output)
		}
		s.Received = func(m fetch.Message) error { return w.Write(render.Message{URL: url, Message: m}) }
	}
	begun := time.Now()
	err := s.Run(ctx)
	if err == nil {
		rep.write(render.Closed{URL: url, Elapsed: time.Since(begun)})
	}
	return err
}

// openSession opens the session of j. messages is nil unless the session consists of messages.
func openSession(ctx context.Context, client *fetch.Client, j *job.Job, events bool) (io.ReadWriteCloser,
	fetch.Messenger, error) {
	req, err := j.Request()
	if err != nil {
		return nil, nil, err
	}
	resp, err := client.Do(ctx,
		&fetch.Request{URL: j.URL, Op: fetch.OpDial, From: j.From, Header: req.Header})
	if err != nil {
		return nil, nil, err
	}
	opened, ok := resp.Body.(io.ReadWriteCloser)
	messages, framed := resp.Body.(fetch.Messenger)
	switch {
	case !ok:
		err = &fetch.Error{Code: fetch.ErrProtocol, Err: errors.New("the server did not open a session")}
	case !framed && events:
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
func sessionClient(n *network, terminal bool) (*fetch.Client, time.Duration, error) {
	idle := max(timeouts(n.opts).Idle, 0)
	if !terminal && idle == 0 && !n.opts.Given("timeout") && !n.opts.Given("read-timeout") {
		idle = 60 * time.Second
	}
	opts, err := n.options()
	if err != nil {
		return nil, 0, err
	}
	opts.Timeouts.Idle = -1
	return n.clientWith(opts), idle, nil
}

// sessionOutput returns the writer for session output and a function to call at its end. On a
// terminal, output is also shown there because the session is interactive.
func sessionOutput(x *jobs, terminal bool) (io.Writer, func(error) error, error) {
	both := func(w io.Writer) io.Writer {
		if terminal {
			return io.MultiWriter(x.rep.std.out, w)
		}
		return w
	}
	same := func(err error) error { return err }
	switch {
	case x.opts.Output.Continue || x.opts.Output.Newer:
		return nil, nil, failure.Usagef("-c and -N do not apply to sessions")
	case x.out.stream == "-" || x.out.stream == "" && x.out.name == "":
		return x.rep.std.out, same, nil
	case x.out.stream != "":
		return both(x.out.writer), same, nil
	}
	file, err := session.Create(x.files.Root, x.out.name, x.opts.Limits.MaxSize)
	if err != nil {
		return nil, nil, err
	}
	return both(file), func(failed error) error {
		if err := file.End(failed); err != nil {
			return err
		}
		x.rep.say("%s %s (%s)", x.rep.con.Paint.Good("saved"), fetch.Printable(file.Path()),
			sizeText(file.Size))
		return nil
	}, nil
}
