package ftp

import (
	"context"
	"errors"
	"io"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/bounded"
)

// Servers may accept REST and then send the file from its start: those that ignore it, and those that
// take it only before the command for the data connection. The size in a preliminary reply shows
// nothing, because some servers state that of the whole file after REST. So a restart must be proven.
// If the rest of a file of known size is requested, the number of bytes proves it (see
// transferBody.restarted). Otherwise a probe does, once for each server.

// restarts records by server whether REST has an effect.
type restarts struct {
	proven  *bounded.Set[provenRestart]
	unclear *bounded.Set[string] // a probe received nothing
	ignored *bounded.Set[string]
}

// A provenRestart is a server that has restarted at an offset of a width: some servers cut offsets to
// 31 or 32 bits.
type provenRestart struct {
	addr  string
	width int
}

func newRestarts() *restarts {
	return &restarts{bounded.NewSet[provenRestart](maxServers), bounded.NewSet[string](maxServers),
		bounded.NewSet[string](maxServers)}
}

// width returns 31, 32 or 64: the bits that hold an offset.
func width(offset int64) int {
	switch {
	case offset < 1<<31:
		return 31
	case offset < 1<<32:
		return 32
	}
	return 64
}

// noSize is the offset of a probe if the size is unknown. It is beyond the end of every file.
const noSize = 1 << 40

// errRestartIgnored means that a server accepts REST and sends a file from its start.
var errRestartIgnored = errors.New("the server does not honour REST")

// errNothingAfterRestart means that a probe received nothing. The offset may be beyond the end of the
// file, because some servers state another size; or the data connection was cut off.
var errNothingAfterRestart = errors.New("the server sent nothing after REST")

// repeat records the failure of a probe and reports whether the task should be tried again: with another
// probe, or for the complete file.
func (r *restarts) repeat(addr string, err error) bool {
	switch {
	case errors.Is(err, errNothingAfterRestart) && r.unclear.Add(addr):
		return true
	case errors.Is(err, errNothingAfterRestart), errors.Is(err, errRestartIgnored):
		return r.ignored.Add(addr)
	}
	return false
}

// proveRestart makes sure that the server honours REST. For that it retrieves the last byte of a file
// or, if its size is unknown, nothing, from an offset beyond its end. It uses the data connection dc.
// If the server refuses REST, it returns nil, because the transfer is refused as well.
func (s *session) proveRestart(ctx context.Context, t *task, size int64, dc *dataConn) error {
	offset, want := int64(noSize), 0
	if size > 0 {
		offset, want = size-1, 1
	}
	if err := s.connectData(ctx, dc); err != nil {
		return err
	}
	granted, err := s.exchange(restartAt(offset))
	if err != nil || granted.Code/100 != 3 {
		return err
	}
	defer dc.close()
	reply, err := s.announce("RETR", t.name)
	switch {
	case reply.Code/100 > 3 && size < 0 && !hangsUp(reply.Code, reply.Text()):
		s.recordProof(t, offset) // the offset is too large
		return nil
	case err != nil:
		return err
	}
	x := &transfer{data: dc, command: command("RETR", t.name)}
	if reply.Code/100 == 2 {
		x.final = &reply
	}
	if err := s.complete(ctx, x); err != nil {
		return err
	}
	n, err := 0, error(io.EOF)
	if dc.conn != nil {
		defer dc.conn.Bind(ctx)()
		n, err = io.ReadFull(dc.conn, make([]byte, want+1))
	}
	switch {
	case err == nil: // more than wanted
		return errRestartIgnored
	case n < want && (err == io.EOF || err == io.ErrUnexpectedEOF):
		return errNothingAfterRestart
	case err != io.EOF && err != io.ErrUnexpectedEOF:
		s.lost = true
		return err
	}
	dc.close()
	if x.final == nil {
		r, err := s.control.reply()
		if err != nil {
			return noReply(x.command, err)
		}
		x.final = &r
	}
	if size > 0 && x.final.Code/100 != 2 {
		return errRestartIgnored
	}
	s.recordProof(t, offset)
	return nil
}

func (s *session) recordProof(t *task, offset int64) {
	for _, w := range []int{31, 32, 64} {
		if w <= width(offset) {
			s.restarts.proven.Add(provenRestart{t.addr(), w})
		}
	}
}

// needsProof reports whether the transfer of a part must be preceded by a probe. The rest of a file of
// known size proves itself.
func (s *session) needsProof(t *task, f *facts, x *transfer) bool {
	offset := x.meta.Range.Offset
	return s.control != nil && offset > 0 && (x.limit > 0 || f.size < 0) &&
		!s.restarts.proven.Has(provenRestart{t.addr(), width(offset)})
}

func (x *transfer) wholeFile() {
	x.meta.Size = -1
	if x.meta.Total > 0 {
		x.meta.Size = x.meta.Total
	}
	x.meta.Range, x.meta.Total, x.limit = fetch.Range{}, 0, 0
}
