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
		{"an offer", no, on, yes, sayOn},
		{"an offer that is refused", no, onRefused, no, sayOff},
		{"a no to what is off is not answered", no, off, no, silent},
		{"an offer of what is on is not answered", yes, on, yes, silent},
		{"nor refused", yes, onRefused, yes, silent},
		{"an end", yes, off, no, sayOff},
		{"the end that was asked for", wantNo, off, no, silent},
		{"an end answered by an offer", wantNo, on, no, silent},
		{"the end, and on again", wantNoThenYes, off, wantYes, sayOn},
		{"an end answered by an offer, which is welcome", wantNoThenYes, on, yes, silent},
		{"agreed", wantYes, on, yes, silent},
		{"refused", wantYes, off, no, silent},
		{"agreed, and off again", wantYesThenNo, on, wantNo, sayOff},
		{"refused, as is wanted by now", wantYesThenNo, off, no, silent},

		{"asking", no, enable, wantYes, sayOn},
		{"asking for what is on", yes, enable, yes, silent},
		{"asking during the end", wantNo, enable, wantNoThenYes, silent},
		{"asking during the asking", wantYes, enable, wantYes, silent},
		{"asking again after changing one's mind", wantYesThenNo, enable, wantYes, silent},
		{"ending what is off", no, disable, no, silent},
		{"ending", yes, disable, wantNo, sayOff},
		{"ending during the asking", wantYes, disable, wantYesThenNo, silent},
		{"ending again after changing one's mind", wantNoThenYes, disable, wantNo, silent},
		{"ending during the end", wantNo, disable, wantNo, silent},
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
		command, answer byte
		accept          bool
	}{
		{cmdWILL, cmdDO, true}, {cmdDO, cmdWONT, false}, {cmdWILL, 0, true}, {cmdDO, cmdWONT, false},
		{cmdDONT, 0, true}, {cmdWONT, cmdDONT, true}, {cmdWONT, 0, true}, {cmdDO, cmdWILL, true},
	} {
		if got := o.process(step.command, optEcho, step.accept); got != step.answer {
			t.Errorf("%s ECHO: answer %d, want %d", commandName(step.command), got, step.answer)
		}
	}
	if o.him[optEcho].on() || !o.us[optEcho].on() {
		t.Error("the sides are mixed up")
	}
}
