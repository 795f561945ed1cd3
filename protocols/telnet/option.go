package telnet

// A side is the state of one option on our side or the peer's (RFC 1143, section 7).
type side struct {
	state    sideState
	opposite bool // the queue bit: request the opposite after the reply
}

type sideState uint8

const (
	stateNo sideState = iota
	stateYes
	stateWantNo  // requested to disable, no reply yet
	stateWantYes // requested to enable, no reply yet
)

func (s sideState) String() string { return [...]string{"no", "yes", "want no", "want yes"}[s] }

// A reply is the command to send: none, on or off. On our side that is WILL or WONT, on the peer's
// DO or DONT.
type reply uint8

const (
	replyNone reply = iota
	replyOn
	replyOff
)

// process handles a command of the peer: on for WILL or DO, off for WONT or DONT. If accept is false,
// it refuses to enable the option.
func (s *side) process(on, accept bool) reply {
	switch s.state {
	case stateNo:
		if !on {
			return replyNone
		}
		if !accept {
			return replyOff
		}
		s.state = stateYes
		return replyOn
	case stateYes:
		if on {
			return replyNone
		}
		s.state = stateNo
		return replyOff
	case stateWantNo:
		// "On" is not a valid reply here. It ends the request, too, to prevent loops (RFC 1143,
		// section 7).
		switch {
		case !on && s.opposite:
			s.state, s.opposite = stateWantYes, false
			return replyOn
		case !on:
			s.state = stateNo
		case s.opposite:
			s.state, s.opposite = stateYes, false
		default:
			s.state = stateNo
		}
		return replyNone
	}
	// stateWantYes
	switch {
	case on && s.opposite:
		s.state, s.opposite = stateWantNo, false
		return replyOff
	case on:
		s.state = stateYes
	default:
		s.state, s.opposite = stateNo, false
	}
	return replyNone
}

func (s *side) want(on bool) reply {
	switch {
	case on && s.state == stateNo:
		s.state = stateWantYes
		return replyOn
	case !on && s.state == stateYes:
		s.state = stateWantNo
		return replyOff
	case s.state == stateWantNo:
		s.opposite = on
	case s.state == stateWantYes:
		s.opposite = !on
	}
	return replyNone
}

type options struct {
	us, him [256]side
}

// process handles WILL, WONT, DO or DONT and returns the command to reply with, or 0.
func (o *options) process(command, option byte, accept bool) byte {
	if command == cmdWILL || command == cmdWONT {
		return [...]byte{replyNone: 0, replyOn: cmdDO, replyOff: cmdDONT}[o.him[option].process(command == cmdWILL, accept)]
	}
	return ourCommand(o.us[option].process(command == cmdDO, accept))
}

func ourCommand(r reply) byte { return [...]byte{replyNone: 0, replyOn: cmdWILL, replyOff: cmdWONT}[r] }

// on reports whether the option is in effect, not only requested.
func (s *side) on() bool { return s.state == stateYes }
