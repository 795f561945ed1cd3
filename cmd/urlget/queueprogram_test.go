package main

import "testing"

func TestIsQueueCommand(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want bool
	}{
		{nil, false},
		{[]string{"http://h/"}, false},
		{[]string{"ls", "submit"}, false},
		{[]string{"submit"}, true},
		{[]string{"queue", "status"}, true},
		{[]string{"__complete", "submit"}, false}, // completes the command name itself
		{[]string{"__complete", "submit", ""}, true},
		{[]string{"__completeNoDesc", "queue", "purge", ""}, true},
		{[]string{"__complete", "ls", "submit"}, false},
	} {
		if got := isQueueCommand(tt.args); got != tt.want {
			t.Errorf("%q: %t", tt.args, got)
		}
	}
}
