package sftp

import (
	"bytes"
	"errors"
	"net"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
)

// A disconnect is the message SSH_MSG_DISCONNECT (RFC 4253, section 11.1).
type disconnect struct {
	reason int
	text   string
}

// Reasons of disconnect messages. OpenSSH uses only reasonProtocol for its own errors, and clients
// use reasonApplication.
const (
	reasonNotAllowed     = 1
	reasonProtocol       = 2
	reasonKeyExchange    = 3
	reasonUnavailable    = 7
	reasonConnectionLost = 10
	reasonApplication    = 11
	reasonTooMany        = 12
	reasonCanceled       = 13
	reasonNoMoreMethods  = 14
	reasonIllegalUser    = 15
)

// disconnectOf finds a disconnect message in an error. Package ssh does not export its type.
func disconnectOf(err error) (disconnect, bool) {
	_, rest, found := strings.Cut(err.Error(), "ssh: disconnect, reason ")
	number, quoted, _ := strings.Cut(rest, ": ")
	reason, numberErr := strconv.Atoi(number)
	text, textErr := strconv.Unquote(quoted)
	return disconnect{reason, text}, found && numberErr == nil && textErr == nil
}

// isLogin reports whether the message rejects a login, such as after too many keys.
func (m disconnect) isLogin() bool {
	switch m.reason {
	case reasonCanceled, reasonNoMoreMethods, reasonIllegalUser:
		return true
	}
	return strings.Contains(strings.ToLower(m.text), "authentication failures")
}

func (m disconnect) failure() error {
	e := &fetch.Error{Code: fetch.ErrRefused, Err: errors.New("the server ended the connection"),
		Reply: fetch.Reply{Code: m.reason, Text: m.text}}
	switch m.reason {
	case reasonNotAllowed, reasonUnavailable:
	case reasonTooMany:
		e.Code, e.Retry = fetch.ErrBusy, true
	case reasonConnectionLost, reasonApplication:
		e.Code, e.Retry = fetch.ErrNetwork, true
	case reasonKeyExchange:
		e.Code, e.Reason.Kind = fetch.ErrTLS, fetch.ReasonKeyExchange
	case reasonProtocol:
		if strings.Contains(strings.ToLower(m.text), "too many") { // connections or sessions
			e.Code, e.Retry = fetch.ErrBusy, true
			break
		}
		fallthrough
	default:
		e.Code = fetch.ErrProtocol
	}
	return e
}

// A greeting records the lines that a server sends before its version, such as the reason why it
// accepts no connection (RFC 4253, section 4.2). It is read by one goroutine until the version.
type greeting struct {
	net.Conn
	lines []byte
	ended bool // by the line of the version, or by the limit
}

// maxGreeting limits the recorded bytes.
const maxGreeting = 1 << 10

func (g *greeting) Read(p []byte) (int, error) {
	n, err := g.Conn.Read(p)
	if !g.ended {
		g.lines = append(g.lines, p[:min(n, maxGreeting-len(g.lines))]...)
		last := g.lines[bytes.LastIndexByte(g.lines, '\n')+1:]
		isVersion := bytes.HasPrefix(last, []byte("SSH-"))
		if isVersion {
			g.lines = g.lines[:len(g.lines)-len(last)]
		}
		g.ended = isVersion || len(g.lines) == maxGreeting
	}
	return n, err
}

// text returns the lines as one line.
func (g *greeting) text() string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(g.lines), "?")), " ")
}
