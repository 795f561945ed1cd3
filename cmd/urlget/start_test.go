package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Each start initializes the packages of all schemes and commands, before the command line is known.
// Raise a limit only for a reason that each start is worth. They are a tenth above what was measured, because
// builds with cgo or the race detector allocate more.
const (
	maxInitAllocs = 1080
	maxInitBytes  = 236_000
	// maxCommandAllocs limits what the command allocates after that, until it has run --version.
	maxCommandAllocs = 930
)

func TestStartInitializesLittle(t *testing.T) {
	t.Parallel()
	list, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := map[string]bool{} // the others are those of the tests
	for name := range strings.FieldsSeq(string(list)) {
		linked[name] = !strings.HasSuffix(name, "/cmd/urlget") // which has the variables of its tests here
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "--version")
	cmd.Args[0] = countedName
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace strings.Builder
	cmd.Stderr = &trace
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var command int // all allocations, and at the end those after the initialization
	if _, err := fmt.Sscan(string(out[bytes.LastIndexByte(bytes.TrimSpace(out), '\n')+1:]), &command); err != nil {
		t.Fatal(err)
	}
	allocs, size, most := 0, 0, ""
	for line := range strings.Lines(trace.String()) {
		var name, at, took string
		var own, count int
		if n, _ := fmt.Sscanf(line, "init %s %s ms, %s ms clock, %d bytes, %d allocs",
			&name, &at, &took, &own, &count); n != 5 {
			continue
		}
		if command -= count; !linked[name] {
			continue
		}
		allocs, size = allocs+count, size+own
		if own > 3000 || count > 20 {
			most += line
		}
	}
	t.Logf("%d allocations, %d bytes; %d allocations of the command", allocs, size, command)
	if allocs == 0 || allocs > maxInitAllocs || size > maxInitBytes {
		t.Errorf("the packages allocate %d times and %d bytes, more than %d and %d; mostly\n%s",
			allocs, size, maxInitAllocs, maxInitBytes, most)
	}
	if command > maxCommandAllocs {
		t.Errorf("the command allocates %d times for --version, more than %d", command, maxCommandAllocs)
	}
}
