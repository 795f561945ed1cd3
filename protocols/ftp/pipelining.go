package ftp

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/internal/bounded"
)

// A Pipelining selects when commands are sent before the replies to earlier ones. Each pipelined
// command saves a round trip, but some servers read one command at a time and lose the rest.
type Pipelining uint8

// The modes of pipelining.
const (
	// PipeliningAuto pipelines with servers that are known to support it, and with others after a
	// reply to each of two commands sent together. If a server loses commands, takes several for
	// one, or replies out of order, the driver reconnects and sends that server one command at a
	// time as long as the client lives.
	PipeliningAuto Pipelining = iota
	// PipeliningOn pipelines with every server.
	PipeliningOn
	// PipeliningOff never pipelines.
	PipeliningOff
)

const (
	// maxPipelined limits the commands sent together.
	maxPipelined = 16
	// trialWait and trialTrips limit the wait for the reply to a pipelined command, in time and in
	// round trips, whichever is longer. They apply until a server has replied to such commands.
	trialWait, trialTrips = time.Second, 5
	maxServers            = 1024
)

var errCannotPipeline = errors.New("the server did not reply to pipelined commands one by one")

type pipelining struct {
	mode         Pipelining
	able, unable *bounded.Set[string] // addresses of servers
}

func newPipelining(mode Pipelining) *pipelining {
	return &pipelining{
		mode: mode,
		able: bounded.NewSet[string](maxServers), unable: bounded.NewSet[string](maxServers),
	}
}

// depth returns how many commands may be sent together. Trial is true if they may be lost.
func (p *pipelining) depth(addr string, known bool) (most int, trial bool) {
	switch {
	case p.mode == PipeliningOff, p.mode == PipeliningAuto && p.unable.Has(addr):
		return 1, false
	case p.mode == PipeliningOn, p.able.Has(addr):
		return maxPipelined, false
	case known: // a middlebox may not support it
		return maxPipelined, true
	}
	return 2, true
}

// pipeliningServers lists server software that supports pipelining, in lower case.
var pipeliningServers = []string{"vsftpd", "proftpd", "pure-ftpd", "pyftpdlib", "filezilla"}

// canPipeline reports whether a greeting or a list of features names one of the pipeliningServers.
func canPipeline(text string) bool { return contains(strings.ToLower(text), pipeliningServers) }

// tookForOne reports whether r may be the only reply to several commands, taken for one that is
// unknown or has a wrong argument.
func tookForOne(r wire.Reply) bool { return r.Code >= 500 && r.Code <= 502 }

// replyCodes are the only positive replies to some commands (RFC 959, section 5.4; RFC 2389; RFC
// 2428; RFC 3659).
var replyCodes = []replyCode{
	{"FEAT", 211}, {"SIZE", 213}, {"MDTM", 213}, {"PASV", 227}, {"EPSV", 229}, {"PWD", 257},
}

type replyCode struct {
	verb string
	code int
}

// outOfOrder reports whether r cannot be the reply to steps[i] and is that to another step: its code
// belongs to another command, it refuses a TYPE that every server has (RFC 1123, section 4.1.2.1),
// or its text names another command.
func outOfOrder(steps []step, i int, r wire.Reply) bool {
	own := steps[i].verb()
	switch {
	case r.Code/100 == 2:
		if i := slices.IndexFunc(replyCodes, func(c replyCode) bool { return c.verb == own }); i >= 0 {
			return r.Code != replyCodes[i].code
		}
		return slices.ContainsFunc(replyCodes, func(c replyCode) bool { return c.code == r.Code })
	case r.Code/100 == 5 && (steps[i].line == "TYPE I" || steps[i].line == "TYPE A"):
		return true
	case !isUnknown(r):
		return false
	}
	words := strings.FieldsFunc(strings.ToUpper(r.Text()), func(c rune) bool { return c < 'A' || c > 'Z' })
	named := func(verb string) bool {
		return slices.Contains(words, verb)
	}
	return !named(own) && slices.ContainsFunc(steps, func(s step) bool { return named(s.verb()) })
}
