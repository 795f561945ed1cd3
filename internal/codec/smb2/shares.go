package smb2

import (
	"fmt"
)

// A Share is an entry of the list of shares (SHARE_INFO_1, [MS-SRVS], section 2.2.4.23).
type Share struct {
	Name, Remark string
	Type         uint32
}

// Share types ([MS-SRVS], section 2.2.2.4).
const (
	STypeDiskTree = 0       // STYPE_DISKTREE
	STypePrintQ   = 1       // STYPE_PRINTQ
	STypeIPC      = 3       // STYPE_IPC
	STypeSpecial  = 1 << 31 // STYPE_SPECIAL
)

// IsDisk reports whether the share is a visible disk share.
func (s Share) IsDisk() bool { return s.Type&^0x0fffffff == 0 && s.Type&0xff == STypeDiskTree }

const maxShares = 10_000

// opNetrShareEnum is the opnum of NetrShareEnum ([MS-SRVS], section 3.1.4.8).
const opNetrShareEnum = 15

// PDU types and flags of DCE RPC ([C706], chapter 12).
const (
	pduRequest  = 0  // request
	pduResponse = 2  // response
	pduBind     = 11 // bind
	pduBindAck  = 12 // bind_ack

	fragFirst = 1 // PFC_FIRST_FRAG
	fragLast  = 2 // PFC_LAST_FRAG
)

// pduHeader is the size of the common PDU header, in bytes. responseHeader is the size of the whole
// header of a response.
const pduHeader, responseHeader = 16, 24

// The identifiers of the srvsvc interface, version 3.0, and of the NDR transfer syntax, version 2.0.
var (
	uuidSrvsvc = []byte("\xc8\x4f\x32\x4b\x70\x16\xd3\x01\x12\x78\x5a\x47\xbf\x6e\xe1\x88\x03\x00\x00\x00")
	uuidNDR    = []byte("\x04\x5d\x88\x8a\xeb\x1c\xc9\x11\x9f\xe8\x08\x00\x2b\x10\x48\x60\x02\x00\x00\x00")
)

func pdu(kind, flags byte, call uint32, body []byte) []byte {
	b := []byte{5, 0, kind, flags, 0x10, 0, 0, 0}
	b = le.AppendUint16(b, uint16(pduHeader+len(body)))
	b = le.AppendUint16(b, 0)
	b = le.AppendUint32(b, call)
	return append(b, body...)
}

// BindRequest returns the bind PDU for the srvsvc interface.
func BindRequest() []byte {
	body := append([]byte{0xb8, 0x10, 0xb8, 0x10, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0}, uuidSrvsvc...)
	return pdu(pduBind, fragFirst|fragLast, 1, append(body, uuidNDR...))
}

// CheckBindAck returns an error unless b is a bind_ack PDU, the response to BindRequest.
func CheckBindAck(b []byte) error {
	if len(b) < pduHeader || b[0] != 5 || b[2] != pduBindAck {
		return fmt.Errorf("%w: not a bind_ack PDU", ErrMalformed)
	}
	return nil
}

// ShareEnumRequest returns the request for the shares of a server (NetrShareEnum, level 1; [MS-SRVS],
// section 3.1.4.8).
func ShareEnumRequest(server string) []byte {
	b := le.AppendUint32(make([]byte, 4), 0) // alloc_hint, p_cont_id and opnum
	le.PutUint16(b[6:], opNetrShareEnum)
	b = le.AppendUint32(b, 0x20000)
	b = appendString(b, `\\`+server, pduHeader)
	for _, v := range []uint32{1, 1, 0x20004, 0, 0, 1<<32 - 1, 0} {
		b = le.AppendUint32(b, v)
	}
	return pdu(pduRequest, fragFirst|fragLast, 2, b)
}

// appendString appends a conformant and varying string with a NUL, padded to a multiple of 4 bytes.
// Base is the offset of b in the PDU, for the alignment.
func appendString(b []byte, text string, base int) []byte {
	chars := append(UTF16(text), 0, 0)
	n := uint32(len(chars) / 2)
	b = le.AppendUint32(le.AppendUint32(le.AppendUint32(b, n), 0), n)
	b = append(b, chars...)
	for (len(b)+base)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// ParseFragment parses the first fragment of a response in b. It returns the stub data of the
// fragment, the rest of b, and whether the fragment is the last one. It returns ok = false if the
// fragment is incomplete.
func ParseFragment(b []byte) (stub, rest []byte, last, ok bool, err error) {
	if len(b) < responseHeader {
		return nil, b, false, false, nil
	}
	if b[0] != 5 || b[2] != pduResponse || b[4]&0xf0 != 0x10 {
		return nil, nil, false, false, fmt.Errorf("%w: not a response PDU", ErrMalformed)
	}
	n := int(le.Uint16(b[8:]))
	if n < responseHeader || le.Uint16(b[10:]) != 0 {
		return nil, nil, false, false, fmt.Errorf("%w: invalid fragment header", ErrMalformed)
	}
	if len(b) < n {
		return nil, b, false, false, nil
	}
	return b[responseHeader:n], b[n:], b[3]&fragLast != 0, true, nil
}

// ParseShares parses the response to ShareEnumRequest. Stub is the joined stub data of the fragments.
func ParseShares(stub []byte) ([]Share, error) {
	r := ndr{b: stub}
	r.uint32() // Level
	r.uint32() // the switch value of the union, again the level
	if r.uint32() == 0 {
		return nil, r.err
	}
	n := r.uint32()
	if r.uint32() == 0 || n == 0 {
		return nil, r.err
	}
	if r.uint32() != n || n > maxShares || r.err != nil {
		return nil, fmt.Errorf("%w: invalid number of shares: %d", ErrMalformed, n)
	}
	type row struct{ name, kind, remark uint32 }
	rows := make([]row, n)
	for i := range rows {
		rows[i] = row{r.uint32(), r.uint32(), r.uint32()}
	}
	shares := make([]Share, 0, n)
	for _, p := range rows {
		s := Share{Type: p.kind}
		if p.name != 0 {
			s.Name = r.string()
		}
		if p.remark != 0 {
			s.Remark = r.string()
		}
		shares = append(shares, s)
	}
	return shares, r.err
}

// An ndr reads NDR data ([C706], chapter 14).
type ndr struct {
	b   []byte
	pos int
	err error
}

func (r *ndr) next(n int) []byte {
	if r.err == nil && (n < 0 || n > len(r.b)-r.pos) {
		r.err = fmt.Errorf("%w: truncated NDR value", ErrMalformed)
	}
	if r.err != nil {
		return nil
	}
	r.pos += n
	return r.b[r.pos-n : r.pos]
}

func (r *ndr) uint32() uint32 {
	r.next((4 - r.pos%4) % 4)
	if b := r.next(4); b != nil {
		return le.Uint32(b)
	}
	return 0
}

func (r *ndr) string() string {
	maxCount, offset, n := r.uint32(), r.uint32(), r.uint32()
	if offset != 0 || n > maxCount || n > 1<<16 {
		r.err = fmt.Errorf("%w: invalid NDR string", ErrMalformed)
		return ""
	}
	b := r.next(2 * int(n))
	if len(b) >= 2 {
		b = b[:len(b)-2] // the NUL
	}
	return Name(b)
}

// ShareResponse returns the response to the bind or request PDU msg, for test servers.
func ShareResponse(msg []byte, shares []Share) []byte {
	if len(msg) > 2 && msg[2] == pduBind {
		return pdu(pduBindAck, fragFirst|fragLast, 1, make([]byte, 44))
	}
	b := make([]byte, 8)
	for _, v := range []uint32{1, 1, 0x20000, uint32(len(shares)), 0x20004, uint32(len(shares))} {
		b = le.AppendUint32(b, v)
	}
	for i, s := range shares {
		for _, v := range []uint32{0x30000 + uint32(8*i), s.Type, 0x30004 + uint32(8*i)} {
			b = le.AppendUint32(b, v)
		}
	}
	for _, s := range shares {
		b = appendString(appendString(b, s.Name, 0), s.Remark, 0)
	}
	for _, v := range []uint32{uint32(len(shares)), 0, 0} {
		b = le.AppendUint32(b, v)
	}
	return pdu(pduResponse, fragFirst|fragLast, 2, b)
}
