package sftp

import (
	"context"
	"fmt"
	"sync"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/codec/filexfer"
)

// A flight is the set of outstanding SFTP requests for one fetch.Response. One goroutine sends and
// waits; another may call end.
type flight struct {
	ctx     context.Context
	session *session
	trace   func(sent bool, line string)
	release func() // ends the use of the session

	stop chan struct{} // closed by end

	mu      sync.Mutex
	pending map[*request]bool // outstanding requests
	handle  string            // of the open file or directory
	closed  bool
}

func newFlight(ctx context.Context, s *session, trace func(bool, string), release func()) *flight {
	if trace == nil {
		trace = func(bool, string) {}
	}
	return &flight{ctx: ctx, session: s, trace: trace, release: release, stop: make(chan struct{}),
		pending: make(map[*request]bool)}
}

// send sends a request. The caller must call wait.
func (f *flight) send(t filexfer.Type, fields ...any) *request {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return &request{typ: t, response: make(chan response, 1)} // wait returns the error
	}
	r := f.session.send(t, fields...)
	f.pending[r] = true
	return r
}

func (f *flight) wait(r *request) (response, error) {
	resp, err := f.session.wait(f.ctx, f.stop, r)
	if err == nil {
		f.mu.Lock()
		delete(f.pending, r)
		f.mu.Unlock()
	}
	return resp, err
}

// roundTrip sends a request of type t and waits for a response of type wantType. Any other response
// is an error.
func (f *flight) roundTrip(wantType filexfer.Type, t filexfer.Type, fields ...any) (response, error) {
	f.trace(true, describe(t, fields))
	return f.expect(wantType, f.send(t, fields...))
}

func (f *flight) expect(wantType filexfer.Type, r *request) (response, error) {
	resp, err := f.wait(r)
	if err != nil {
		return response{}, err
	}
	if resp.Type == wantType {
		return resp, nil
	}
	err = f.responseError(r, resp)
	resp.release()
	return response{}, err
}

func (f *flight) responseError(r *request, resp response) error {
	if resp.Type != filexfer.TypeStatus {
		return fetch.ErrProtocol.Errorf("unexpected response to %v: %v", r.typ, resp.Type)
	}
	fields := resp.Fields()
	code, text := filexfer.Code(fields.Uint32()), ""
	if fields.More() {
		text = fields.Text()
	}
	if fields.Err() != nil {
		return &fetch.Error{Code: fetch.ErrProtocol, Err: fields.Err()}
	}
	f.trace(false, fmt.Sprintf("STATUS %d %s", code, text))
	return statusError(r.typ, code, text)
}

func (f *flight) attrs(resp response, err error) (filexfer.Attrs, error) {
	if err != nil {
		return filexfer.Attrs{}, err
	}
	defer resp.release()
	fields := resp.Fields()
	info := fields.Attrs()
	if err := fields.Err(); err != nil {
		return info, &fetch.Error{Code: fetch.ErrProtocol, Err: err}
	}
	f.trace(false, fmt.Sprintf("ATTRS %v %d", info.FileMode(), info.Size))
	return info, nil
}

// openHandle opens a file or directory. The handle is closed by closeHandle or end.
func (f *flight) openHandle(t filexfer.Type, fields ...any) (string, error) {
	resp, err := f.roundTrip(filexfer.TypeHandle, t, fields...)
	if err != nil {
		return "", err
	}
	defer resp.release()
	h := resp.Fields()
	handle := h.Text()
	if h.Err() != nil || len(handle) > maxHandle {
		return "", fetch.ErrProtocol.Errorf("malformed handle")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		f.session.sendAndDiscard(filexfer.TypeClose, handle)
	} else {
		f.handle = handle
	}
	return handle, nil
}

// maxHandle limits the length of a handle, in bytes (section 7 of the draft).
const maxHandle = 256

// The channel is closed after the request is written. It is nil if there is no open handle.
func (f *flight) closeHandle() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	handle := f.handle
	if f.closed || handle == "" {
		return nil
	}
	f.handle = ""
	return f.session.sendAndDiscard(filexfer.TypeClose, handle)
}

// end closes the open file or directory and ends the use of the session. It does not wait.
func (f *flight) end() {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return
	}
	f.closed = true
	close(f.stop)
	for r := range f.pending {
		f.session.abandon(r)
	}
	if f.handle != "" {
		f.session.sendAndDiscard(filexfer.TypeClose, f.handle)
	}
	f.mu.Unlock()
	f.release()
}

func describe(t filexfer.Type, fields []any) string {
	line := t.String()
	if len(fields) > 0 {
		if name, ok := fields[0].(string); ok && t != filexfer.TypeFstat {
			line += " " + name
		}
	}
	return line
}
