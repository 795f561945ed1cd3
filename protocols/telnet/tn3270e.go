package telnet

import "bytes"

// optTN3270E frames 3270 data in messages with a header (RFC 2355).
const optTN3270E = 40

// Commands of TN3270E (RFC 2355, section 3).
const (
	extDeviceType = 2
	extFunctions  = 3
	extIs         = 4
	extReject     = 6
	extRequest    = 7
	extSend       = 8
)

// The header of a message, in bytes, and its data types (RFC 2355, section 8.1).
const (
	extHeader = 5
	ext3270   = 0
	extText   = 5
)

// maxRefusals limits the lists of functions that are refused.
const maxRefusals = 3

// An extension is the negotiation of TN3270E without functions ("basic TN3270E", RFC 2355, section 9).
// All that they offer beside data of a screen is for printers and for details of SNA.
type extension struct {
	agreed   bool
	refusals int
	over     bool // the client has given up; the host may negotiate as before TN3270E
}

var (
	sendDeviceType   = []byte{extSend, extDeviceType}
	deviceTypeIs     = []byte{extDeviceType, extIs}
	deviceTypeReject = []byte{extDeviceType, extReject}
	functionsIs      = []byte{extFunctions, extIs}
	functionsRequest = []byte{extFunctions, extRequest}
)

// process returns the reply to a subnegotiation of the host, or nil (RFC 2355, section 7). If it sets
// over, the option must be refused.
func (e *extension) process(payload []byte) []byte {
	switch {
	case bytes.Equal(payload, sendDeviceType):
		e.agreed = false // if the host negotiates again
		return append([]byte{extDeviceType, extRequest}, displayType+"-E"...)
	case bytes.HasPrefix(payload, deviceTypeIs):
		return functionsRequest
	case bytes.Equal(payload, functionsIs):
		e.agreed = true
	case bytes.Equal(payload, functionsRequest):
		e.agreed = true
		return functionsIs
	case bytes.HasPrefix(payload, functionsRequest) && e.refusals < maxRefusals:
		e.refusals++
		return functionsRequest
	case bytes.HasPrefix(payload, functionsRequest), bytes.HasPrefix(payload, functionsIs),
		bytes.HasPrefix(payload, deviceTypeReject):
		e.agreed, e.over = false, true
	}
	return nil
}

// extend processes a subnegotiation of TN3270E. The caller holds l.mu.
func (l *link) extend(payload []byte) {
	if !l.opts.us[optTN3270E] {
		return
	}
	if reply := l.extension.process(payload); reply != nil {
		l.subneg(optTN3270E, reply)
	}
	if l.extension.over {
		l.opts.us[optTN3270E] = false
		l.command(cmdWONT, optTN3270E)
	}
}

// extended reports whether records are messages of TN3270E.
func (l *link) extended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.extension.agreed
}
