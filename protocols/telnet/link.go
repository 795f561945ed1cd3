package telnet

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
)

// maxQueued limits the queued replies, in bytes. Each one replies to a command, so only a server that
// sends commands and does not read can reach the limit.
const maxQueued = 64 << 10

// A link is a telnet connection: data in both directions, and option negotiation. One goroutine may
// read while others write.
type link struct {
	conn   *fetch.Conn
	accept func(command, option byte) bool
	term   string // the terminal type to send
	record *transcript

	received // used by the reader only

	sending sync.Mutex // held during writes

	mu         sync.Mutex
	opts       options
	extension  extension // of a 3270 display
	negotiated bool      // the server has sent a command
	outgoing
	columns int // of the window; 0 if unknown
	rows    int
	local   []byte // read before data from the server
	woken   bool   // the reader must return errWoken
}

type received struct {
	in      decoder
	raw     []byte // input buffer
	pending []byte // the part of raw that is not yet decoded
	// inRecord reports whether the data that read returned belong to a binary record. Every command
	// may change it.
	inRecord bool
}

type outgoing struct {
	out      encoder
	queue    []byte // replies to commands
	flushing bool   // a goroutine sends the queue
}

// read decodes data into p. It also returns at the end of a record (eor) and when there are local
// data.
func (l *link) read(p []byte) (n int, eor bool, err error) {
	for {
		if len(l.pending) == 0 {
			if n, err := l.receive(p); n > 0 || err != nil {
				return n, false, err
			}
		}
		l.inRecord = l.inRecordMode()
		written, read, sig := l.in.next(p, l.pending)
		l.record.data(false, p[:written])
		l.pending = l.pending[read:]
		if l.in.skipped > maxSkipped {
			return written, false, fetch.ErrProtocol.Errorf("a subnegotiation of more than %d bytes",
				maxSubneg+maxSkipped)
		}
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

var errWoken = errors.New("woken")

// If there are local data, before or during the read, they are copied to p instead.
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
			continue // local data were added, or the reader was woken
		}
		if err != nil {
			return 0, sessionError(err)
		}
	}
}

// queueLocal makes the reader return p first. It discards p if too much local data are queued.
func (l *link) queueLocal(p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.local)+len(p) > maxQueued {
		return
	}
	l.local = append(l.local, p...)
	l.conn.SetReadDeadline(time.Unix(1, 0))
}

// wake makes the reader return errWoken after the data that are already received.
func (l *link) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.woken = true
	l.conn.SetReadDeadline(time.Unix(1, 0))
}

func sessionError(err error) error {
	if err == nil || err == io.EOF || fetch.CodeOf(err) != "" {
		return err
	}
	code := fetch.ErrNetwork
	if errors.Is(err, context.Canceled) || errors.Is(err, net.ErrClosed) { // by the caller
		code = fetch.ErrInterrupted
	}
	return &fetch.Error{Code: code, Err: err}
}

func (l *link) handle(sig signal) (eor bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.negotiated = true
	switch sig {
	case sigCommand:
		l.record.command(false, l.in.command)
		return l.in.command == cmdEOR, nil // no other command requires an action
	case sigNegotiate:
		l.record.command(false, l.in.command, l.in.option)
		if reply := l.opts.process(l.in.command, l.in.option,
			l.accept(l.in.command, l.in.option)); reply != 0 {
			l.command(reply, l.in.option)
		}
		l.applyOption(l.in.option)
	case sigSubneg:
		l.record.subneg(false, l.in.option, l.in.payload)
		if l.in.option == optTType && l.opts.us[optTType] && len(l.in.payload) == 1 &&
			l.in.payload[0] == ttypeSend {
			l.subneg(optTType, append([]byte{ttypeIs}, l.term...))
		}
		if l.in.option == optTN3270E {
			l.extend(l.in.payload)
		}
	}
	if len(l.queue) > maxQueued {
		return false, fetch.ErrProtocol.Errorf("the server negotiates without reading the replies")
	}
	if len(l.queue) > 0 && !l.flushing {
		l.flushing = true
		go l.flush()
	}
	return false, nil
}

func (l *link) applyOption(option byte) {
	switch option {
	case optBinary:
		l.in.binary = l.opts.him[optBinary]
		l.out.binary = l.opts.us[optBinary]
	case optNAWS:
		l.sendSize()
	case optTN3270E:
		l.extension.agreed = l.extension.agreed && l.opts.us[optTN3270E]
	}
}

// sendSize queues the window size if the server requested it (RFC 1073).
func (l *link) sendSize() {
	if l.opts.us[optNAWS] && l.columns > 0 {
		l.subneg(optNAWS, []byte{byte(l.columns >> 8), byte(l.columns), byte(l.rows >> 8), byte(l.rows)})
	}
}

// command and subneg queue a reply.
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

// flush sends the queued replies. It runs in its own goroutine, because the reader must continue: a
// server may not read before its output has been read.
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

// If masked is true, the output of compose is not recorded, because it may be a password.
func (l *link) send(masked bool, compose func(dst []byte) []byte) error {
	l.sending.Lock()
	defer l.sending.Unlock()
	l.mu.Lock()
	out := l.queue
	l.queue = nil
	replies := len(out)
	if compose != nil {
		out = compose(out)
	}
	l.mu.Unlock()
	recorded := out
	if masked {
		recorded = out[:replies]
	}
	if len(out) == 0 {
		return nil
	}
	_, err := l.conn.WriteMasked(out, recorded)
	return sessionError(err)
}

// write sends data. If more is true, the next data may continue a final CR.
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

// sendRecord sends p as a binary record (RFC 885).
func (l *link) sendRecord(p []byte) error {
	l.record.data(true, p)
	l.record.command(true, cmdEOR)
	return l.send(true, func(dst []byte) []byte {
		dst = (&encoder{binary: true}).encode(dst, p, false)
		return append(dst, cmdIAC, cmdEOR)
	})
}

// resize stores the window size and sends it to the server. It is reduced to the limit of the
// message.
func (l *link) resize(columns, rows int) error {
	if columns < 0 || rows < 0 {
		return fetch.ErrProtocol.Errorf("invalid window size: %d by %d", columns, rows)
	}
	l.mu.Lock()
	l.columns, l.rows = min(columns, 1<<16-1), min(rows, 1<<16-1)
	l.sendSize()
	l.mu.Unlock()
	return l.send(false, nil)
}

// Close closes the connection without waiting for the server.
func (l *link) Close() error {
	l.conn.Close()
	return nil
}

// inRecordMode reports whether both sides send binary records (RFC 885, RFC 856), which TN3270E implies.
func (l *link) inRecordMode() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opts.us[optTN3270E] {
		return l.extension.agreed
	}
	for _, o := range []byte{optBinary, optEOR} {
		if !l.opts.us[o] || !l.opts.him[o] {
			return false
		}
	}
	return true
}

// echoed reports whether the server echoes typed data (RFC 857).
func (l *link) echoed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.opts.him[optEcho]
}
