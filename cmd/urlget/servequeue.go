package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/urlget/urlget/fetch/retry"
	browse "github.com/urlget/urlget/serve"
)

const (
	// maxQueueLine limits a line of the queue program, in bytes. A sample has about 150 bytes for
	// each worker.
	maxQueueLine = 1 << 20
	// maxQueueMessage limits a line of its messages, in bytes.
	maxQueueMessage = 4 << 10
	// queueGrace is the time that the queue program has to end after a signal. It is less than grace.
	queueGrace = 500 * time.Millisecond
	// queuePatience is how long the queue program may print messages and no sample. After that, it is
	// started again, because an embedded server that was restarted may have another port.
	queuePatience = 30 * time.Second
)

// queueRetry is the pause before the queue program is started again.
var queueRetry = retry.Policy{Wait: time.Second, MaxWait: 30 * time.Second, Jitter: retry.NoJitter}

// A queueWatcher runs the queue program for the page of a queue.
type queueWatcher struct {
	path     string
	args     []string
	retry    retry.Policy
	patience time.Duration
}

func newQueueWatcher(flags []string) (*queueWatcher, error) {
	path, err := findQueueProgram("serve --queue")
	if err != nil {
		return nil, err
	}
	return &queueWatcher{path, append([]string{"queue", "watch", "--json"}, flags...), queueRetry,
		queuePatience}, nil
}

// watch runs the queue program until ctx ends, and starts it again when it ends. It reports each
// sample, each message and each end of the program.
func (w *queueWatcher) watch(ctx context.Context, report func(browse.QueueSample, error)) {
	for failed := 1; ; failed++ {
		started := time.Now()
		err := w.run(ctx, report)
		if ctx.Err() != nil {
			return
		}
		if time.Since(started) > w.retry.MaxWait {
			failed = 1
		}
		pause := w.retry.Pause(failed, 0, nil)
		report(browse.QueueSample{},
			fmt.Errorf("%w (%s ended, and is started again after %v)", err, queueProgram, pause))
		if retry.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// run runs the queue program once. The error is its last message or, without one, its exit status.
func (w *queueWatcher) run(ctx context.Context, report func(browse.QueueSample, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex     // samples and messages come from two goroutines
	var failing time.Time // the first failure since the last sample
	note := func(s browse.QueueSample, err error) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			failing = time.Time{}
		case failing.IsZero():
			failing = time.Now()
		case time.Since(failing) > w.patience:
			cancel()
		}
		report(s, err)
	}
	cmd := exec.CommandContext(ctx, w.path, w.args...)
	// an error on Windows, and WaitDelay kills it
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = queueGrace
	last := ""
	samples := &lineWriter{max: maxQueueLine, line: func(line []byte) { note(parseSample(line)) }}
	messages := &lineWriter{max: maxQueueMessage, line: func(line []byte) {
		last = strings.TrimPrefix(string(line), "urlget: ")
		note(browse.QueueSample{}, errors.New(last))
	}}
	cmd.Stdout, cmd.Stderr = samples, messages
	err := cmd.Run()
	samples.end()
	messages.end()
	switch {
	case last != "":
		return errors.New(last)
	case err != nil:
		return err
	}
	return errors.New("exit status 0")
}

// parseSample parses a line of queue watch --json. Fields of later versions are ignored.
func parseSample(line []byte) (browse.QueueSample, error) {
	var s browse.QueueSample
	if err := json.Unmarshal(line, &s); err != nil || s.Time.IsZero() || s.State == "" {
		return browse.QueueSample{}, fmt.Errorf("%s printed a line that is not a sample of a queue: %.100q",
			queueProgram, line)
	}
	return s, nil
}

// A lineWriter calls line for each line that is written to it and is not blank, without the blanks
// around it. A line longer than max bytes is cut.
type lineWriter struct {
	max  int
	line func([]byte)
	part []byte // of the current line
}

func (w *lineWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		w.part = append(w.part, line[:min(len(line), w.max-len(w.part))]...)
		if ended {
			w.end()
		}
		p = rest
	}
	return n, nil
}

func (w *lineWriter) end() {
	if line := bytes.TrimSpace(w.part); len(line) > 0 {
		w.line(line)
	}
	w.part = w.part[:0]
}
