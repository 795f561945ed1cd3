package session

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
)

// maxLine limits the length of an input line, which becomes one message.
const maxLine = 16 << 20

// lines sends each line of the input as a message, without its line end; a line that is not UTF-8 is
// sent as binary. At a terminal, the end of the input ends the session.
func (s *Session) lines(ctx context.Context) error {
	var line []byte
	for chunk, ok := s.Input.next(ctx); ok; chunk, ok = s.Input.next(ctx) {
		for len(chunk) > 0 {
			part, rest, ended := bytes.Cut(chunk, []byte("\n"))
			if line = append(line, part...); len(line) > maxLine {
				return &fetch.Error{Code: fetch.ErrRequest,
					Err: fmt.Errorf("an input line is longer than %d bytes", maxLine)}
			}
			if chunk = rest; ended {
				if err := s.send(line); err != nil {
					return err
				}
				line = line[:0]
			}
		}
	}
	if ctx.Err() == nil && len(line) > 0 {
		if err := s.send(line); err != nil {
			return err
		}
	}
	if s.Input.Terminal() {
		return inputEnded(ctx)
	}
	return nil
}

func (s *Session) send(line []byte) error {
	line = bytes.TrimSuffix(line, []byte("\r"))
	return sendError(s.Messages.Send(fetch.Message{Text: utf8.Valid(line), Data: line}))
}

func (s *Session) messages(arrived func()) error {
	for {
		m, err := s.Messages.Receive()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		arrived()
		if err := s.Received(m); err != nil {
			return failure.File(err)
		}
	}
}
