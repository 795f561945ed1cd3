//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
	"github.com/urlget/urlget/queue/jetstream/embedded"
)

// TestAuditNamesExactlyTheJobsWithoutResult submits 3,000 jobs, of which 100 never get a result.
func TestAuditNamesExactlyTheJobsWithoutResult(t *testing.T) {
	t.Parallel()
	server, err := embedded.Start(t.TempDir(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	e, err := jetstream.Open(t.Context(), jetstream.Options{InProcess: server, URL: server.URL()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	name := filepath.Join(t.TempDir(), "receipt")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := &submitter{app: &app{err: os.Stderr}, engine: e, priority: queue.Normal, receipt: f}
	for i := range 3000 {
		if err := s.take(t.Context(), fmt.Sprintf("list:%d", i+1), fmt.Sprintf("http://h.example/%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	receipts, err := (&app{}).readReceipts(name)
	if err != nil || len(receipts) != 3000 {
		t.Fatalf("%d receipts, %v", len(receipts), err)
	}
	finish := func(r receipt) {
		if err := e.PutResult(t.Context(), r.ID, []byte(`{"key":"`+r.Key+`"}`)); err != nil {
			t.Fatal(err)
		}
	}
	var want []string
	for i, r := range receipts {
		if i%30 == 7 {
			want = append(want, r.ID)
			continue
		}
		finish(r)
	}
	var out, log strings.Builder
	a := &app{out: &out, err: &log}
	var printed *printedError
	if err := a.audit(t.Context(), e, name); !errors.As(err, &printed) {
		t.Errorf("error %v, want an exit status", err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d; %s", len(lines), len(want), log.String())
	}
	for i, id := range want {
		if !strings.Contains(lines[i], id) {
			t.Errorf("line %q, want ID %s", lines[i], id)
		}
	}
}
