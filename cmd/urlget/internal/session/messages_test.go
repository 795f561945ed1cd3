package session

import (
	"errors"
	"os"
	"testing"

	"github.com/urlget/urlget/fetch"
)

// A discardMessenger is a Messenger that discards messages.
type discardMessenger struct{ fetch.Messenger }

func (discardMessenger) Send(fetch.Message) error { return nil }

func TestLinesAreBounded(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() {
		defer w.Close()
		for range maxLine/4096 + 1 {
			if _, err := w.Write(make([]byte, 4096)); err != nil {
				return
			}
		}
	}()
	s := &Session{Input: NewInput(r), Messages: discardMessenger{}}
	if err := s.lines(t.Context()); !errors.Is(err, fetch.ErrRequest) {
		t.Error(err)
	}
	for range s.Input.read() {
	}
}
