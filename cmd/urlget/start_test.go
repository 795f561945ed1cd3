package main

import (
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
	maxInitAllocs = 1210
	maxInitBytes  = 377_000
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
	cmd.Args[0] = "urlget" // the name that TestMain expects
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace strings.Builder
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	allocs, bytes, most := 0, 0, ""
	for line := range strings.Lines(trace.String()) {
		var name, at, took string
		var size, count int
		if n, _ := fmt.Sscanf(line, "init %s %s ms, %s ms clock, %d bytes, %d allocs",
			&name, &at, &took, &size, &count); n != 5 || !linked[name] {
			continue
		}
		allocs, bytes = allocs+count, bytes+size
		if size > 3000 || count > 20 {
			most += line
		}
	}
	t.Logf("%d allocations, %d bytes", allocs, bytes)
	if allocs == 0 || allocs > maxInitAllocs || bytes > maxInitBytes {
		t.Errorf("the packages allocate %d times and %d bytes, more than %d and %d; mostly\n%s",
			allocs, bytes, maxInitAllocs, maxInitBytes, most)
	}
}
