package ftp

import (
	"errors"
	"strings"
	"time"

	"github.com/urlget/urlget/internal/bounded"
)

// A Pipelining says whether commands are pipelined: sent before the replies to earlier ones have
// come. That saves a round trip for each, but some servers read one command at a time and lose the
// rest.
type Pipelining uint8

// The ways of sending commands.
const (
	// PipeliningAuto does it with servers that are known to read on, and with others once one has
	// answered two commands that came together. If a server loses commands, a new connection is
	// made, and the server gets one command at a time as long as the client lives.
	PipeliningAuto Pipelining = iota
	// PipeliningOn does it with every server.
	PipeliningOn
	// PipeliningOff never does it.
	PipeliningOff
)

const (
	// maxPipelined is how many commands are sent together.
	maxPipelined = 16
	// trialWait and trialTrips bound the wait for the reply to a pipelined command, in time and in
	// round trips, whichever is longer, if the server has not answered such commands before.
	trialWait, trialTrips = 2 * time.Second, 5
	// maxServers bounds the memory for servers that can pipeline or cannot.
	maxServers = 1024
)

// errLostCommands marks the failure of pipelined commands.
var errLostCommands = errors.New("the server did not answer commands sent together")

// pipelining is what is known of servers, by address.
type pipelining struct {
	mode         Pipelining
	able, unable *bounded.Set[string]
}

func newPipelining(mode Pipelining) *pipelining {
	return &pipelining{mode: mode, able: bounded.NewSet[string](maxServers), unable: bounded.NewSet[string](maxServers)}
}

// depth returns how many commands may be sent together. It is a trial if they may get lost.
func (p *pipelining) depth(addr string, known bool) (most int, trial bool) {
	switch {
	case p.mode == PipeliningOff, p.mode == PipeliningAuto && p.unable.Has(addr):
		return 1, false
	case p.mode == PipeliningOn, p.able.Has(addr):
		return maxPipelined, false
	case known: // but what is on the way to it is not
		return maxPipelined, true
	}
	return 2, true
}

// readers are the servers that are known to read on, as they call themselves, in lower case.
var readers = []string{"vsftpd", "proftpd", "pure-ftpd", "pyftpdlib", "filezilla"}

// isReader reports whether a greeting or a list of features names one of them.
func isReader(text string) bool { return contains(strings.ToLower(text), readers) }
