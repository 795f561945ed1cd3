package fetchtest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A recorder is a testing.TB that records failures.
type recorder struct {
	testing.TB
	ctx      context.Context
	mu       sync.Mutex
	text     strings.Builder
	failed   bool
	skipped  bool
	cleanups []func()
}

// record runs f with a recorder, as package testing does.
func record(t *testing.T, f func(*recorder)) *recorder {
	ctx, cancel := context.WithCancel(t.Context())
	r := &recorder{TB: t, ctx: ctx}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	cancel()
	for _, c := range slices.Backward(r.cleanups) {
		c()
	}
	return r
}

func (r *recorder) say(fail bool, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = r.failed || fail
	r.text.WriteString(strings.TrimSpace(text) + "\n")
}

// result returns the outcome of the test.
func (r *recorder) result() (failed, skipped bool, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed, r.skipped, r.text.String()
}

func (r *recorder) Helper()                           {}
func (r *recorder) Context() context.Context          { return r.ctx }
func (r *recorder) Log(args ...any)                   { r.say(false, fmt.Sprintln(args...)) }
func (r *recorder) Logf(format string, args ...any)   { r.say(false, fmt.Sprintf(format, args...)) }
func (r *recorder) Error(args ...any)                 { r.say(true, fmt.Sprintln(args...)) }
func (r *recorder) Errorf(format string, args ...any) { r.say(true, fmt.Sprintf(format, args...)) }

func (r *recorder) Fatal(args ...any) {
	r.Error(args...)
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Skip(args ...any) {
	r.Log(args...)
	r.mu.Lock()
	r.skipped = true
	r.mu.Unlock()
	runtime.Goexit()
}

func (r *recorder) Skipf(format string, args ...any) { r.Skip(fmt.Sprintf(format, args...)) }

func (r *recorder) Cleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, f)
}
