package telnet

import "testing"

// TestOffersAndEnds checks the rows of RFC 1143, section 7, for commands that the client did not
// request.
func TestOffersAndEnds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name           string
		before         bool
		command        byte
		accept         bool
		after          bool
		reply, asReply byte // to commands about the peer's side, and about ours
	}{
		{"an offer", false, cmdWILL, true, true, cmdDO, cmdWILL},
		{"an offer that is refused", false, cmdWILL, false, false, cmdDONT, cmdWONT},
		{"a refusal of a disabled option gets no reply", false, cmdWONT, true, false, 0, 0},
		{"an offer of an enabled option gets no reply", true, cmdWILL, true, true, 0, 0},
		{"nor refused", true, cmdWILL, false, true, 0, 0},
		{"an end", true, cmdWONT, true, false, cmdDONT, cmdWONT},
	}
	for _, tt := range tests {
		var o options
		o.him[optEcho], o.us[optEcho] = tt.before, tt.before
		if got := o.process(tt.command, optEcho, tt.accept); o.him[optEcho] != tt.after || got != tt.reply {
			t.Errorf("%s: from %t to %t, reply %d, want %t, %d", tt.name, tt.before, o.him[optEcho], got, tt.after, tt.reply)
		}
		ours := tt.command + cmdDO - cmdWILL // DO for WILL, DONT for WONT
		if got := o.process(ours, optEcho, tt.accept); o.us[optEcho] != tt.after || got != tt.asReply {
			t.Errorf("%s: our side from %t to %t, reply %d, want %t, %d", tt.name, tt.before, o.us[optEcho], got, tt.after, tt.asReply)
		}
	}
}

func TestSidesAreSeparate(t *testing.T) {
	t.Parallel()
	var o options
	for _, step := range []struct {
		command, reply byte
		accept         bool
	}{
		{cmdWILL, cmdDO, true}, {cmdDO, cmdWONT, false}, {cmdWILL, 0, true}, {cmdDO, cmdWONT, false},
		{cmdDONT, 0, true}, {cmdWONT, cmdDONT, true}, {cmdWONT, 0, true}, {cmdDO, cmdWILL, true},
	} {
		if got := o.process(step.command, optEcho, step.accept); got != step.reply {
			t.Errorf("%s ECHO: reply %d, want %d", commandName(step.command), got, step.reply)
		}
	}
	if o.him[optEcho] || !o.us[optEcho] {
		t.Error("the sides are mixed up")
	}
}
