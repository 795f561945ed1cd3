package nfs

import (
	"errors"
	"fmt"
	"net"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/internal/codec/nfs3"
	"github.com/urlget/urlget/internal/codec/xdr"
)

// errStaleHandle marks a failure because a cached file handle is no longer valid.
var errStaleHandle = errors.New("stale file handle")

func (c *conn) refusal(p nfs3.Proc, s nfs3.Status) *fetch.Error {
	e := &fetch.Error{Code: fetch.ErrServer, Err: errors.New(p.Name),
		Reply: fetch.Reply{Code: int(s), Text: s.String()}}
	switch s {
	case nfs3.ErrNoEnt, nfs3.ErrNotDir, nfs3.ErrNameTooLong:
		e.Code = fetch.ErrNotFound
	case nfs3.ErrPerm, nfs3.ErrAcces:
		e.Code, e.Hint = fetch.ErrRefused, c.hint()
	case nfs3.ErrNotSupp:
		e.Code = fetch.ErrRefused
	case nfs3.ErrStale, nfs3.ErrBadCookie:
		e.Code, e.Retry = fetch.ErrChanged, true
	case nfs3.ErrJukebox:
		e.Code, e.Retry = fetch.ErrBusy, true
	}
	return e
}

func (c *conn) hint() string {
	if c.reserved {
		return "access the server as another user"
	}
	return "access the server as another user, or from a reserved local port, which requires privileges"
}

func (c *conn) rejection(p nfs3.Proc, r *nfs3.Rejection) *fetch.Error {
	e := &fetch.Error{Code: fetch.ErrServer, Err: errors.New(p.Name), Reply: fetch.Reply{Text: r.Error()}}
	switch {
	case r.Auth():
		e.Code, e.Hint = fetch.ErrAuth, c.hint()
		return e
	case r.Acceptance == nfs3.GarbageArgs:
		e.Code = fetch.ErrProtocol
	case r.Acceptance == nfs3.ProgUnavail, r.Acceptance == nfs3.ProgMismatch,
		r.Acceptance == nfs3.ProcUnavail:
		e.Code = fetch.ErrRefused
	}
	if p.Program == nfs3.ProgramNFS && e.Code == fetch.ErrRefused {
		e.Err = fmt.Errorf("%s of NFS version %d", p.Name, p.Version)
		e.Hint = "mount the export to read it from the mount point"
	}
	return e
}

func connError(err error) error {
	var own *fetch.Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(err, xdr.ErrMalformed):
		return &fetch.Error{Code: fetch.ErrProtocol, Err: err}
	}
	return wire.Unexpected(err)
}

// isLost reports whether err may mean that the server had closed an idle connection.
func isLost(err error) bool {
	var timeout net.Error
	return err != nil && fetch.CodeOf(err) == "" && !(errors.As(err, &timeout) && timeout.Timeout())
}
