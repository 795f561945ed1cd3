package telnet

// options are the options in effect, on our side and on the peer's. The client never requests an
// option itself, so the states NO and YES of RFC 1143, section 7, suffice.
type options struct {
	us, him [256]bool
}

// process handles WILL, WONT, DO or DONT and returns the command to reply with, or 0. A command that
// asks for the present state gets no reply, which prevents loops (RFC 1143, section 2).
func (o *options) process(command, option byte, accept bool) byte {
	side, yes, no := &o.us[option], byte(cmdWILL), byte(cmdWONT)
	if command == cmdWILL || command == cmdWONT {
		side, yes, no = &o.him[option], cmdDO, cmdDONT
	}
	on := command == cmdWILL || command == cmdDO
	switch {
	case on == *side:
		return 0
	case on && !accept:
		return no
	case on:
		*side = true
		return yes
	}
	*side = false
	return no
}
