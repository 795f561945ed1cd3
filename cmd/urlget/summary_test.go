package main

import (
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch/job"
)

func TestSummary(t *testing.T) {
	t.Parallel()
	var one, many tally
	one.count(job.Saved, 10)
	if got := one.summary(time.Second, false, 2); got != "" {
		t.Errorf("of one: %q", got)
	}
	for range 3 {
		many.count(job.Saved, 1<<20)
	}
	many.count(job.Unchanged, 0)
	for range maxFailures + 2 {
		many.fail("http://h/\x1b")
	}
	got := many.summary(2*time.Second, false, 2)
	if want := "3 saved, 1 unchanged, 22 failed: 3.0 MiB in 2.00 s (1.5 MiB/s)\n  failed: http://h/\\x1b\n"; !strings.HasPrefix(got, want) {
		t.Errorf("got %q", got)
	}
	if !strings.HasSuffix(got, "\n  and 2 more\n") || strings.Count(got, "\n") != maxFailures+2 {
		t.Errorf("got %q", got)
	}
}
