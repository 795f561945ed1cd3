package main

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/urlget/urlget/cmd/urlget/internal/tty"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
)

const maxFailures = 20

// A tally counts the outcomes of the transfers of a run. It is safe for concurrent use.
type tally struct {
	mu       sync.Mutex
	outcomes map[job.Outcome]int
	bytes    int64 // transferred
	failures []string
	kept     atomic.Bool // an interrupted transfer can be resumed
}

func (t *tally) count(o job.Outcome, bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.outcomes == nil {
		t.outcomes = make(map[job.Outcome]int)
	}
	t.outcomes[o]++
	t.bytes += bytes
}

// addBytes counts the bytes of failed transfers.
func (t *tally) addBytes(n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes += n
}

// fail counts a failure. subject is the redacted URL as the user gave it.
func (t *tally) fail(subject string) {
	t.count(job.Failed, 0)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.failures) < maxFailures {
		t.failures = append(t.failures, subject)
	}
}

// savesAll reports whether files were saved, and no listing was printed.
func (t *tally) savesAll() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.outcomes[job.Saved] > 0 && t.outcomes[job.Listed] == 0
}

// interrupted is the outcome of a transfer that the user interrupted. It is not a failure.
const interrupted job.Outcome = "interrupted"

// locked is the outcome of a URL whose line in a lock file is written.
const locked job.Outcome = "locked"

// summary returns the summary of the transfers, which took the given time, or "" if there were fewer
// than least.
func (t *tally) summary(took time.Duration, paint tty.Painter, least int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var words []string
	sum := 0
	for _, o := range []job.Outcome{job.Saved, locked, job.Unchanged, job.Skipped, job.Listed, job.NoContent,
		job.Failed, interrupted} {
		n := t.outcomes[o]
		if n == 0 {
			continue
		}
		sum += n
		word := fmt.Sprintf("%d %s", n, strings.ReplaceAll(string(o), "_", " "))
		if o == job.Failed {
			word = paint.Bad(word)
		}
		words = append(words, word)
	}
	if sum < least {
		return ""
	}
	text := fmt.Sprintf("%s: %s in %.2f s", strings.Join(words, ", "), tty.SizeWord(float64(t.bytes)),
		took.Seconds())
	if t.bytes >= 1024 && took > 0 {
		text += fmt.Sprintf(" (%s/s)", tty.SizeWord(float64(t.bytes)/took.Seconds()))
	}
	text += "\n"
	for _, url := range t.failures {
		text += "  failed: " + fetch.Printable(url) + "\n"
	}
	if more := t.outcomes[job.Failed] - len(t.failures); more > 0 {
		text += fmt.Sprintf("  and %d more\n", more)
	}
	return text
}

func (r *reporter) sayProof(name string, res *job.Result) {
	r.say("%s: %s", name, proofText(res.Proof))
	if res.FramedByClose {
		r.say("%s: the server marked the end only by closing the connection; a part of it would look the "+
			"same", name)
	}
}

func proofText(proof *fetch.Digest) string {
	if proof == nil {
		return "not verified: no digest is known"
	}
	return fmt.Sprintf("verified: %s (%s)", proof, proof.By)
}

func rateText(res *job.Result) string {
	if res.Received < 1024 || res.Elapsed <= 0 {
		return ""
	}
	return ", " + tty.SizeWord(float64(res.Received)/res.Elapsed.Seconds()) + "/s"
}

func (r *reporter) digestText(res *job.Result) string {
	if !r.opts.Output.SHA256 {
		return ""
	}
	return ", sha256:" + res.SHA256
}

func sizeText(n int64) string { return quantity(n, "byte") }

// quantity formats a number with a noun, whose plural ends in "s".
func quantity[T int | int64 | uint64](n T, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
