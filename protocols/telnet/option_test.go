package telnet

import "testing"

// TestQMethod checks the table of RFC 1143, section 7.
func TestQMethod(t *testing.T) {
	t.Parallel()
	no, yes := side{state: stateNo}, side{state: stateYes}
	wantNo, wantYes := side{state: stateWantNo}, side{state: stateWantYes}
	wantNoThenYes, wantYesThenNo := side{stateWantNo, true}, side{stateWantYes, true}
	on := func(s *side) reply { return s.process(true, true) }
	onRefused := func(s *side) reply { return s.process(true, false) }
	off := func(s *side) reply { return s.process(false, true) }
	enable := func(s *side) reply { return s.want(true) }
	disable := func(s *side) reply { return s.want(false) }
	tests := []struct {
		name   string
		before side
		event  func(*side) reply
		after  side
		reply  reply
	}{
		{"an offer", no, on, yes, replyOn},
		{"an offer that is refused", no, onRefused, no, replyOff},
		{"a refusal of a disabled option gets no reply", no, off, no, replyNone},
		{"an offer of an enabled option gets no reply", yes, on, yes, replyNone},
		{"nor refused", yes, onRefused, yes, replyNone},
		{"an end", yes, off, no, replyOff},
		{"the requested end", wantNo, off, no, replyNone},
		{"an end, and an offer as the reply", wantNo, on, no, replyNone},
		{"the end, and on again", wantNoThenYes, off, wantYes, replyOn},
		{"an end, and an accepted offer as the reply", wantNoThenYes, on, yes, replyNone},
		{"agreed", wantYes, on, yes, replyNone},
		{"refused", wantYes, off, no, replyNone},
		{"agreed, and off again", wantYesThenNo, on, wantNo, replyOff},
		{"refused, as is wanted by now", wantYesThenNo, off, no, replyNone},

		{"asking", no, enable, wantYes, replyOn},
		{"asking for what is on", yes, enable, yes, replyNone},
		{"asking during the end", wantNo, enable, wantNoThenYes, replyNone},
		{"asking during the asking", wantYes, enable, wantYes, replyNone},
		{"asking again after changing one's mind", wantYesThenNo, enable, wantYes, replyNone},
		{"ending what is off", no, disable, no, replyNone},
		{"ending", yes, disable, wantNo, replyOff},
		{"ending during the asking", wantYes, disable, wantYesThenNo, replyNone},
		{"ending again after changing one's mind", wantNoThenYes, disable, wantNo, replyNone},
		{"ending during the end", wantNo, disable, wantNo, replyNone},
	}
	for _, tt := range tests {
		s := tt.before
		if got := tt.event(&s); s != tt.after || got != tt.reply {
			t.Errorf("%s: from %v to %v, reply %d, want %v, %d", tt.name, tt.before, s, got, tt.after, tt.reply)
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
	if o.him[optEcho].on() || !o.us[optEcho].on() {
		t.Error("the sides are mixed up")
	}
}
