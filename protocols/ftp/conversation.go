package ftp

import (
	"context"
	"math"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
)

// A conversation executes the commands of a session, on a control connection or as a dry run for
// Explain. Both use the same code, so an explanation shows the real commands.
type conversation interface {
	// begin connects and reads the greeting.
	begin(ctx context.Context) error
	// protect starts TLS on the control connection.
	protect(ctx context.Context) error
	// protected reports whether the control connection uses TLS.
	protected() bool
	// say sends the commands and passes each its reply. After an error, later replies may be lost.
	say(steps ...step) error
	// dial opens a data connection to a port of the server.
	dial(ctx context.Context, port uint16) (*fetch.Conn, error)
	// listen waits for a data connection from the server.
	listen(ctx context.Context) (listener, error)
}

type listener interface {
	Accept() (*fetch.Conn, error)
	Addr() net.Addr
	Close() error
}

// A step is one command and the check of its reply.
type step struct {
	line     string
	shown    string // for traces and explanations, if line is secret
	transfer bool   // the command starts a transfer
	// then checks the reply. Nil accepts any 2yz reply.
	then func(wire.Reply) error
}

func (s step) String() string {
	if s.shown != "" {
		return s.shown
	}
	return s.line
}

func (s step) verb() string {
	verb, _, _ := strings.Cut(s.line, " ")
	return verb
}

func (s step) judge(r wire.Reply) error {
	switch {
	case hangsUp(r.Code, r.Text()):
		return refusal(s.String(), r)
	case s.then != nil:
		return s.then(r)
	case r.Code/100 != 2:
		return refusal(s.String(), r)
	}
	return nil
}

// A dryRun is a conversation with a server that supports and permits everything.
type dryRun struct {
	lines []string
	tls   bool
}

func (r *dryRun) begin(context.Context) error   { return nil }
func (r *dryRun) protect(context.Context) error { r.tls = true; return nil }
func (r *dryRun) protected() bool               { return r.tls }

func (r *dryRun) dial(context.Context, uint16) (*fetch.Conn, error) { return nil, nil }
func (r *dryRun) listen(context.Context) (listener, error)          { return unknownListener{}, nil }

// dryReplies returns the replies of RFC 959, RFC 2428, RFC 3659 and RFC 4217, by command.
func dryReplies() map[string]wire.Reply {
	return map[string]wire.Reply{
		"AUTH": {Code: 234, Lines: []string{""}},
		"USER": {Code: 331, Lines: []string{""}},
		"PASS": {Code: 230, Lines: []string{""}},
		"FEAT": {Code: 211, Lines: []string{"", "MLST", ""}},
		"PWD":  {Code: 257, Lines: []string{`"/"`}},
		"SIZE": {Code: 213, Lines: []string{strconv.FormatInt(math.MaxInt64, 10)}},
		"MDTM": {Code: 213, Lines: []string{"19700101000000"}},
		"EPSV": {Code: 229, Lines: []string{"(|||65535|)"}},
		"REST": {Code: 350, Lines: []string{""}},
		"RETR": {Code: 150, Lines: []string{""}},
		"MLSD": {Code: 150, Lines: []string{""}},
		"NLST": {Code: 150, Lines: []string{""}},
	}
}

func (r *dryRun) say(steps ...step) error {
	replies := dryReplies()
	for _, s := range steps {
		r.lines = append(r.lines, s.String())
		reply, ok := replies[s.verb()]
		if !ok {
			reply = wire.Reply{Code: 200, Lines: []string{""}}
		}
		if err := s.judge(reply); err != nil {
			return err
		}
	}
	return nil
}

// An unknownListener stands for a listener whose port is not yet chosen.
type unknownListener struct{}

func (unknownListener) Accept() (*fetch.Conn, error) { return nil, net.ErrClosed }
func (unknownListener) Close() error                 { return nil }
func (unknownListener) Addr() net.Addr               { return net.TCPAddrFromAddrPort(netip.AddrPort{}) }
