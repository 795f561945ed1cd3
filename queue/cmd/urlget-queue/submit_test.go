package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/queue"
)

// A fullEngine accepts a number of jobs. It responds only after so many of them have waited at once.
type fullEngine struct {
	queue.Engine // nil
	limit        int
	together     int

	mu            sync.Mutex
	waiting, jobs int
	enough        chan struct{}
}

func (e *fullEngine) State(context.Context) (queue.State, error) { return queue.Running, nil }

func (e *fullEngine) Limits() queue.Limits { return queue.Limits{Message: 1 << 20} }

func (e *fullEngine) Submit(ctx context.Context, _ queue.Priority, _ string, _ []byte) (bool, error) {
	e.mu.Lock()
	if e.waiting++; e.waiting == e.together {
		close(e.enough)
	}
	e.mu.Unlock()
	select {
	case <-e.enough:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.jobs == e.limit {
		return false, &fetch.Error{Code: fetch.ErrServer, Err: queue.ErrFull}
	}
	e.jobs++
	return false, nil
}

func TestSubmissionsWaitTogether(t *testing.T) {
	t.Parallel()
	var list strings.Builder
	for i := range 200 {
		fmt.Fprintf(&list, "http://h.example/%d\n", i)
		if i%100 == 5 {
			list.WriteString("no scheme\n")
		}
	}
	for _, limit := range []int{1000, 90} {
		t.Run(fmt.Sprint("room for ", limit), func(t *testing.T) {
			t.Parallel()
			receipts, err := openReceipts(filepath.Join(t.TempDir(), "receipts"))
			if err != nil {
				t.Fatal(err)
			}
			defer receipts.Close()
			var log bytes.Buffer
			e := &fullEngine{limit: limit, together: submitAtOnce - 1, enough: make(chan struct{})}
			s := &submitter{app: &app{err: &log}, engine: e, receipt: receipts}
			err = s.takeAll(t.Context(), []string{"http://h.example/argument"}, "list",
				strings.NewReader(list.String()))
			if full := limit == 90; errors.Is(err, queue.ErrFull) != full {
				t.Errorf("error %v", err)
			} else if text := "stopped after 90 URLs"; strings.Contains(log.String(), text) != full {
				t.Errorf("log %q, want %q: %v", log.String(), text, full)
			}
			if s.submitted != e.jobs || s.submitted != min(limit, 201) {
				t.Errorf("%d submitted, and the engine has %d jobs", s.submitted, e.jobs)
			}
			checkReceipts(t, receipts.Name(), s.submitted)
			if limit == 1000 && (s.refused != 2 || !strings.Contains(log.String(), "list:7:") ||
				strings.Index(log.String(), "list:7:") > strings.Index(log.String(), "list:108:")) {
				t.Errorf("%d refused: %s", s.refused, log.String())
			}
		})
	}
}

// checkReceipts checks that the receipts are in the order of the list.
func checkReceipts(t *testing.T, name string, n int) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != n {
		t.Errorf("%d receipts, want %d", len(lines), n)
	}
	last := 0
	for _, line := range lines[1:] {
		var number int
		_, rest, _ := strings.Cut(line, `"line":"list:`)
		if fmt.Sscan(strings.Split(rest, `"`)[0], &number); number <= last {
			t.Errorf("line %d after %d: %s", number, last, line)
		}
		last = number
	}
}
