package transcript

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	// byteTimeout is the timeout for the next byte of the other side, which may be slow on a busy
	// machine.
	byteTimeout = 2 * time.Minute
	// missingTimeout is the wait for missing bytes when the test ends, and optionalTimeout the wait for
	// bytes that may be missing.
	missingTimeout, optionalTimeout = time.Minute, 2 * time.Second
	extraTimeout                    = 50 * time.Millisecond // wait for unexpected bytes after that
)

// A player plays one side of one script on one connection.
type player struct {
	conv    *Conversation
	script  *script
	client  bool // plays the client
	conn    net.Conn
	r       *bufio.Reader
	vars    func(name, script string) string // returns the value of a variable
	learn   func(step, []byte) bool          // reads variables from a line that matches a step
	wait    func(script string)              // waits until a script has been played
	done    func()                           // marks this script as played; for servers
	numbers map[string][]byte                // numbers chosen by the client

	mu       sync.Mutex
	ended    bool // the test has ended
	optional bool // waits for bytes that may be missing
	finished bool // only waits for the other side to close
}

// A deviation is an unexpected action of the other side.
type deviation struct {
	at  int // index of the step
	got string
}

// play plays the script and closes the connection. It returns the deviation of the other side, or
// nil.
func (p *player) play() *deviation {
	defer p.conn.Close()
	for i, st := range p.script.steps {
		if st.client == p.client {
			if p.act(st) {
				return nil
			}
			continue
		}
		if got := p.expect(st); got != "" {
			p.abort()
			return &deviation{i, got}
		}
	}
	if p.client {
		return nil
	}
	p.finish()
	if b, err := p.r.ReadByte(); err == nil {
		got := p.display([]byte{b})
		p.abort()
		return &deviation{len(p.script.steps), got}
	}
	return nil
}

// act performs a step of this side and reports whether it was the last one.
func (p *player) act(st step) (last bool) {
	switch st.action {
	case say:
		p.conn.SetWriteDeadline(time.Now().Add(byteTimeout))
		// If the other side has closed the connection, its next step reports that.
		p.conn.Write(p.expand(st))
	case wait:
		p.wait(st.wait)
	case reset:
		p.abort()
	case closeConn:
		closeWrite(p.conn)
		if p.client {
			return false // the server may send more
		}
		p.ignore()
	case stall:
		p.ignore()
	}
	return st.last()
}

// expect waits for a step of the other side. It returns a description of anything else, or "".
func (p *player) expect(st step) string {
	switch {
	case st.action == say && st.vars && p.learn != nil:
		p.await()
		line, err := p.r.ReadBytes('\n')
		if err != nil {
			return p.describeEnd(line, err)
		}
		if !p.learn(st, line) {
			return p.display(line)
		}
	case st.optional:
		p.await()
		p.setOptional(true)
		if p.upcoming(p.expand(st)) {
			p.r.Discard(len(p.expand(st)))
		}
		p.setOptional(false)
	case st.action == say:
		return p.expectBytes(st)
	case st.action == wait:
		p.wait(st.wait)
	case st.action == closeConn, st.action == reset:
		p.await()
		if b, err := p.r.ReadByte(); err == nil {
			return p.display([]byte{b})
		} else if errors.Is(err, os.ErrDeadlineExceeded) {
			return p.describeEnd(nil, err)
		}
	}
	return ""
}

// expectBytes reads the bytes of a step. Numbers that the client chooses match any value.
func (p *player) expectBytes(st step) string {
	want := p.expand(st)
	for i := range want {
		p.await()
		b, err := p.r.ReadByte()
		if err != nil {
			return p.describeEnd(want[:i], err)
		}
		if st.client && st.chosen(i) {
			want[i] = b
		}
		if b != want[i] {
			return p.display(append(bytes.Clone(want[:i]), b))
		}
	}
	for _, n := range st.numbers {
		if p.numbers == nil {
			p.numbers = make(map[string][]byte)
		}
		p.numbers[n.name] = want[n.at : n.at+numberSize]
	}
	return ""
}

// upcoming reports whether the other side sends want next. It does not wait for more.
func (p *player) upcoming(want []byte) bool {
	for i := range want {
		p.await()
		b, err := p.r.Peek(i + 1)
		if err != nil || b[i] != want[i] {
			return false
		}
	}
	return true
}

// display reads the rest of the line of unexpected bytes, as far as it has arrived, and formats it
// as a step.
func (p *player) display(got []byte) string {
	for !bytes.HasSuffix(got, []byte("\n")) && p.r.Buffered() > 0 {
		b, _ := p.r.ReadByte()
		got = append(got, b)
	}
	return step{client: !p.client, data: got}.String()
}

// describeEnd describes the bytes received before the other side closed the connection or stopped
// sending.
func (p *player) describeEnd(got []byte, err error) string {
	what := "closed the connection"
	if errors.Is(err, os.ErrDeadlineExceeded) {
		what = "sent nothing more"
	}
	if len(got) > 0 {
		return fmt.Sprintf("%s, then %s", p.display(got), what)
	}
	return "(" + what + ")"
}

// ignore discards input until the other side closes the connection or the test ends.
func (p *player) ignore() {
	p.finish()
	buf := make([]byte, 4096)
	for {
		if _, err := p.conn.Read(buf); err != nil {
			return
		}
	}
}

// await sets the deadline for the next byte.
func (p *player) await() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended && p.r.Buffered() == 0 {
		p.conn.SetReadDeadline(time.Now().Add(byteTimeout))
	}
}

// finish marks the script as finished: from now on, the end of the test closes the connection.
func (p *player) finish() {
	p.done()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finished = true
	if p.ended {
		p.conn.SetReadDeadline(time.Now().Add(extraTimeout))
	} else {
		p.conn.SetReadDeadline(time.Time{})
	}
}

// end reports the end of the test to the player.
func (p *player) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	switch {
	case p.finished:
		p.conn.SetReadDeadline(time.Now().Add(extraTimeout))
	case p.optional:
		p.conn.SetReadDeadline(time.Now().Add(optionalTimeout))
	default:
		p.conn.SetReadDeadline(time.Now().Add(missingTimeout))
	}
}

// setOptional records whether the player waits for an optional step.
func (p *player) setOptional(optional bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.optional = optional
	if p.ended && !p.finished {
		wait := missingTimeout
		if optional {
			wait = optionalTimeout
		}
		p.conn.SetReadDeadline(time.Now().Add(wait))
	}
}

// abort resets the connection.
func (p *player) abort() {
	if tcp, ok := p.conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	p.conn.Close()
}

// expand returns the bytes of a step.
func (p *player) expand(st step) []byte {
	if st.numbers != nil {
		data := bytes.Clone(st.data)
		for _, n := range st.numbers {
			copy(data[n.at:], p.numbers[n.name])
		}
		return data
	}
	if !st.vars {
		return st.data
	}
	return variable.ReplaceAllFunc(st.data, func(v []byte) []byte {
		m := variable.FindSubmatch(v)
		return []byte(p.vars(string(m[1])+string(m[3]), string(m[2])))
	})
}

// diff formats a deviation and the steps before it.
func (p *player) diff(d *deviation) string {
	var b strings.Builder
	steps := p.script.steps
	line := 0
	for i := max(0, d.at-4); i < d.at; i++ {
		fmt.Fprintf(&b, "\t  %v\n", steps[i])
		line = steps[i].line
	}
	if d.at < len(steps) {
		line = steps[d.at].line
		fmt.Fprintf(&b, "\t- %v\n", steps[d.at])
	} else {
		b.WriteString("\t- (nothing)\n")
	}
	fmt.Fprintf(&b, "\t+ %s", d.got)
	return fmt.Sprintf("%s:%d: deviation in %q:\n%s", p.conv.name, line, p.script.name, b.String())
}

func closeWrite(conn net.Conn) {
	if cw, ok := conn.(interface{ CloseWrite() error }); ok {
		cw.CloseWrite()
	}
}
