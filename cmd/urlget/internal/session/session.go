// Package session connects a terminal, or the input of a pipe, to an interactive service until one of
// them ends it.
package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/tty"
	"github.com/urlget/urlget/fetch"
)

// escape is the key that opens the command prompt in a session, as in telnet: ^].
const escape = 0x1d

// A Session is an open interactive service.
type Session struct {
	Conn     io.ReadWriteCloser
	Messages fetch.Messenger // Conn as messages; nil for plain bytes
	Input    *Input
	Output   io.Writer                 // receives data from the server
	Received func(fetch.Message) error // receives messages instead of Output; may be nil
	Idle     time.Duration             // idle timeout; 0 for none
	Console  io.Writer                 // for the prompt
	Say      func(format string, args ...any)

	outputLock sync.Mutex // held to pause output
}

// Run returns when the server closes the connection, the user ends the session or the idle timeout
// expires. If the session consists of messages, each input line is a message. Otherwise a terminal is
// attached, and other input is sent unchanged.
func (s *Session) Run(ctx context.Context) error {
	switch {
	case s.Messages != nil:
		return s.run(ctx, s.lines)
	case s.Input.Terminal():
		return s.attach(ctx)
	}
	return s.run(ctx, s.pipe)
}

var errClosed = errors.New("closed")

// run prints received data while send sends the input. It returns when the server closes the
// connection, send fails or the idle timeout expires.
func (s *Session) run(ctx context.Context, send func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	activity := make(chan struct{}, 1)
	arrived := func() {
		select {
		case activity <- struct{}{}:
		default:
		}
	}
	received, sent := make(chan error, 1), make(chan error, 1)
	go func() {
		if s.Received != nil {
			received <- s.messages(arrived)
			return
		}
		received <- s.receive(arrived)
	}()
	go func() { sent <- send(ctx) }()
	limit := s.Idle
	if limit <= 0 {
		limit = math.MaxInt64
	}
	idle := time.NewTimer(limit)
	defer idle.Stop()
	err, receiving, sending := error(nil), true, true
	for done := false; !done; {
		select {
		case err = <-received:
			done, receiving = true, false
		case sendErr := <-sent:
			sending, sent = false, nil
			done, err = sendErr != nil, sendErr
		case <-activity:
			idle.Reset(limit)
		case <-idle.C:
			done = true
			if sending {
				err = &fetch.Error{Code: fetch.ErrNetwork, Err: fmt.Errorf("no data received for %v", s.Idle)}
			}
		case <-ctx.Done():
			done, err = true, context.Cause(ctx)
		}
	}
	s.Conn.Close()
	cancel()
	if receiving {
		<-received
	}
	if sending {
		<-sent
	}
	if errors.Is(err, errClosed) {
		return nil
	}
	return err
}

func (s *Session) receive(arrived func()) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := s.Conn.Read(buf)
		if n > 0 {
			arrived()
			s.outputLock.Lock()
			_, writeErr := s.Output.Write(buf[:n])
			s.outputLock.Unlock()
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

func (s *Session) pipe(ctx context.Context) error {
	for chunk, ok := s.Input.next(ctx); ok; chunk, ok = s.Input.next(ctx) {
		if err := s.write(chunk); err != nil {
			return err
		}
	}
	return nil
}

func (s *Session) write(p []byte) error {
	_, err := s.Conn.Write(p)
	return sendError(err)
}

// sendError classifies the error of a write. If the server has closed the connection, the read error has
// the cause.
func sendError(err error) error {
	if err != nil && fetch.CodeOf(err) == "" {
		return &fetch.Error{Code: fetch.ErrNetwork, Err: err}
	}
	return err
}

// inputEnded returns the error that closes the session if the input has ended, and nil if ctx is done.
func inputEnded(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil
	}
	return errClosed
}

func (s *Session) attach(ctx context.Context) error {
	fd := int(s.Input.from.Fd())
	state, err := term.MakeRaw(fd)
	if err != nil {
		return failure.File(err)
	}
	defer term.Restore(fd, state)
	screen, _ := s.Conn.(fetch.Terminal)
	if screen != nil {
		defer s.followSize(screen)()
	}
	err = s.run(ctx, func(ctx context.Context) error { return s.sendTyped(ctx, fd, state, screen) })
	term.Restore(fd, state)
	s.Say("")
	s.Say("connection closed")
	return err
}

func (s *Session) followSize(screen fetch.Terminal) (stop func()) {
	tell := func() {
		if columns, rows, err := term.GetSize(int(s.Input.from.Fd())); err == nil {
			screen.Resize(columns, rows)
		}
	}
	tell()
	return tty.OnResize(tell)
}

func (s *Session) sendTyped(ctx context.Context, fd int, state *term.State, screen fetch.Terminal) error {
	for chunk, ok := s.Input.next(ctx); ok; chunk, ok = s.Input.next(ctx) {
		send, rest, escaped := bytes.Cut(chunk, []byte{escape})
		if len(send) > 0 {
			if err := s.write(send); err != nil {
				return err
			}
		}
		if escaped {
			if err := s.command(ctx, fd, state, screen, rest); err != nil {
				return err
			}
		}
	}
	return inputEnded(ctx)
}

// command prompts for a command. It restores the terminal and pauses the server's output. typed is
// the input after the escape character.
func (s *Session) command(
	ctx context.Context, fd int, state *term.State, screen fetch.Terminal, typed []byte,
) error {
	s.outputLock.Lock()
	defer s.outputLock.Unlock()
	term.Restore(fd, state)
	defer term.MakeRaw(fd)
	for {
		fmt.Fprint(s.Console, "\nurlget (close, break, status, or Enter to continue)> ")
		for !bytes.ContainsAny(typed, "\r\n") {
			chunk, ok := s.Input.next(ctx)
			if !ok {
				return inputEnded(ctx)
			}
			typed = append(typed, chunk...)
		}
		line, _, _ := bytes.Cut(typed, []byte("\n"))
		typed = nil
		switch word := strings.ToLower(strings.TrimSpace(string(line))); {
		case word == "":
			return nil
		case strings.HasPrefix("close", word), strings.HasPrefix("quit", word):
			return errClosed
		case screen == nil && (strings.HasPrefix("break", word) || strings.HasPrefix("send break", word)):
			s.Say("this protocol does not support break")
		case strings.HasPrefix("break", word), strings.HasPrefix("send break", word):
			return sendError(screen.Break())
		case strings.HasPrefix("status", word):
			s.Say("%s", s.status(screen))
		default:
			s.Say("%s?", fetch.Printable(word))
		}
	}
}

func (s *Session) status(screen fetch.Terminal) string {
	if screen == nil {
		return "connected"
	}
	return fetch.Printable(screen.Status())
}
