package main

import (
	"fmt"
	"os"
)

// A stage takes the place of a test for the servers: what they want to have cleaned up is cleaned
// up at the end, and their failures are the program's.
type stage struct {
	cleanups []func()
}

func (s *stage) Helper()          {}
func (s *stage) Cleanup(f func()) { s.cleanups = append(s.cleanups, f) }

func (s *stage) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, append([]any{"tour:"}, args...)...)
	s.tearDown()
	os.Exit(1)
}

func (s *stage) Fatalf(format string, args ...any) { s.Fatal(fmt.Sprintf(format, args...)) }

func (s *stage) Errorf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "tour: "+format+"\n", args...)
}

// tearDown stops all servers, the last first.
func (s *stage) tearDown() {
	for i := len(s.cleanups) - 1; i >= 0; i-- {
		s.cleanups[i]()
	}
	s.cleanups = nil
}
