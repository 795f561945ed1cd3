package telnet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
)

// maxQueued bounds the answers that wait to be sent, in bytes. Only a server that asks and does not
// read can reach it, as each answers something that the server sent.
const maxQueued = 64 << 10

// A link is a telnet connection: data in both directions, and the negotiation of options. One
// goroutine may read while others write.
type link struct {
	conn   *driver.Conn
	accept func(command, option byte) bool
	term   string // the terminal type to tell
	record *transcript

	// The reader's.
	in      decoder
	raw     []byte // the buffer of what was received
	pending []byte // the part of raw that is not decoded yet
	// inRecord says that what read returned belongs to a binary record: the options that make it so
	// may change with every command.
	inRecord bool

	sending sync.Mutex // held while the connection is written to

	mu       sync.Mutex
	opts     options
	spoke    bool // the server has sent a command
	out      encoder
	queue    []byte // answers to be sent
	flushing bool
	columns  int // of the window; 0 if there is none
	rows     int
	local    []byte // is read before what the server sends
	woken    bool   // the reader has to return errWoken
}

func newLink(ctx context.Context, conn *driver.Conn, record *transcript) *link {
	conn.Bind(ctx)
	return &link{conn: conn, record: record, raw: make([]byte, 16<<10)}
}

// read decodes data to p. It returns at the end of a record too (eor), and when there is local data
// to be read.
func (l *link) read(p []byte) (n int, eor bool, err error) {
	for {
		if len(l.pending) == 0 {
			if n, err := l.receive(p); n > 0 || err != nil {
				return n, false, err
			}
		}
		l.inRecord = l.records()
		written, read, sig := l.in.next(p, l.pending)
		l.record.data(false, p[:written])
		l.pending = l.pending[read:]
		if sig != noSignal {
			if eor, err = l.handle(sig); err != nil {
				return written, false, err
			}
		}
		if written > 0 || eor {
			return written, eor, nil
		}
	}
}

// errWoken is the error of a reader that was woken.
var errWoken = errors.New("woken")

// receive reads from the connection into pending, unless there is local data for p, now or while it
// waits.
func (l *link) receive(p []byte) (int, error) {
	for {
		l.mu.Lock()
		if l.woken {
			l.woken = false
			l.conn.SetReadDeadline(time.Time{})
			l.mu.Unlock()
			return 0, errWoken
		}
		if len(l.local) > 0 {
			n := copy(p, l.local)
			l.local = l.local[n:]
			if len(l.local) == 0 {
				l.local = nil
				l.conn.SetReadDeadline(time.Time{})
			}
			l.mu.Unlock()
			return n, nil
		}
		l.mu.Unlock()
		if err := l.record.failed(); err != nil {
			return 0, err
		}
		n, err := l.conn.Read(l.raw)
		l.pending = l.raw[:n]
		if n > 0 {
			return 0, nil
		}
		var idle *wire.TimeoutError
		if errors.Is(err, os.ErrDeadlineExceeded) && !errors.As(err, &idle) {
			continue // there is local data, or the reader is woken
		}
		if err != nil {
			return 0, sessionError(err)
		}
	}
}

// show puts p before what the server sends next, and wakes the reader. It is lost if too much is
// waiting already.
func (l *link) show(p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.local)+len(p) > maxQueued {
		return
	}
	l.local = append(l.local, p...)
	l.conn.SetReadDeadline(time.Unix(1, 0))
}

// wake makes the reader return errWoken once nothing is left to decode.
func (l *link) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.woken = true
	l.conn.SetReadDeadline(time.Unix(1, 0))
}

// sessionError gives an error of the connection its class.
func sessionError(err error) error {
	if err == io.EOF || driver.CodeOf(err) != "" {
		return err
	}
	code := driver.ErrNetwork
	if errors.Is(err, context.Canceled) {
		code = driver.ErrInterrupted
	}
	return &driver.Error{Code: code, Err: err}
}

// handle answers a command, and reports whether it ends a record.
func (l *link) handle(sig signal) (eor bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spoke = true
	switch sig {
	case sigCommand:
		l.record.command(false, l.in.command)
		return l.in.command == cmdEOR, nil // no other asks for an action
	case sigNegotiate:
		l.record.command(false, l.in.command, l.in.option)
		if answer := l.opts.heard(l.in.command, l.in.option, l.accept(l.in.command, l.in.option)); answer != 0 {
			l.command(answer, l.in.option)
		}
		l.agreed(l.in.option)
	case sigSubneg:
		l.record.subneg(false, l.in.option, l.in.payload)
		if l.in.option == optTType && l.opts.us[optTType].on() && len(l.in.payload) == 1 && l.in.payload[0] == ttypeSend {
			l.subneg(optTType, append([]byte{ttypeIs}, l.term...))
		}
	}
	if len(l.queue) > maxQueued {
		return false, &driver.Error{Code: driver.ErrProtocol, Err: fmt.Errorf("the server negotiates on and does not read the answers")}
	}
	if len(l.queue) > 0 && !l.flushing {
		l.flushing = true
		go l.flush()
	}
	return false, nil
}

// agreed applies the new state of an option.
func (l *link) agreed(option byte) {
	switch option {
	case optBinary:
		l.in.binary = l.opts.him[optBinary].on()
		l.out.binary = l.opts.us[optBinary].on()
	case optNAWS:
		l.tellSize()
	}
}

// tellSize queues the size of the window if the server wants to know it (RFC 1073).
func (l *link) tellSize() {
	if l.opts.us[optNAWS].on() && l.columns > 0 {
		l.subneg(optNAWS, []byte{byte(l.columns >> 8), byte(l.columns), byte(l.rows >> 8), byte(l.rows)})
	}
}

// command and subneg queue an answer.
func (l *link) command(command, option byte) {
	l.record.command(true, command, option)
	l.queue = append(l.queue, cmdIAC, command, option)
}

func (l *link) subneg(option byte, payload []byte) {
	l.record.subneg(true, option, payload)
	l.queue = append(l.queue, cmdIAC, cmdSB, option)
	l.queue = (&encoder{binary: true}).encode(l.queue, payload, false)
	l.queue = append(l.queue, cmdIAC, cmdSE)
}

// flush sends answers until there are none. It runs in a goroutine of its own, as the reader must
// go on: a server may not read before its own output has been read.
func (l *link) flush() {
	for {
		err := l.send(false, nil)
		l.mu.Lock()
		if err != nil || len(l.queue) == 0 {
			l.flushing = false
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
	}
}

// send writes the queued answers, and then what compose appends. If that was typed, it may be a
// password, so the client's record does not get it.
func (l *link) send(typed bool, compose func(dst []byte) []byte) error {
	l.sending.Lock()
	defer l.sending.Unlock()
	l.mu.Lock()
	out := l.queue
	l.queue = nil
	answers := len(out)
	if compose != nil {
		out = compose(out)
	}
	l.mu.Unlock()
	recorded := out
	if typed {
		recorded = out[:answers]
	}
	if len(out) == 0 {
		return nil
	}
	_, err := l.conn.WriteMasked(out, recorded)
	if err != nil {
		return sessionError(err)
	}
	return nil
}

// write sends data. More says that what follows may belong to a CR at the end.
func (l *link) write(p []byte, more bool) (int, error) {
	for sent := 0; sent < len(p); {
		chunk := p[sent:min(len(p), sent+32<<10)]
		last := sent+len(chunk) == len(p)
		l.record.data(true, chunk)
		err := l.send(true, func(dst []byte) []byte { return l.out.encode(dst, chunk, more || !last) })
		if err != nil {
			return sent, err
		}
		sent += len(chunk)
	}
	return len(p), nil
}

// sendRecord sends p as binary data with the end of a record (RFC 885).
func (l *link) sendRecord(p []byte) error {
	l.record.data(true, p)
	l.record.command(true, cmdEOR)
	return l.send(true, func(dst []byte) []byte {
		dst = (&encoder{binary: true}).encode(dst, p, false)
		return append(dst, cmdIAC, cmdEOR)
	})
}

// sendCommand sends a command without option.
func (l *link) sendCommand(command byte) error {
	l.record.command(true, command)
	return l.send(false, func(dst []byte) []byte { return append(dst, cmdIAC, command) })
}

// resize notes the size of the window and tells the server. A size that the message has no room for
// is reduced.
func (l *link) resize(columns, rows int) error {
	if columns < 0 || rows < 0 {
		return &driver.Error{Code: driver.ErrProtocol, Err: fmt.Errorf("a window of %d by %d", columns, rows)}
	}
	l.mu.Lock()
	l.columns, l.rows = min(columns, 1<<16-1), min(rows, 1<<16-1)
	l.tellSize()
	l.mu.Unlock()
	return l.send(false, nil)
}

// Close ends the connection without waiting for the server.
func (l *link) Close() error {
	l.conn.Close()
	return nil
}

// records reports whether both sides send binary records (RFC 885, RFC 856).
func (l *link) records() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range []byte{optBinary, optEOR} {
		if !l.opts.us[o].on() || !l.opts.him[o].on() {
			return false
		}
	}
	return true
}

// echoed reports whether the server echoes what is typed (RFC 857).
func (l *link) echoed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.opts.him[optEcho].on()
}
