package telnet

// A side is one side of one option, in the states of RFC 1143, section 7: what we do, or what the
// peer does.
type side struct {
	state    sideState
	opposite bool // the queue bit: when the answer is there, the opposite is asked for
}

type sideState uint8

const (
	stateNo sideState = iota
	stateYes
	stateWantNo  // asked to end, no answer yet
	stateWantYes // asked to begin, no answer yet
)

func (s sideState) String() string { return [...]string{"no", "yes", "want no", "want yes"}[s] }

// A reply is what to say about a side: nothing, or that the option should be on or off. For our own
// side that is WILL or WONT, for the peer's DO or DONT.
type reply uint8

const (
	silent reply = iota
	sayOn
	sayOff
)

// heard takes what the peer says about the side: on is WILL or DO, off is WONT or DONT. Accept
// tells whether the option may be on.
func (s *side) heard(on, accept bool) reply {
	switch s.state {
	case stateNo:
		if !on {
			return silent
		}
		if !accept {
			return sayOff
		}
		s.state = stateYes
		return sayOn
	case stateYes:
		if on {
			return silent
		}
		s.state = stateNo
		return sayOff
	case stateWantNo:
		// An "on" here does not answer what was asked. The RFC takes it for the end of the request
		// too, so that no loop can arise.
		switch {
		case !on && s.opposite:
			s.state, s.opposite = stateWantYes, false
			return sayOn
		case !on:
			s.state = stateNo
		case s.opposite:
			s.state, s.opposite = stateYes, false
		default:
			s.state = stateNo
		}
		return silent
	}
	// stateWantYes
	switch {
	case on && s.opposite:
		s.state, s.opposite = stateWantNo, false
		return sayOff
	case on:
		s.state = stateYes
	default:
		s.state, s.opposite = stateNo, false
	}
	return silent
}

// want asks for the option to be on or off.
func (s *side) want(on bool) reply {
	switch {
	case on && s.state == stateNo:
		s.state = stateWantYes
		return sayOn
	case !on && s.state == stateYes:
		s.state = stateWantNo
		return sayOff
	case s.state == stateWantNo:
		s.opposite = on
	case s.state == stateWantYes:
		s.opposite = !on
	}
	return silent
}

// options are the states of all options, ours and the peer's.
type options struct {
	us, him [256]side
}

// heard takes a WILL, WONT, DO or DONT and returns the command to answer with; 0 for none.
func (o *options) heard(command, option byte, accept bool) byte {
	if command == cmdWILL || command == cmdWONT {
		return [...]byte{silent: 0, sayOn: cmdDO, sayOff: cmdDONT}[o.him[option].heard(command == cmdWILL, accept)]
	}
	return ours(o.us[option].heard(command == cmdDO, accept))
}

// ours returns the command that says r about our own side.
func ours(r reply) byte { return [...]byte{silent: 0, sayOn: cmdWILL, sayOff: cmdWONT}[r] }

// on reports whether the side is in effect, not just asked for.
func (s *side) on() bool { return s.state == stateYes }
