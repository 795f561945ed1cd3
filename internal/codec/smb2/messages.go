package smb2

import (
	"encoding/binary"
	"fmt"
)

var le = binary.LittleEndian

// A Body is the fixed part of a message body: the fields after StructureSize, in the order of the
// specification.
type Body interface {
	// structureSize returns the value of the StructureSize field. It is odd if a buffer follows.
	structureSize() uint16
}

// A locator is a Body with the offset and length of the buffer that follows it.
type locator interface {
	setExtent(offset, length int)
	extent() (offset, length uint32)
}

// Append appends a message: header, body and buffer. It sets the offset and length of the buffer in
// body.
func Append(b []byte, h Header, body Body, buffer []byte) []byte {
	size := body.structureSize()
	if l, ok := body.(locator); ok {
		l.setExtent(bufferOffset(size), len(buffer))
	}
	b, err := binary.Append(le.AppendUint16(h.Append(b), size), le, body)
	if err != nil {
		panic(err) // impossible: a body has only numbers
	}
	if len(buffer) == 0 && size&1 != 0 {
		return append(b, 0)
	}
	return append(b, buffer...)
}

// Parse parses the body of a message and returns its buffer, if it has one. The buffer aliases msg.
func Parse(msg []byte, body Body) (buffer []byte, err error) {
	size := body.structureSize()
	if len(msg) < bufferOffset(size) || le.Uint16(msg[HeaderSize:]) != size {
		return nil, fmt.Errorf("%w: body too short or of another type", ErrMalformed)
	}
	if _, err := binary.Decode(msg[HeaderSize+2:], le, body); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if l, ok := body.(locator); ok {
		return extentData(msg, l)
	}
	return nil, nil
}

// bufferOffset returns the offset of the buffer of a message, from the beginning of the header.
func bufferOffset(structureSize uint16) int { return HeaderSize + int(structureSize&^1) }

func extentData(msg []byte, l locator) ([]byte, error) {
	offset, n := l.extent()
	if n == 0 {
		return nil, nil
	}
	if uint64(offset)+uint64(n) > uint64(len(msg)) || offset < HeaderSize {
		return nil, fmt.Errorf("%w: buffer outside of the message", ErrMalformed)
	}
	return msg[offset : offset+n], nil
}

// An Extent16 is the offset of a buffer from the beginning of the header, and its length, in bytes.
type Extent16 struct{ Offset, Length uint16 }

func (e *Extent16) setExtent(offset, length int)    { e.Offset, e.Length = uint16(offset), uint16(length) }
func (e *Extent16) extent() (offset, length uint32) { return uint32(e.Offset), uint32(e.Length) }

// An Extent32 is like Extent16, with 32-bit fields.
type Extent32 struct{ Offset, Length uint32 }

func (e *Extent32) setExtent(offset, length int)    { e.Offset, e.Length = uint32(offset), uint32(length) }
func (e *Extent32) extent() (offset, length uint32) { return e.Offset, e.Length }

// A FileID identifies an open file (SMB2_FILEID, section 2.2.14.1).
type FileID struct{ Persistent, Volatile uint64 }

// An ErrorResponse is the body of a response with an error status (section 2.2.2).
type ErrorResponse struct {
	ErrorContextCount, _ uint8
	ByteCount            uint32
}

func (*ErrorResponse) structureSize() uint16 { return 9 }

// Security modes (section 2.2.3).
const (
	SigningEnabled  = 1 << 0 // SMB2_NEGOTIATE_SIGNING_ENABLED
	SigningRequired = 1 << 1 // SMB2_NEGOTIATE_SIGNING_REQUIRED
)

// Capabilities (section 2.2.3).
const (
	CapLargeMTU   = 1 << 2 // SMB2_GLOBAL_CAP_LARGE_MTU, for requests of several credits
	CapEncryption = 1 << 6 // SMB2_GLOBAL_CAP_ENCRYPTION
)

// A NegotiateRequest has the dialects and negotiate contexts in its buffer (section 2.2.3).
type NegotiateRequest struct {
	DialectCount, SecurityMode, _ uint16
	Capabilities                  uint32
	ClientGUID                    [16]byte
	ContextOffset                 uint32
	ContextCount, _               uint16
}

func (*NegotiateRequest) structureSize() uint16 { return 36 }

// Offer sets the fields of r for dialects and contexts, and returns the buffer. Dialect 3.1.1 uses
// the contexts.
func (r *NegotiateRequest) Offer(dialects []uint16, c Contexts) (buffer []byte) {
	for _, d := range dialects {
		buffer = le.AppendUint16(buffer, d)
	}
	at := bufferOffset(r.structureSize())
	for (at+len(buffer))%8 != 0 {
		buffer = append(buffer, 0)
	}
	r.DialectCount, r.ContextOffset, r.ContextCount = uint16(len(dialects)), uint32(at+len(buffer)), c.count()
	return append(buffer, c.bytes()...)
}

// A NegotiateResponse may have a security token and negotiate contexts in its buffer (section 2.2.4).
type NegotiateResponse struct {
	SecurityMode, Dialect, ContextCount                      uint16
	ServerGUID                                               [16]byte
	Capabilities, MaxTransactSize, MaxReadSize, MaxWriteSize uint32
	SystemTime, ServerStartTime                              uint64
	SecurityBufferOffset, SecurityBufferLength               uint16
	ContextOffset                                            uint32
}

func (*NegotiateResponse) structureSize() uint16 { return 65 }

// Choose sets the fields of r for contexts and no token, and returns the buffer.
func (r *NegotiateResponse) Choose(c Contexts) (buffer []byte) {
	at := bufferOffset(r.structureSize())
	r.SecurityBufferOffset, r.ContextOffset, r.ContextCount = uint16(at), uint32(at), c.count()
	return c.bytes()
}

// Types of negotiate contexts (section 2.2.3.1).
const (
	preauthIntegrityCapabilities = 1 // SMB2_PREAUTH_INTEGRITY_CAPABILITIES
	encryptionCapabilities       = 2 // SMB2_ENCRYPTION_CAPABILITIES
	signingCapabilities          = 8 // SMB2_SIGNING_CAPABILITIES

	// HashSHA512 is SHA-512, for [Hash].
	HashSHA512 = 1
)

// Contexts are the negotiate contexts: algorithms that the client offers or the server selected.
type Contexts struct {
	Hashes  []uint16
	Salt    []byte // of the preauthentication hash
	Ciphers []uint16
	Signing []uint16
}

func (c Contexts) count() uint16 {
	n := uint16(0)
	for _, ids := range [][]uint16{c.Hashes, c.Ciphers, c.Signing} {
		if len(ids) > 0 {
			n++
		}
	}
	return n
}

// bytes encodes the contexts. Each one begins at a multiple of 8 bytes.
func (c Contexts) bytes() (b []byte) {
	for _, x := range []struct {
		kind uint16
		ids  []uint16
		salt []byte
	}{
		{preauthIntegrityCapabilities, c.Hashes, c.Salt},
		{encryptionCapabilities, c.Ciphers, nil},
		{signingCapabilities, c.Signing, nil},
	} {
		if len(x.ids) == 0 {
			continue
		}
		for len(b)%8 != 0 {
			b = append(b, 0)
		}
		data := le.AppendUint16(nil, uint16(len(x.ids)))
		if x.kind == preauthIntegrityCapabilities {
			data = le.AppendUint16(data, uint16(len(x.salt)))
		}
		for _, id := range x.ids {
			data = le.AppendUint16(data, id)
		}
		data = append(data, x.salt...)
		b = le.AppendUint16(le.AppendUint16(b, x.kind), uint16(len(data)))
		b = append(le.AppendUint32(b, 0), data...)
	}
	return b
}

// ParseContexts parses n contexts at an offset in msg. It ignores other types of contexts.
func ParseContexts(msg []byte, offset uint32, n uint16) (c Contexts, err error) {
	for ; n > 0; n-- {
		offset = (offset + 7) &^ 7
		head, err := extentData(msg, &Extent32{offset, 8})
		if err != nil {
			return Contexts{}, err
		}
		size := uint32(le.Uint16(head[2:]))
		data, err := extentData(msg, &Extent32{offset + 8, size})
		if err != nil {
			return Contexts{}, err
		}
		switch le.Uint16(head) {
		case preauthIntegrityCapabilities:
			c.Hashes, err = algorithms(data, 4)
		case encryptionCapabilities:
			c.Ciphers, err = algorithms(data, 2)
		case signingCapabilities:
			c.Signing, err = algorithms(data, 2)
		}
		if err != nil {
			return Contexts{}, err
		}
		offset += 8 + size
	}
	return c, nil
}

// The count of the IDs is at the beginning of the data of a context; the IDs begin at offset.
func algorithms(data []byte, offset int) (ids []uint16, err error) {
	if len(data) < offset || len(data) < offset+2*int(le.Uint16(data)) {
		return nil, fmt.Errorf("%w: truncated negotiate context", ErrMalformed)
	}
	for i := range int(le.Uint16(data)) {
		ids = append(ids, le.Uint16(data[offset+2*i:]))
	}
	return ids, nil
}

// A SessionSetupRequest has a security token in its buffer (section 2.2.5).
type SessionSetupRequest struct {
	Flags, SecurityMode   uint8
	Capabilities, Channel uint32
	Extent16
	PreviousSessionID uint64
}

func (*SessionSetupRequest) structureSize() uint16 { return 25 }

// Session flags (section 2.2.6).
const (
	SessionFlagIsGuest     = 1 << 0 // SMB2_SESSION_FLAG_IS_GUEST
	SessionFlagIsNull      = 1 << 1 // SMB2_SESSION_FLAG_IS_NULL
	SessionFlagEncryptData = 1 << 2 // SMB2_SESSION_FLAG_ENCRYPT_DATA
)

// A SessionSetupResponse has a security token in its buffer (section 2.2.6).
type SessionSetupResponse struct {
	SessionFlags uint16
	Extent16
}

func (*SessionSetupResponse) structureSize() uint16 { return 9 }

// A TreeConnectRequest has the path \\server\share in its buffer (section 2.2.9).
type TreeConnectRequest struct {
	Flags uint16
	Extent16
}

func (*TreeConnectRequest) structureSize() uint16 { return 9 }

// Share types and share flags (section 2.2.10).
const (
	ShareTypeDisk = 1 // SMB2_SHARE_TYPE_DISK
	ShareTypePipe = 2 // SMB2_SHARE_TYPE_PIPE

	ShareFlagEncryptData = 1 << 15 // SMB2_SHAREFLAG_ENCRYPT_DATA
)

// A TreeConnectResponse describes a share (section 2.2.10).
type TreeConnectResponse struct {
	ShareType, _                            uint8
	ShareFlags, Capabilities, MaximalAccess uint32
}

func (*TreeConnectResponse) structureSize() uint16 { return 16 }

// Values for the fields of a CreateRequest (sections 2.2.13 and 2.2.13.1.1).
const (
	FileReadData       = 1 << 0  // FILE_READ_DATA
	FileReadAttributes = 1 << 7  // FILE_READ_ATTRIBUTES
	Synchronize        = 1 << 20 // SYNCHRONIZE

	FileAllAccess = 0x1F01FF // FILE_ALL_ACCESS

	Impersonation = 2 // the value of that name for ImpersonationLevel
	FileOpen      = 1 // FILE_OPEN: open an existing file
	FileShareAll  = 7 // FILE_SHARE_READ, FILE_SHARE_WRITE and FILE_SHARE_DELETE
)

// A CreateRequest has the path within the share in its buffer (section 2.2.13).
type CreateRequest struct {
	SecurityFlags, RequestedOplockLevel                                          uint8
	ImpersonationLevel                                                           uint32
	SMBCreateFlags, _                                                            uint64
	DesiredAccess, FileAttributes, ShareAccess, CreateDisposition, CreateOptions uint32
	Extent16
	Contexts Extent32
}

func (*CreateRequest) structureSize() uint16 { return 57 }

// A CreateResponse describes the opened file (section 2.2.14). Times are FILETIMEs.
type CreateResponse struct {
	OplockLevel, Flags                                      uint8
	CreateAction                                            uint32
	CreationTime, LastAccessTime, LastWriteTime, ChangeTime uint64
	AllocationSize, EndOfFile                               uint64
	FileAttributes, _                                       uint32
	FileID                                                  FileID
	Contexts                                                Extent32
}

func (*CreateResponse) structureSize() uint16 { return 89 }

// A CloseRequest closes a file (section 2.2.15).
type CloseRequest struct {
	Flags  uint16
	_      uint32
	FileID FileID
}

func (*CloseRequest) structureSize() uint16 { return 24 }

// CloseWithAttributes is the flag of CLOSE that asks for the attributes of the file.
const CloseWithAttributes = 1

// A CloseResponse has the file attributes if the request asks for them (section 2.2.16).
type CloseResponse struct {
	Flags                                                   uint16
	_                                                       uint32
	CreationTime, LastAccessTime, LastWriteTime, ChangeTime uint64
	AllocationSize, EndOfFile                               uint64
	FileAttributes                                          uint32
}

func (*CloseResponse) structureSize() uint16 { return 60 }

// A ReadRequest requests a range of a file (section 2.2.19).
type ReadRequest struct {
	Padding, Flags                        uint8
	Length                                uint32
	Offset                                uint64
	FileID                                FileID
	MinimumCount, Channel, RemainingBytes uint32
	ReadChannelInfo                       Extent16
}

func (*ReadRequest) structureSize() uint16 { return 49 }

// ReadDataOffset is the value for Padding in a ReadRequest: the offset of the data in the response.
const ReadDataOffset = HeaderSize + 16

// A ReadResponse has the data in its buffer (section 2.2.20).
type ReadResponse struct {
	DataOffset, _                uint8
	DataLength, DataRemaining, _ uint32
}

func (*ReadResponse) structureSize() uint16 { return 17 }
func (r *ReadResponse) setExtent(offset, length int) {
	r.DataOffset, r.DataLength = uint8(offset), uint32(length)
}
func (r *ReadResponse) extent() (offset, length uint32) { return uint32(r.DataOffset), r.DataLength }

// FileDirectoryInformation is the information class of [Member] ([MS-FSCC], section 2.4).
const FileDirectoryInformation = 1

// A QueryDirectoryRequest has a search pattern in its buffer (section 2.2.33).
type QueryDirectoryRequest struct {
	FileInformationClass, Flags uint8
	FileIndex                   uint32
	FileID                      FileID
	Extent16
	OutputBufferLength uint32
}

func (*QueryDirectoryRequest) structureSize() uint16 { return 33 }

// A QueryDirectoryResponse has directory entries in its buffer (section 2.2.34).
type QueryDirectoryResponse struct {
	OutputBufferOffset uint16
	OutputBufferLength uint32
}

func (*QueryDirectoryResponse) structureSize() uint16 { return 9 }
func (r *QueryDirectoryResponse) setExtent(offset, length int) {
	r.OutputBufferOffset, r.OutputBufferLength = uint16(offset), uint32(length)
}
func (r *QueryDirectoryResponse) extent() (offset, length uint32) {
	return uint32(r.OutputBufferOffset), r.OutputBufferLength
}

const (
	// FsctlPipeTransceive is the control code for writing to a pipe and reading the response
	// (section 2.2.31).
	FsctlPipeTransceive = 0x0011C017 // FSCTL_PIPE_TRANSCEIVE
	// IoctlIsFsctl is the flag of an IoctlRequest with an FSCTL control code.
	IoctlIsFsctl = 1 // SMB2_0_IOCTL_IS_FSCTL
)

// An IoctlRequest has the input data in its buffer (section 2.2.31).
type IoctlRequest struct {
	_       uint16
	CtlCode uint32
	FileID  FileID
	Extent32
	MaxInputResponse  uint32
	Output            Extent32
	MaxOutputResponse uint32
	Flags, _          uint32
}

func (*IoctlRequest) structureSize() uint16 { return 57 }

// An IoctlResponse has the output data in its buffer (section 2.2.32).
type IoctlResponse struct {
	_       uint16
	CtlCode uint32
	FileID  FileID
	Input   Extent32
	Extent32
	Flags, _ uint32
}

func (*IoctlResponse) structureSize() uint16 { return 49 }
