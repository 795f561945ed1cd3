package rsync

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/urlget/urlget/fetch/driver/wire"
)

// A Tag is the kind of a frame.
type Tag int

// The kinds of frames (enum msgcode) that a receiver gets.
const (
	Data      Tag = 0
	ErrorXfer Tag = 1 // a failure of one file
	Info      Tag = 2
	Error     Tag = 3
	Warning   Tag = 4
	Log       Tag = 6
	IOError   Tag = 22 // bits of an io_error
	IOTimeout Tag = 33
	Noop      Tag = 42
	ErrorExit Tag = 86  // the server's process ends
	Success   Tag = 100 // a file was transferred
	Deleted   Tag = 101
	NoSend    Tag = 102 // a file cannot be sent
)

var tagNames = map[Tag]string{Data: "MSG_DATA", ErrorXfer: "MSG_ERROR_XFER", Info: "MSG_INFO",
	Error: "MSG_ERROR", Warning: "MSG_WARNING", Log: "MSG_LOG", IOError: "MSG_IO_ERROR",
	IOTimeout: "MSG_IO_TIMEOUT", Noop: "MSG_NOOP", ErrorExit: "MSG_ERROR_EXIT", Success: "MSG_SUCCESS",
	Deleted: "MSG_DELETED", NoSend: "MSG_NO_SEND"}

// String returns the name of the tag in the reference, such as "MSG_DATA".
func (t Tag) String() string {
	return cmp.Or(tagNames[t], fmt.Sprintf("message %d", int(t)))
}

const (
	tagBase = 7 // MPLEX_BASE
	// maxMessage limits a message, in bytes.
	maxMessage = 8 << 10
	// maxMessages limits the messages between two frames with data. Servers send one every few seconds to
	// keep a connection alive.
	maxMessages = 1 << 14
)

// AppendFrame appends a frame. The payload has less than 16 MiB.
func AppendFrame(b []byte, tag Tag, payload []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(tag+tagBase)<<24|uint32(len(payload)))
	return append(b, payload...)
}

// Frames is a reader of the data in frames.
type Frames struct {
	// Source is the connection.
	Source io.Reader
	// Message is called with each message. An error ends the stream.
	Message func(tag Tag, payload []byte) error

	left     int // bytes of the current frame of data
	messages int // since the last data
	err      error
}

// Read implements io.Reader. The error is io.EOF if the stream ends between two frames.
func (f *Frames) Read(p []byte) (int, error) {
	for f.left == 0 && f.err == nil {
		f.err = f.next()
	}
	if f.err != nil {
		return 0, f.err
	}
	n, err := f.Source.Read(p[:min(len(p), f.left)])
	f.left -= n
	if n > 0 {
		f.messages = 0
	}
	f.err = wire.Unexpected(err)
	return n, f.err
}

func (f *Frames) next() error {
	var head [4]byte
	if _, err := io.ReadFull(f.Source, head[:]); err != nil {
		return err
	}
	v := binary.LittleEndian.Uint32(head[:])
	tag, size := Tag(v>>24)-tagBase, int(v&0xffffff)
	if tag == Data && size > 0 {
		f.left = size
		return nil
	}
	if _, known := tagNames[tag]; !known || size > maxMessage {
		return malformed("frame %#08x", v)
	}
	if f.messages++; f.messages > maxMessages {
		return malformed("more than %d messages without data", maxMessages)
	}
	payload := make([]byte, size)
	if _, err := io.ReadFull(f.Source, payload); err != nil {
		return wire.Unexpected(err)
	}
	if tag == Data || tag == Noop {
		return nil
	}
	return f.Message(tag, payload)
}
