package mcptools

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxMessage limits a message of the client, in bytes.
const maxMessage = 1 << 20

// Run serves the tools on a pair of streams, a message per line, until the input or ctx ends. All
// requests that were read get their responses.
func Run(ctx context.Context, opts Options, in io.Reader, out io.Writer) error {
	l := &lines{
		out: out, open: make(map[string]bool),
		answered: make(chan struct{}, 1), closed: make(chan struct{}),
	}
	l.in = bufio.NewScanner(in)
	l.in.Buffer(nil, maxMessage)
	transport := &mcp.IOTransport{Reader: l, Writer: (*linesWriter)(l), MaxLineLength: maxMessage}
	return New(opts).Run(ctx, transport)
}

// lines passes messages on and remembers the requests without a response, so that the end of the input
// is reported after the last response. The library would drop the responses otherwise.
type lines struct {
	in     *bufio.Scanner
	rest   []byte
	out    io.Writer
	close  sync.Once
	closed chan struct{}

	mu       sync.Mutex
	open     map[string]bool // the requests without a response, by ID
	answered chan struct{}   // gets an element after a response
}

// A messageHead tells requests, notifications and responses apart (JSON-RPC 2.0, sections 4 and 5).
type messageHead struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

func (l *lines) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		if !l.in.Scan() {
			return 0, l.end()
		}
		l.rest = append(bytes.Clone(l.in.Bytes()), '\n')
		var head messageHead
		if json.Unmarshal(l.rest, &head) == nil && head.ID != nil && head.Method != "" {
			l.mu.Lock()
			l.open[string(head.ID)] = true
			l.mu.Unlock()
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

func (l *lines) end() error {
	for {
		l.mu.Lock()
		waiting := len(l.open)
		l.mu.Unlock()
		if waiting == 0 {
			break
		}
		select {
		case <-l.answered:
		case <-l.closed:
			return io.ErrClosedPipe
		}
	}
	if errors.Is(l.in.Err(), bufio.ErrTooLong) {
		return errors.New("a message is longer than 1 MiB")
	} else if l.in.Err() != nil {
		return l.in.Err()
	}
	return io.EOF
}

// Close implements io.Closer. The input stays open, because a read of standard input cannot be
// interrupted.
func (l *lines) Close() error {
	l.close.Do(func() { close(l.closed) })
	return nil
}

type linesWriter lines

// Write implements io.Writer. The library writes each message with one call.
func (w *linesWriter) Write(p []byte) (int, error) {
	n, err := w.out.Write(p)
	var head messageHead
	if json.Unmarshal(p, &head) == nil && head.ID != nil && head.Method == "" {
		w.mu.Lock()
		delete(w.open, string(head.ID))
		w.mu.Unlock()
		select {
		case w.answered <- struct{}{}:
		default:
		}
	}
	return n, err
}

func (w *linesWriter) Close() error { return nil }
