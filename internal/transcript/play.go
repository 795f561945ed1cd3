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
	patience = 10 * time.Second      // how long to wait for the next byte of the other side
	grace    = 2 * time.Second       // how long for what is missing when the test ends
	moment   = 50 * time.Millisecond // how long for what should not come then
)

// A player plays one side of one script on one connection.
type player struct {
	conv    *Conversation
	script  *script
	client  bool // it plays the client
	conn    net.Conn
	r       *bufio.Reader
	vars    func(name, script string) string // the value of a variable
	learn   func(step, []byte) bool          // takes variables from a line that has the form of a step
	wait    func(script string)              // waits until a script has been played
	done    func()                           // says that this one has; for servers
	numbers map[string][]byte                // that the client chose

	mu     sync.Mutex
	ending bool // the test is over
	tail   bool // all is said, or the player only waits for the other side to close
}

// A deviation is what the other side did instead of a step.
type deviation struct {
	at  int // index of the step
	got string
}

// play plays the script and closes the connection. It returns how the other side deviated, or nil.
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
	p.rest()
	if b, err := p.r.ReadByte(); err == nil {
		got := p.display([]byte{b})
		p.abort()
		return &deviation{len(p.script.steps), got}
	}
	return nil
}

// act does a step of this side and reports whether it was the last one.
func (p *player) act(st step) (last bool) {
	switch st.action {
	case say:
		p.conn.SetWriteDeadline(time.Now().Add(patience))
		// If the other side has gone, the next step that it owes will tell.
		p.conn.Write(p.expand(st))
	case wait:
		p.wait(st.wait)
	case reset:
		p.abort()
	case closeConn:
		closeWrite(p.conn)
		if p.client {
			return false // the server may have more to say
		}
		p.ignore()
	case stall:
		p.ignore()
	}
	return st.last()
}

// expect waits for a step of the other side. It returns what came instead, or "".
func (p *player) expect(st step) string {
	switch {
	case st.action == say && st.vars && p.learn != nil:
		p.await()
		line, err := p.r.ReadBytes('\n')
		if err != nil {
			return p.gone(line, err)
		}
		if !p.learn(st, line) {
			return p.display(line)
		}
	case st.optional:
		if p.upcoming(p.expand(st)) {
			p.r.Discard(len(p.expand(st)))
		}
	case st.action == say:
		return p.expectBytes(st)
	case st.action == wait:
		p.wait(st.wait)
	case st.action == closeConn, st.action == reset:
		p.await()
		if b, err := p.r.ReadByte(); err == nil {
			return p.display([]byte{b})
		} else if errors.Is(err, os.ErrDeadlineExceeded) {
			return p.gone(nil, err)
		}
	}
	return ""
}

// expectBytes reads the bytes of a step, in which numbers that the client chooses may be any.
func (p *player) expectBytes(st step) string {
	want := p.expand(st)
	for i := range want {
		p.await()
		b, err := p.r.ReadByte()
		if err != nil {
			return p.gone(want[:i], err)
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

// upcoming reports whether want is what the other side sends next. It waits for no more than that.
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

// display completes bytes that were not expected with the rest of their line, as far as it has
// come, and writes them as a step.
func (p *player) display(got []byte) string {
	for !bytes.HasSuffix(got, []byte("\n")) && p.r.Buffered() > 0 {
		b, _ := p.r.ReadByte()
		got = append(got, b)
	}
	return step{client: !p.client, data: got}.String()
}

// gone describes what came before the other side closed the connection or fell silent.
func (p *player) gone(got []byte, err error) string {
	what := "closed the connection"
	if errors.Is(err, os.ErrDeadlineExceeded) {
		what = "sent nothing more"
	}
	if len(got) > 0 {
		return fmt.Sprintf("%s, then %s", p.display(got), what)
	}
	return "(" + what + ")"
}

// ignore reads what the other side sends until it closes the connection or the test ends.
func (p *player) ignore() {
	p.rest()
	buf := make([]byte, 4096)
	for {
		if _, err := p.conn.Read(buf); err != nil {
			return
		}
	}
}

// await gives the other side time for the next byte.
func (p *player) await() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ending && p.r.Buffered() == 0 {
		p.conn.SetReadDeadline(time.Now().Add(patience))
	}
}

// rest says that all is said, and that from here on the end of the test ends the connection.
func (p *player) rest() {
	p.done()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tail = true
	if p.ending {
		p.conn.SetReadDeadline(time.Now().Add(moment))
	} else {
		p.conn.SetReadDeadline(time.Time{})
	}
}

// end tells the player that the test is over.
func (p *player) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ending = true
	if p.tail {
		p.conn.SetReadDeadline(time.Now().Add(moment))
	} else {
		p.conn.SetReadDeadline(time.Now().Add(grace))
	}
}

// abort closes the connection in a way that the other side notices at once.
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

// diff shows a deviation below the steps before it.
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
