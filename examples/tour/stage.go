package main

import (
	"fmt"
	"os"
)

// A stage replaces a test for the servers. It runs their cleanups at the end and reports their
// failures as the program's.
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

// tearDown stops all servers in reverse order.
func (s *stage) tearDown() {
	for i := len(s.cleanups) - 1; i >= 0; i-- {
		s.cleanups[i]()
	}
	s.cleanups = nil
}
