package mcptools

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxMessage limits a message of the client, in bytes.
const maxMessage = 1 << 20

// Run serves the tools on a pair of streams, a message per line, until the input or ctx ends. All
// requests that were read get their responses. A line that is not a message gets an error and is an error of
// Run at the end.
func Run(ctx context.Context, opts Options, in io.Reader, out io.Writer) error {
	l := &lines{
		in: bufio.NewReaderSize(in, 64<<10), out: out, open: make(map[jsonrpc.ID]bool),
		answered: make(chan struct{}, 1), closed: make(chan struct{}),
	}
	transport := &mcp.IOTransport{Reader: l, Writer: (*linesWriter)(l), MaxLineLength: maxMessage + 1}
	return New(opts).Run(ctx, transport)
}

// lines passes messages on and remembers the requests without a response, so that the end of the input
// is reported after the last response. The library would drop the responses otherwise. It would also end
// at the first line that is not a message.
type lines struct {
	in      *bufio.Reader
	rest    []byte
	refused error // for the first line that was no message
	close   sync.Once
	closed  chan struct{}

	mu       sync.Mutex // also for writes
	out      io.Writer
	open     map[jsonrpc.ID]bool // the requests without a response
	answered chan struct{}       // gets an element after a response
}

func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, err := l.readLine()
		if err == nil {
			l.rest, err = l.accept(line)
		}
		if e := (*jsonrpc.Error)(nil); errors.As(err, &e) {
			err = l.refuse(e)
		}
		if err != nil {
			return 0, l.end(err)
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// readLine returns the next line without blanks around it. It skips a line that is too long.
func (l *lines) readLine() ([]byte, error) {
	var line []byte
	size := 0
	for {
		piece, err := l.in.ReadSlice('\n')
		if size += len(piece); size <= maxMessage {
			line = append(line, piece...)
		}
		switch {
		case err == bufio.ErrBufferFull, err == io.EOF && size > 0 && len(piece) > 0:
		case err != nil && size == 0:
			return nil, err
		case size > maxMessage:
			return nil, refusal(jsonrpc.CodeInvalidRequest, "the message is longer than 1 MiB")
		default:
			return bytes.TrimSpace(line), nil
		}
	}
}

func refusal(code int64, message string) error { return &jsonrpc.Error{Code: code, Message: message} }

// accept returns what the library reads for a line: nothing if it is empty. The error is one for the
// client if the line is not a message.
func (l *lines) accept(line []byte) ([]byte, error) {
	switch {
	case len(line) == 0:
		return nil, nil
	case !json.Valid(line):
		return nil, refusal(jsonrpc.CodeParseError, "the line is not JSON")
	case line[0] == '[':
		return nil, refusal(jsonrpc.CodeInvalidRequest,
			"batches are not supported; they are no longer part of the protocol")
	}
	message, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		return nil, refusal(jsonrpc.CodeInvalidRequest, "the line is not a JSON-RPC 2.0 message")
	}
	if request, ok := message.(*jsonrpc.Request); ok && request.IsCall() {
		l.mu.Lock()
		l.open[request.ID] = true
		l.mu.Unlock()
	}
	return append(line, '\n'), nil
}

// refuse sends an error for a message whose ID is unknown (JSON-RPC 2.0, section 5).
func (l *lines) refuse(e *jsonrpc.Error) error {
	if l.refused == nil {
		l.refused = errors.New(e.Message)
	}
	text, err := json.Marshal(struct {
		Version string         `json:"jsonrpc"`
		ID      any            `json:"id"`
		Error   *jsonrpc.Error `json:"error"`
	}{"2.0", nil, e})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err = l.out.Write(append(text, '\n'))
	return err
}

// end waits for the responses and returns the error that ends the input.
func (l *lines) end(err error) error {
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
	if err == io.EOF && l.refused != nil {
		return l.refused
	}
	return err
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
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.out.Write(p)
	message, decodeErr := jsonrpc.DecodeMessage(p)
	if response, ok := message.(*jsonrpc.Response); ok && decodeErr == nil {
		delete(w.open, response.ID)
		select {
		case w.answered <- struct{}{}:
		default:
		}
	}
	return n, err
}

func (w *linesWriter) Close() error { return nil }
