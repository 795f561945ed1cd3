package fetch

import (
	"errors"
	"io"
)

// A cursor is an open response with all or part of a Resource. It is not safe for concurrent use.
type cursor struct {
	body io.ReadCloser
	off  int64 // of the next byte
	end  int64 // where the response ends; -1 for the end of the resource
}

func (c *cursor) read(p []byte) (int, error) {
	n, err := c.body.Read(p)
	c.off += int64(n)
	return n, err
}

func (c *cursor) skipTo(offset int64) error {
	if c.off == offset {
		return nil
	}
	n, err := io.CopyN(io.Discard, c.body, offset-c.off)
	c.off += n
	return err
}

// takeIdle returns the idle response if it is at offset or at most skip bytes before it, and nil
// otherwise. If the server does not support ranges and skip is not 0, any distance is accepted.
func (r *Resource) takeIdle(offset, skip int64) *cursor {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.idle
	if c == nil || c.off > offset || c.end >= 0 && c.end < offset ||
		offset-c.off > skip && (!r.noRanges || skip == 0) {
		return nil
	}
	r.idle = nil
	return c
}

func (r *Resource) storeIdle(c *cursor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.opening > 0 || r.closed {
		c.body.Close()
		return
	}
	r.closeIdle()
	r.idle = c
}

func (r *Resource) closeIdle() {
	if r.idle != nil {
		r.idle.body.Close()
		r.idle = nil
	}
}

// closeCursor closes a response after err. It returns io.EOF at the end of the resource, nil at the
// end of a part, and otherwise err.
func (r *Resource) closeCursor(c *cursor, err error) error {
	c.body.Close()
	if err != io.EOF {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.end >= 0 && c.off == c.end && c.off != r.size {
		return nil
	}
	switch {
	case r.size < 0:
		r.size = c.off
	case r.size != c.off: // the responses contradict each other
		return ErrProtocol.Errorf("the content ended after %d bytes, expected %d", c.off, r.size)
	}
	return io.EOF
}

// request requests length bytes from offset, or everything from offset if length is 0. The response
// may begin earlier. The error is io.EOF if offset is at or after the end. request first closes the
// idle response: if the number of exchanges with a host is limited, the new one would wait for it.
func (r *Resource) request(offset, length int64) (*cursor, error) {
	guard := r.version.Guard()
	if guard.IsZero() {
		return nil, ErrNotRetrievable.Errorf(
			"cannot seek to offset %d: the server sends no validator: %w",
			offset, errors.ErrUnsupported)
	}
	if limit := r.client.policy.MaxSize; limit > 0 && offset >= limit {
		return nil, ErrTooLarge.Errorf("more than %d bytes", limit)
	}
	req := r.req
	r.mu.Lock()
	if r.size < 0 {
		length = 0 // a shorter part would not show whether it is the last
	}
	if (offset > 0 || length > 0) && !r.noRanges {
		req.Range, req.IfChanged = Range{Offset: offset, Length: length}, guard
	}
	r.opening++
	r.closeIdle()
	r.mu.Unlock()
	resp, err := r.client.Do(r.ctx, &req)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.opening--
	switch {
	case err == nil:
	case r.size < 0 && CodeOf(err) == ErrRange: // another version would have been sent in full
		return nil, io.EOF
	default:
		return nil, r.recordChange(err)
	}
	c, err := r.newCursor(resp, req.Range)
	if err != nil {
		resp.Body.Close()
		return nil, r.recordChange(asError("read", resp.URL, err))
	}
	return c, nil
}

// newCursor returns a cursor for the response to a request for a range. It fails if the response has
// a different version or range.
func (r *Resource) newCursor(resp *Response, requested Range) (*cursor, error) {
	if !r.version.Same(&resp.Meta) {
		return nil, ErrChanged.Errorf("the server sent a different version")
	}
	return r.cursorAt(resp, requested)
}

// cursorAt is newCursor for a response of the same version.
func (r *Resource) cursorAt(resp *Response, requested Range) (*cursor, error) {
	got := resp.Range
	switch {
	case got.IsZero():
		r.noRanges = r.noRanges || !requested.IsZero()
		return &cursor{body: resp.Body, end: -1}, nil
	case got.Offset != requested.Offset || requested.Length > 0 && got.Length > requested.Length:
		return nil, ErrProtocol.Errorf("the server sent a range that was not requested")
	}
	if r.size < 0 {
		r.size = VersionOf(&resp.Meta).Size
	}
	c := &cursor{body: resp.Body, off: got.Offset, end: -1}
	switch {
	case got.Length > 0: // may be less than requested
		c.end = got.Offset + got.Length
	case requested.Length > 0:
		c.end = requested.Offset + requested.Length
	}
	return c, nil
}

func (r *Resource) recordChange(err error) error {
	if CodeOf(err) == ErrChanged && r.changed == nil {
		r.changed = err
	}
	return err
}
