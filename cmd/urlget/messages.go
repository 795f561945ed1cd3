package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/render"
)

// maxLine bounds a line of input, which becomes one message.
const maxLine = 16 << 20

// lines sends each line of the input as a message, without its line end; a line that is not UTF-8 is
// sent as binary. At a terminal, the end of the input ends the session.
func (s *session) lines(ctx context.Context, terminal bool) error {
	var line []byte
	for {
		select {
		case chunk, ok := <-s.get.input.read():
			if !ok {
				if len(line) > 0 {
					if err := s.send(line); err != nil {
						return err
					}
				}
				if terminal {
					return errClosed
				}
				return nil
			}
			for len(chunk) > 0 {
				part, rest, ended := bytes.Cut(chunk, []byte("\n"))
				if line = append(line, part...); len(line) > maxLine {
					return &fetch.Error{Code: fetch.ErrRequest, Err: fmt.Errorf("a line of the input is longer than %d bytes", maxLine)}
				}
				if chunk = rest; ended {
					if err := s.send(line); err != nil {
						return err
					}
					line = line[:0]
				}
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// send sends a line.
func (s *session) send(line []byte) error {
	line = bytes.TrimSuffix(line, []byte("\r"))
	if err := s.messages.Send(fetch.Message{Text: utf8.Valid(line), Data: line}); err != nil {
		return s.sendError(err)
	}
	return nil
}

// frames prints an event for each message that arrives until the server closes the connection.
func (s *session) frames(arrived chan<- struct{}) error {
	w := s.get.events
	if s.out != io.Writer(s.get.std.out) {
		w = render.NewEventWriter(s.out)
	}
	for {
		m, err := s.messages.Receive()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		select {
		case arrived <- struct{}{}:
		default:
		}
		if err := w.Write(render.Received(s.url, m)); err != nil {
			return failure.File(err)
		}
	}
}
