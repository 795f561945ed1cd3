package session

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open returns a session that reads input, and the server's end of its connection.
func open(t *testing.T, input string) (s *Session, server net.Conn, out *strings.Builder) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	if _, err := io.WriteString(w, input); err != nil {
		t.Fatal(err)
	}
	w.Close()
	client, server := net.Pipe()
	t.Cleanup(func() { server.Close() })
	out = &strings.Builder{}
	return &Session{Conn: client, Input: NewInput(r), Output: out}, server, out
}

func TestInputIsSentUntilTheServerCloses(t *testing.T) {
	s, server, out := open(t, "hello\n")
	got := make(chan string, 1)
	go func() {
		line := make([]byte, len("hello\n"))
		io.ReadFull(server, line)
		got <- string(line)
		io.WriteString(server, "bye")
		server.Close()
	}()
	if err := s.Run(t.Context()); err != nil {
		t.Error(err)
	}
	if text := <-got; text != "hello\n" || out.String() != "bye" {
		t.Errorf("sent %q, printed %q", text, out)
	}
}

func TestIdleTimeoutAfterInputEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the time passes after the end of the input is known
		s, _, _ := open(t, "")
		s.Idle = time.Minute
		if err := s.Run(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestSessionEndsWithItsContext(t *testing.T) {
	s, _, _ := open(t, "")
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	if err := s.Run(ctx); err != stop {
		t.Errorf("%v, want %v", err, stop)
	}
}

func TestFile(t *testing.T) {
	for _, tt := range []struct {
		name, text, file, part, hint string
		failed                       bool
		want                         fetch.Code
	}{
		{name: "ended well", text: "hello", file: "hello"},
		{name: "too long", text: "hello world", part: "hello wo", want: fetch.ErrTooLarge},
		{name: "failed", text: "hello", failed: true, part: "hello", hint: "out.part", want: fetch.ErrNetwork},
		{name: "failed with nothing", failed: true, want: fetch.ErrNetwork},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			f, err := Create(root, "out", 8)
			if err != nil {
				t.Fatal(err)
			}
			_, err = io.WriteString(f, tt.text)
			if tt.failed {
				err = &fetch.Error{Code: fetch.ErrNetwork}
			}
			err = f.End(err)
			if fetch.CodeOf(err) != tt.want {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if own := (*fetch.Error)(nil); errors.As(err, &own) && !strings.Contains(own.Hint, tt.hint) {
				t.Errorf("hint %q, want %q", own.Hint, tt.hint)
			}
			for name, want := range map[string]string{"out": tt.file, "out.part": tt.part} {
				got, err := os.ReadFile(filepath.Join(dir, name))
				if string(got) != want || (err != nil) != (want == "") {
					t.Errorf("%s: %q, %v, want %q", name, got, err, want)
				}
			}
		})
	}
}
