package ftp

import (
	"errors"
	"strings"
	"time"

	"github.com/urlget/urlget/internal/bounded"
)

// A Pipelining selects when commands are sent before the replies to earlier ones. Each pipelined
// command saves a round trip, but some servers read one command at a time and lose the rest.
type Pipelining uint8

// The modes of pipelining.
const (
	// PipeliningAuto pipelines with servers that are known to support it, and with others after a
	// reply to each of two commands sent together. If a server loses commands, the driver
	// reconnects and sends that server one command at a time as long as the client lives.
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
	trialWait, trialTrips = 2 * time.Second, 5
	// maxServers limits the remembered servers that can or cannot pipeline.
	maxServers = 1024
)

// errLostCommands marks the failure of pipelined commands.
var errLostCommands = errors.New("the server did not reply to pipelined commands")

// pipelining records which servers can pipeline, by address.
type pipelining struct {
	mode         Pipelining
	able, unable *bounded.Set[string]
}

func newPipelining(mode Pipelining) *pipelining {
	return &pipelining{mode: mode, able: bounded.NewSet[string](maxServers), unable: bounded.NewSet[string](maxServers)}
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
