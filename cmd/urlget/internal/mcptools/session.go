package mcptools

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
)

// maxMessage limits a message of the client, in bytes.
const maxMessage = 1 << 20

// Codes of errors (JSON-RPC 2.0, section 5.1).
const (
	codeParseError     = -32700
	codeInvalidRequest = -32600
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
)

// versions of the protocol, whose differences do not concern these tools; the latest is first.
var versions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// A protocolError is the error of a message.
type protocolError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *protocolError) Error() string { return e.Message }

func refusal(code int, message string) *protocolError { return &protocolError{code, message} }

// A message is a request, a notification or a response of the client.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  *string         `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// Run serves the tools on a pair of streams, a message per line, until the input or ctx ends. All
// requests that were read get their responses. A line that is not a message gets an error and is an error of
// Run at the end.
func Run(ctx context.Context, opts Options, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &session{tools: newTools(opts), version: opts.Version, out: out, fail: cancel,
		calls: make(map[string]context.CancelFunc)}
	defer s.running.Wait()
	lines := make(chan []byte)
	var inputErr error // of the goroutine, until it closes lines
	go func() {        // remains if ctx ends, because a read of standard input cannot be interrupted
		defer close(lines)
		inputErr = readLines(ctx, in, lines)
	}()
	var refused error
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				s.running.Wait()
				return errors.Join(context.Cause(ctx), inputErr, refused)
			}
			if err := s.handle(ctx, line); err != nil && refused == nil {
				refused = err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// readLines sends the lines of the input, without blanks around them. A line that is too long is sent as
// a part of it that is longer than maxMessage.
func readLines(ctx context.Context, in io.Reader, lines chan<- []byte) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		var line []byte
		piece, err := r.ReadSlice('\n')
		for ; err == bufio.ErrBufferFull; piece, err = r.ReadSlice('\n') {
			if len(line) <= maxMessage {
				line = append(line, piece...)
			}
		}
		line = bytes.TrimSpace(append(line, piece...))
		if len(line) > 0 {
			select {
			case lines <- line:
			case <-ctx.Done():
				return nil
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

// A session is a connection with a client.
type session struct {
	tools   []tool
	version string
	fail    context.CancelCauseFunc
	running sync.WaitGroup

	mu    sync.Mutex // also for writes
	out   io.Writer
	calls map[string]context.CancelFunc // by ID
}

// handle starts the response to a line. The error is that of a line that is not a message.
func (s *session) handle(ctx context.Context, line []byte) error {
	m, err := readMessage(line)
	if err != nil {
		s.send(json.RawMessage("null"), nil, err) // the ID is unknown (JSON-RPC 2.0, section 5)
		return err
	}
	id := idOf(m.ID)
	switch {
	case m.Method == nil: // a response to a request that was not sent
	case id == "":
		if *m.Method == "notifications/cancelled" {
			s.cancel(m.Params)
		}
	case *m.Method == "tools/call":
		s.call(ctx, id, m)
	default:
		result, err := s.answer(*m.Method, m.Params)
		s.send(m.ID, result, err)
	}
	return nil
}

func readMessage(line []byte) (*message, *protocolError) {
	m := new(message)
	switch {
	case len(line) > maxMessage:
		return nil, refusal(codeInvalidRequest, "the message is longer than 1 MiB")
	case !json.Valid(line):
		return nil, refusal(codeParseError, "the line is not JSON")
	case line[0] == '[':
		return nil, refusal(codeInvalidRequest,
			"batches are not supported; they are no longer part of the protocol")
	case json.Unmarshal(line, m) != nil, m.Version != "2.0",
		m.Method == nil && m.Result == nil && m.Error == nil,
		len(m.ID) > 0 && idOf(m.ID) == "" && string(m.ID) != "null":
		return nil, refusal(codeInvalidRequest, "the line is not a JSON-RPC 2.0 message")
	}
	return m, nil
}

// idOf returns the same text for the same ID, a string or a number, and "" for anything else.
func idOf(raw json.RawMessage) string {
	var text string
	var number json.Number
	switch {
	case len(raw) == 0 || raw[0] == 'n': // null
	case json.Unmarshal(raw, &text) == nil:
		return strconv.Quote(text)
	case json.Unmarshal(raw, &number) == nil:
		return number.String()
	}
	return ""
}

// answer returns the result of a request that takes no time.
func (s *session) answer(method string, params json.RawMessage) (any, *protocolError) {
	switch method {
	case "ping":
		return struct{}{}, nil
	case "initialize":
		var in struct {
			ProtocolVersion string `json:"protocolVersion"`
		}
		if json.Unmarshal(params, &in) != nil {
			return nil, refusal(codeInvalidParams, "initialize requires params with a protocolVersion")
		}
		if !slices.Contains(versions, in.ProtocolVersion) {
			in.ProtocolVersion = versions[0]
		}
		return map[string]any{
			"protocolVersion": in.ProtocolVersion,
			"capabilities":    map[string]any{"tools": struct{}{}},
			"serverInfo":      map[string]string{"name": "urlget", "version": s.version},
			"instructions":    instructions,
		}, nil
	case "tools/list": // has one page, and no cursors of others
		return map[string]any{"tools": s.tools}, nil
	}
	return nil, refusal(codeMethodNotFound, fmt.Sprintf("there is no method %q", method))
}

func (s *session) call(ctx context.Context, id string, m *message) {
	var in struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if len(m.Params) == 0 || json.Unmarshal(m.Params, &in) != nil {
		s.send(m.ID, nil, refusal(codeInvalidParams, "tools/call requires params with the name of a tool"))
		return
	}
	i := slices.IndexFunc(s.tools, func(t tool) bool { return t.Name == in.Name })
	if i < 0 {
		s.send(m.ID, nil, refusal(codeInvalidParams, fmt.Sprintf("there is no tool %q", in.Name)))
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	_, used := s.calls[id]
	if !used {
		s.calls[id] = cancel
	}
	s.mu.Unlock()
	if used {
		cancel()
		s.send(m.ID, nil, refusal(codeInvalidRequest, "a request with this id is running"))
		return
	}
	s.running.Go(func() {
		defer cancel()
		result := s.tools[i].call(ctx, in.Arguments)
		s.mu.Lock()
		delete(s.calls, id)
		s.mu.Unlock()
		s.send(m.ID, result, nil)
	})
}

func (s *session) cancel(params json.RawMessage) {
	var in struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &in) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.calls[idOf(in.RequestID)]; cancel != nil {
		cancel()
	}
}

// send writes a response. An output that fails ends the session.
func (s *session) send(id json.RawMessage, result any, err *protocolError) {
	text := encode(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result,omitempty"`
		Error   *protocolError  `json:"error,omitempty"`
	}{"2.0", id, result, err})
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.out.Write(text); err != nil {
		s.fail(err)
	}
}

// encode returns a value as a line of JSON.
func encode(value any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // a page would be longer
	if err := e.Encode(value); err != nil {
		panic(err) // all values are structures of texts and numbers
	}
	return b.Bytes()
}
