//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch/retry"
	browse "github.com/urlget/urlget/serve"
)

const queueLine = `{"time":"2026-11-28T03:00:00Z","state":"running","waiting":7,"taken":3,"results":5,"dead":1,"rate":2.5,"remaining":4,"later":{},` +
	`"workers":[{"name":"a","started":"2026-11-28T02:00:00Z","running":3,"ended":9,"rate":1.5,"later":1}]}`

// reports runs a shell script in place of the queue program, and returns its first n reports.
func reports(t *testing.T, n int, policy retry.Policy, patience time.Duration, script string) []string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var list []string
	reported, ended := make(chan string), make(chan struct{})
	go func() {
		defer close(ended)
		w := &queueWatcher{path: "/bin/sh", args: []string{"-c", script}, retry: policy, patience: patience}
		w.watch(ctx, func(s browse.QueueSample, err error) {
			text := fmt.Sprintf("%s %d %d %d %d", s.State, s.Waiting, s.Taken, s.Results, s.Dead)
			if err != nil {
				text = err.Error()
			} else if s.Rate != nil && len(s.Workers) > 0 {
				text += fmt.Sprintf(" %v %v %+v", *s.Rate, *s.Remaining, s.Workers[0])
			}
			select {
			case reported <- text:
			case <-ctx.Done():
			}
		})
	}()
	for range n {
		select {
		case text := <-reported:
			list = append(list, text)
		case <-time.After(waitLimit):
			t.Fatalf("only %q", list)
		}
	}
	cancel()
	<-ended
	return list
}

func TestQueueProgramIsReported(t *testing.T) {
	t.Parallel()
	never := retry.Policy{Wait: time.Hour, MaxWait: time.Hour, Jitter: retry.NoJitter}
	const sample = "running 7 3 5 1 2.5 4 {Name:a Started:2026-11-28 02:00:00 +0000 UTC Running:3 Ended:9 Rate:1.5}"
	rubbish := func(text string) string {
		return "urlget-queue printed a line that is not a sample of a queue: " + text
	}
	again := func(text string) string { return text + " (urlget-queue ended, and is started again after 1h0m0s)" }
	for _, tt := range []struct {
		name, script string
		want         []string
	}{
		{"a sample", "echo '" + queueLine + "'", []string{sample, again("exit status 0")}},
		{"a line without its end", "printf '%s' '" + queueLine + "'", []string{sample, again("exit status 0")}},
		{"a message", "echo 'urlget: no such crawl: none' >&2; exit 8", []string{"no such crawl: none", again("no such crawl: none")}},
		{"no message", "exit 3", []string{again("exit status 3")}},
		{"the last message", "echo one >&2; echo >&2; echo two >&2", []string{"one", "two", again("two")}},
		{"text", "echo hello; echo '" + queueLine + "'", []string{rubbish(`"hello"`), sample, again("exit status 0")}},
		{"other JSON", "echo '[]'; echo '{}'; echo '{\"time\":\"2026-11-28T03:00:00Z\"}'; echo '{\"waiting\":-1}'",
			[]string{rubbish(`"[]"`), rubbish(`"{}"`), rubbish(`"{\"time\":\"2026-11-28T03:00:00Z\"}"`), rubbish(`"{\"waiting\":-1}"`), again("exit status 0")}},
		{"a long line", "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo '" + queueLine + "'", []string{rubbish(`"` + strings.Repeat("x", 100) + `"`), sample, again("exit status 0")}},
		{"a long message", "head -c 3000000 /dev/zero | tr '\\0' x >&2", []string{strings.Repeat("x", maxQueueMessage), again(strings.Repeat("x", maxQueueMessage))}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := reports(t, len(tt.want), never, time.Hour, tt.script); strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
				t.Errorf("got:\n%.1000s\nwant:\n%.1000s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

func TestQueueProgramIsStartedAgain(t *testing.T) {
	t.Parallel()
	runs := filepath.Join(t.TempDir(), "runs")
	got := reports(t, 4, retry.Policy{Wait: time.Millisecond, MaxWait: 4 * time.Second, Jitter: retry.NoJitter}, time.Hour, "echo run >> '"+runs+"'; exit 1")
	for i, pause := range []string{"1ms", "2ms", "4ms", "8ms"} {
		if !strings.HasSuffix(got[i], "is started again after "+pause+")") {
			t.Errorf("after run %d: %s, want a pause of %s", i+1, got[i], pause)
		}
	}
	if text, err := os.ReadFile(runs); err != nil || strings.Count(string(text), "run") < 4 {
		t.Errorf("%q, %v", text, err)
	}
}

// TestQueueProgramIsStartedAgainIfItOnlyFails runs a program that never ends by itself, as queue watch
// does while the servers do not respond.
func TestQueueProgramIsStartedAgainIfItOnlyFails(t *testing.T) {
	t.Parallel()
	lasting := filepath.Join(t.TempDir(), "lasting")
	got := reports(t, 40, retry.Policy{Wait: time.Millisecond, MaxWait: time.Second, Jitter: retry.NoJitter}, 2*time.Second,
		"if [ -e '"+lasting+"' ]; then while :; do echo '"+queueLine+"'; sleep 0.01; done; fi\n> '"+lasting+"'; while :; do echo 'no response' >&2; sleep 0.2; done")
	if got[0] != "no response" || !strings.HasPrefix(got[39], "running 7 ") || !slices.Contains(got, "no response (urlget-queue ended, and is started again after 1ms)") {
		t.Errorf("reports: %q", got)
	}
}

// TestQueueProgramEndsWithTheServer ends watch while the program runs, also if it ignores SIGTERM.
func TestQueueProgramEndsWithTheServer(t *testing.T) {
	t.Parallel()
	for name, trap := range map[string]string{"in order": "", "by force": "trap '' TERM; "} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reports(t, 1, retry.Policy{}, time.Hour, trap+"echo '"+queueLine+"'; exec sleep 1000")
		})
	}
}
