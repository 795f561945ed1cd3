package tftp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/internal/codec/tftp"
)

const (
	// maxBlock fills an Ethernet frame, allowing for IP options.
	maxBlock  = 1428
	maxWindow = 16
)

var requestedOptions = []tftp.Option{
	{Name: "tsize", Value: "0"},
	{Name: "blksize", Value: strconv.Itoa(maxBlock)},
	{Name: "windowsize", Value: strconv.Itoa(maxWindow)},
}

// After maxOptionTries, a request has no options, because some servers drop requests with options.
const maxOptionTries = 2

type transfer struct {
	conn  *fetch.Conn
	opts  Options
	trace func(sent bool, line string) // nil if there is no trace

	request     tftp.Packet
	optionsSent bool // a request with options was sent, and the server may reply to it
	started     bool // the server has replied
	retransmission
	sequence

	size   int64 // -1 if unknown
	ready  []byte
	err    error
	packet [maxBlock + 5]byte // one byte more than allowed, to detect excess
}

// A retransmission is the last packet that expects a response, and when to send it again.
type retransmission struct {
	sent         []byte
	wait         time.Duration // until the retransmission
	retransmitAt time.Time
	tries        int           // number of retransmissions
	limit        time.Duration // maximum time without progress; 0 means no limit
	idle         time.Duration // the limit after the first response
	deadline     time.Time     // the deadline for progress; zero without a limit
}

type sequence struct {
	block       int // bytes in a full block
	window      int // blocks per acknowledgement
	next        uint16
	unacked     int         // blocks since the last acknowledgement
	gapReported bool        // an acknowledgement has reported a missing block
	wrapped     bool        // block 65535 was the last one received
	last        atomic.Bool // the last block has arrived
}

func (d *opener) open(ctx context.Context, addr string, request tftp.Packet) (*transfer, error) {
	stray := tftp.Packet{Op: tftp.Error, Code: tftp.UnknownTransfer, Text: "unknown transfer ID"}.Encode()
	for _, options := range [][]tftp.Option{requestedOptions, nil} {
		conn, err := d.env.DialDatagrams(ctx, addr, stray)
		if err != nil {
			return nil, err
		}
		conn.Bind(ctx)
		conn.SetIdle(0) // retransmissions have their own timing
		request.Options = options
		timeouts := d.env.Timeouts()
		t := &transfer{conn: conn, opts: d.opts, trace: conn.Line(), request: request, size: -1,
			optionsSent: options != nil, sequence: sequence{block: tftp.DefaultBlock, window: 1, next: 1},
			retransmission: retransmission{limit: timeouts.Reply, idle: timeouts.Idle}}
		if err = t.handshake(); err == nil {
			return t, nil
		}
		t.end()
		if refused := (*optionsError)(nil); !errors.As(err, &refused) || options == nil {
			return nil, err
		}
	}
	panic("unreachable: without options, their refusal is an error")
}

// An optionsError is a refusal that may be due to the options of the request.
type optionsError struct{ error }

func (e *optionsError) Unwrap() error { return e.error }

func (t *transfer) handshake() error {
	if err := t.send(t.request); err != nil {
		return err
	}
	for !t.started {
		if err := t.receive(); err != nil {
			return err
		}
	}
	return nil
}

func (t *transfer) send(p tftp.Packet) error {
	t.traceLine(true, p)
	t.sent, t.tries, t.wait = p.Encode(), 0, t.opts.First
	now := time.Now()
	if t.retransmitAt = now.Add(t.wait); t.limit > 0 {
		t.deadline = now.Add(t.limit)
	}
	_, err := t.conn.Write(t.sent)
	return err
}

func (t *transfer) traceLine(sent bool, p tftp.Packet) {
	if t.trace != nil {
		t.trace(sent, p.String())
	}
}

// receive handles one datagram, or retransmits when it is time.
func (t *transfer) receive() error {
	deadline := t.retransmitAt
	if !t.deadline.IsZero() && t.deadline.Before(deadline) {
		deadline = t.deadline
	}
	t.conn.SetReadDeadline(deadline)
	n, err := t.conn.Read(t.packet[:])
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return t.retransmit()
	case err != nil:
		return err
	}
	p, err := tftp.Parse(t.packet[:n])
	if err != nil {
		return t.protocolError("not a TFTP packet")
	}
	switch {
	case p.Op == tftp.Error:
		t.traceLine(false, p)
		return t.serverError(p)
	case p.Op == tftp.OAck && !t.started:
		t.traceLine(false, p)
		return t.acceptOptions(p.Options)
	case p.Op == tftp.OAck:
		return nil // ignored: the last packet is retransmitted when it is time
	case p.Op == tftp.Data:
		return t.data(p)
	}
	return t.protocolError("unexpected packet: " + p.String())
}

func (t *transfer) retransmit() error {
	now := time.Now()
	if t.tries == t.opts.Tries || !t.deadline.IsZero() && !now.Before(t.deadline) {
		if !t.started {
			return fetch.ErrNetwork.Retryf("no reply to %d requests", t.tries+1)
		}
		return fetch.ErrTruncated.Retryf("the server stopped sending")
	}
	if now.Before(t.retransmitAt) {
		return nil
	}
	if t.tries++; !t.started && t.tries == maxOptionTries && t.request.Options != nil {
		t.request.Options = nil
		t.sent = t.request.Encode()
	}
	t.wait = min(2*t.wait, 8*t.opts.First)
	t.retransmitAt = now.Add(t.wait)
	_, err := t.conn.Write(t.sent)
	return err
}

func (t *transfer) protocolError(why string) *fetch.Error {
	p := tftp.Packet{Op: tftp.Error, Code: tftp.IllegalOperation, Text: "illegal TFTP operation"}
	t.conn.Write(p.Encode()) // best effort
	return &fetch.Error{Code: fetch.ErrProtocol, Err: errors.New(why)}
}

// The server may accept some of the requested options, with values no larger than requested.
func (t *transfer) acceptOptions(options []tftp.Option) error {
	for _, o := range options {
		value, err := strconv.ParseInt(o.Value, 10, 64)
		ok := err == nil
		switch o.Name {
		case "tsize":
			t.size, ok = value, ok && value >= 0
		case "blksize":
			t.block, ok = int(value), ok && value >= 8 && value <= maxBlock
		case "windowsize":
			t.window, ok = int(value), ok && value >= 1 && value <= maxWindow
		default:
			ok = false
		}
		if !ok {
			t.conn.Write(tftp.Packet{Op: tftp.Error, Code: tftp.OptionsRefused,
				Text: "option not requested"}.Encode())
			return fetch.ErrProtocol.Errorf("the server sent an invalid option %q=%q",
				o.Name, o.Value)
		}
	}
	t.markStarted()
	return t.send(tftp.Packet{Op: tftp.Ack})
}

func (t *transfer) markStarted() { t.started, t.limit, t.deadline = true, t.idle, time.Time{} }

// data handles a block. It ignores duplicates, because acknowledging them would double the traffic
// with a server that replies to each acknowledgement (RFC 1123, section 4.2.3.1). If an
// acknowledgement was lost, retransmit sends it again.
func (t *transfer) data(p tftp.Packet) error {
	if len(p.Data) > t.block {
		err := t.protocolError(fmt.Sprintf("block of more than %d bytes", t.block))
		err.Retry = !t.started // it may belong to an earlier transfer to the same local port
		return err
	}
	if t.wrapped && t.next == 0 && p.Block == 1 && t.window == 1 {
		t.next = 1 // after 65535, some servers skip 0
	}
	if !t.started {
		if p.Block != 1 {
			err := t.protocolError("the first block does not have number 1")
			err.Retry = true // as above
			return err
		}
		t.markStarted()
	}
	switch ahead := p.Block - t.next; {
	case ahead == 0:
	case ahead < math.MaxUint16/2 && int(ahead) < t.window && !t.gapReported:
		t.gapReported = true // acknowledge once: the server resumes from the first unacknowledged block
		return t.acknowledge()
	default:
		return nil
	}
	t.gapReported = false
	t.ready = p.Data
	t.wrapped = t.next == math.MaxUint16
	t.next++
	t.unacked++
	t.last.Store(len(p.Data) < t.block)
	if t.last.Load() || t.unacked == t.window {
		return t.acknowledge()
	}
	now := time.Now()
	if t.tries, t.wait, t.retransmitAt = 0, t.opts.First, now.Add(t.opts.First); t.limit > 0 {
		t.deadline = now.Add(t.limit)
	}
	// If the rest of the window is lost, the retransmission acknowledges the received blocks.
	t.sent = tftp.Packet{Op: tftp.Ack, Block: t.next - 1}.Encode()
	return nil
}

func (t *transfer) acknowledge() error {
	t.unacked = 0
	return t.send(tftp.Packet{Op: tftp.Ack, Block: t.next - 1})
}

func (t *transfer) serverError(p tftp.Packet) error {
	e := &fetch.Error{Code: fetch.ErrServer,
		Reply: fetch.Reply{Code: int(p.Code), Text: wire.Text(p.Text)}}
	switch p.Code {
	case tftp.NotFound:
		e.Code = fetch.ErrNotFound
	case tftp.AccessViolation, tftp.NoSuchUser:
		e.Code = fetch.ErrRefused
	case tftp.UnknownTransfer:
		e.Code, e.Retry = fetch.ErrNetwork, true
	case tftp.OptionsRefused, tftp.IllegalOperation, tftp.Undefined: // the last one from old servers
		if !t.started && t.optionsSent {
			return &optionsError{e}
		}
	}
	if t.started && t.next > 1 {
		e.Code, e.Retry = fetch.ErrTruncated, true // the file existed
	}
	return e
}

// Read implements io.Reader. The last block marks the end.
func (t *transfer) Read(p []byte) (int, error) {
	for len(t.ready) == 0 {
		if t.err == nil && t.last.Load() {
			t.err = io.EOF
		}
		if t.err == nil {
			t.err = t.receive()
			continue
		}
		return 0, t.err
	}
	n := copy(p, t.ready)
	t.ready = t.ready[n:]
	return n, nil
}

// Close ends the transfer. It sends an ERROR packet if the file is not complete, and does not wait
// for a response.
func (t *transfer) Close() error {
	if !t.last.Load() {
		t.conn.Write(tftp.Packet{Op: tftp.Error, Text: "transfer aborted"}.Encode())
	}
	return t.end()
}

func (t *transfer) end() error { return t.conn.Close() }
