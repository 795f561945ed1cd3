// Package nfs3 encodes and decodes the messages of NFS version 3 and of the MOUNT protocol (RFC
// 1813), of the port mapper (RFC 1833), and of ONC RPC, which carries them (RFC 5531).
package nfs3

import (
	"fmt"

	"github.com/urlget/urlget/internal/codec/xdr"
)

// A Proc is a remote procedure.
type Proc struct {
	Program, Version, Number uint32
	Name                     string
}

// The RPC program numbers.
const (
	ProgramNFS     = 100003
	ProgramMount   = 100005
	ProgramPortmap = 100000
)

// String returns the name of the procedure.
func (p Proc) String() string { return p.Name }

// The RPC version (RFC 5531, section 9).
const rpcVersion = 2

// The values of msg_type (RFC 5531, section 9).
const (
	msgCall  = 0 // CALL
	msgReply = 1 // REPLY
)

// The values of reply_stat (RFC 5531, section 9).
const (
	msgAccepted = 0 // MSG_ACCEPTED
	msgDenied   = 1 // MSG_DENIED
)

// authError is the value of reject_stat for rejected credentials (RFC 5531, section 9).
const authError = 1 // AUTH_ERROR

// The authentication flavors (RFC 5531, section 8.2).
const (
	FlavorNone = 0 // AUTH_NONE
	FlavorSys  = 1 // AUTH_SYS
)

// maxAuth limits a credential or verifier, in bytes (RFC 5531, section 8.2).
const maxAuth = 400

// maxGroups limits the supplementary groups of AUTH_SYS.
const maxGroups = 16

// A Cred is the credential of a call. The zero value is AUTH_NONE.
type Cred struct {
	Flavor   uint32
	UID, GID uint32
	GIDs     []uint32 // supplementary groups; only the first 16 are sent
}

func (c Cred) append(b []byte) []byte {
	b = xdr.AppendUint32(b, c.Flavor)
	if c.Flavor != FlavorSys {
		return xdr.AppendUint32(b, 0)
	}
	gids := c.GIDs[:min(len(c.GIDs), maxGroups)]
	b = xdr.AppendUint32(b, uint32(20+4*len(gids)))
	b = xdr.AppendUint32(b, 0)  // stamp
	b = xdr.AppendOpaque(b, "") // machine name, not disclosed
	b = xdr.AppendUint32(b, c.UID)
	b = xdr.AppendUint32(b, c.GID)
	b = xdr.AppendUint32(b, uint32(len(gids)))
	for _, g := range gids {
		b = xdr.AppendUint32(b, g)
	}
	return b
}

func parseCred(d *xdr.Decoder) Cred {
	c := Cred{Flavor: d.Uint32()}
	body := xdr.NewDecoder(d.Opaque(maxAuth))
	if c.Flavor != FlavorSys {
		return c
	}
	body.Uint32()
	body.Opaque(255)
	c.UID, c.GID = body.Uint32(), body.Uint32()
	n := body.Uint32()
	if n > maxGroups {
		body.Fail("%d supplementary groups", n)
	}
	for ; n > 0 && body.Err() == nil; n-- {
		c.GIDs = append(c.GIDs, body.Uint32())
	}
	if err := body.Err(); err != nil {
		d.Fail("AUTH_SYS: %v", err)
	}
	return c
}

// AppendCall appends a call as a record. If args is not nil, it appends the arguments.
func AppendCall(b []byte, xid uint32, p Proc, c Cred, args func([]byte) []byte) []byte {
	return xdr.AppendRecord(b, func(b []byte) []byte {
		for _, v := range [...]uint32{xid, msgCall, rpcVersion, p.Program, p.Version, p.Number} {
			b = xdr.AppendUint32(b, v)
		}
		b = Cred{}.append(c.append(b))
		if args != nil {
			b = args(b)
		}
		return b
	})
}

// A Call is a call received by a server.
type Call struct {
	XID                         uint32
	Program, Version, Procedure uint32
	Cred                        Cred
	Args                        *xdr.Decoder
}

// ParseCall parses the record of a call.
func ParseCall(record []byte) (Call, error) {
	d := xdr.NewDecoder(record)
	c := Call{XID: d.Uint32(), Args: d}
	if kind, version := d.Uint32(), d.Uint32(); kind != msgCall || version != rpcVersion {
		d.Fail("not a call of RPC version 2")
	}
	c.Program, c.Version, c.Procedure = d.Uint32(), d.Uint32(), d.Uint32()
	c.Cred = parseCred(d)
	parseCred(d)
	return c, d.Err()
}

// An Acceptance is the accept_stat of a reply (RFC 5531, section 9).
type Acceptance uint32

// The values of accept_stat.
const (
	Success      Acceptance = 0 // SUCCESS
	ProgUnavail  Acceptance = 1 // PROG_UNAVAIL
	ProgMismatch Acceptance = 2 // PROG_MISMATCH
	ProcUnavail  Acceptance = 3 // PROC_UNAVAIL
	GarbageArgs  Acceptance = 4 // GARBAGE_ARGS
	SystemErr    Acceptance = 5 // SYSTEM_ERR
	// denied is not part of the protocol. It marks a reply with reply_stat MSG_DENIED.
	denied Acceptance = 1 << 31
)

var acceptanceNames = [...]string{"SUCCESS", "PROG_UNAVAIL", "PROG_MISMATCH", "PROC_UNAVAIL",
	"GARBAGE_ARGS", "SYSTEM_ERR"}

var authStatNames = [...]string{
	"AUTH_OK", "AUTH_BADCRED", "AUTH_REJECTEDCRED", "AUTH_BADVERF", "AUTH_REJECTEDVERF",
	"AUTH_TOOWEAK", "AUTH_INVALIDRESP", "AUTH_FAILED", "AUTH_KERB_GENERIC", "AUTH_TIMEEXPIRE",
	"AUTH_TKT_FILE", "AUTH_DECODE", "AUTH_NET_ADDR", "RPCSEC_GSS_CREDPROBLEM",
	"RPCSEC_GSS_CTXPROBLEM",
}

// The values of auth_stat in a reply with AUTH_ERROR.
const (
	AuthTooWeak = 5 // AUTH_TOOWEAK
)

// A Rejection is the error for a call that the server did not execute.
type Rejection struct {
	Acceptance Acceptance
	Low, High  uint32 // the versions that the server supports, with ProgMismatch and RPC_MISMATCH
	auth       uint32 // auth_stat of AUTH_ERROR; 0 if the call was not denied for authentication
}

// Auth reports whether the server rejected the credentials.
func (r *Rejection) Auth() bool { return r.Acceptance == denied && r.auth != 0 }

// Error returns the name of the rejection in RFC 5531, with the supported versions if sent.
func (r *Rejection) Error() string {
	switch {
	case r.Auth() && uint64(r.auth) < uint64(len(authStatNames)):
		return authStatNames[r.auth]
	case r.Auth():
		return fmt.Sprintf("AUTH_ERROR %d", r.auth)
	case r.Acceptance == denied:
		return fmt.Sprintf("RPC_MISMATCH (supported versions: %d to %d)", r.Low, r.High)
	case r.Acceptance == ProgMismatch:
		return fmt.Sprintf("PROG_MISMATCH (supported versions: %d to %d)", r.Low, r.High)
	case int(r.Acceptance) < len(acceptanceNames):
		return acceptanceNames[r.Acceptance]
	}
	return fmt.Sprintf("accept_stat %d", uint32(r.Acceptance))
}

// ParseReply parses the record of a reply up to the results. If the call was not executed, the error
// is a *Rejection. Any other error matches xdr.ErrMalformed.
func ParseReply(record []byte) (xid uint32, results *xdr.Decoder, err error) {
	d := xdr.NewDecoder(record)
	xid = d.Uint32()
	if kind := d.Uint32(); kind != msgReply {
		d.Fail("message type %d instead of a reply", kind)
	}
	var r *Rejection
	if d.Bool() { // MSG_DENIED
		r = &Rejection{Acceptance: denied}
		if d.Bool() {
			r.auth = max(d.Uint32(), 1)
		} else {
			r.Low, r.High = d.Uint32(), d.Uint32()
		}
	} else {
		parseVerifier(d)
		if a := Acceptance(d.Uint32()); a != Success {
			r = &Rejection{Acceptance: a & (denied - 1)}
			if a == ProgMismatch {
				r.Low, r.High = d.Uint32(), d.Uint32()
			}
		}
	}
	switch {
	case d.Err() != nil:
		return xid, nil, d.Err()
	case r != nil:
		return xid, nil, r
	}
	return xid, d, nil
}

func parseVerifier(d *xdr.Decoder) {
	d.Uint32()
	d.Opaque(maxAuth)
}

// AppendReply appends the record of a reply to a successful call.
func AppendReply(b []byte, xid uint32, results func([]byte) []byte) []byte {
	return AppendRejection(b, xid, Success, results)
}

// AppendRejection appends the record of a reply to a call that was accepted but not executed. If rest
// is not nil, it appends the fields after accept_stat.
func AppendRejection(b []byte, xid uint32, a Acceptance, rest func([]byte) []byte) []byte {
	return xdr.AppendRecord(b, func(b []byte) []byte {
		for _, v := range [...]uint32{xid, msgReply, msgAccepted, FlavorNone, 0, uint32(a)} {
			b = xdr.AppendUint32(b, v)
		}
		if rest != nil {
			b = rest(b)
		}
		return b
	})
}

// AppendDenied appends the record of a reply to a call that was denied with AUTH_ERROR and the
// given auth_stat.
func AppendDenied(b []byte, xid uint32, authStat uint32) []byte {
	return xdr.AppendRecord(b, func(b []byte) []byte {
		for _, v := range [...]uint32{xid, msgReply, msgDenied, authError, authStat} {
			b = xdr.AppendUint32(b, v)
		}
		return b
	})
}
