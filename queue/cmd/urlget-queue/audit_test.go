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

// TestAuditNamesExactlyTheLostJobs submits 3,000 jobs, of which the queue loses 100. One resubmission
// adds these and no other.
func TestAuditNamesExactlyTheLostJobs(t *testing.T) {
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
	submitNumbered(t, s, 3000)
	submitted, err := (&app{}).auditedJobs(&auditFlags{receipt: name, priority: "normal"})
	if err != nil || len(submitted.list) != 3000 {
		t.Fatalf("%v, %v", submitted, err)
	}
	if _, err := e.PurgeJobs(t.Context()); err != nil {
		t.Fatal(err)
	}
	finish := func(r receipt) {
		if err := e.PutResult(t.Context(), r.ID, []byte(`{"key":"`+r.Key+`"}`)); err != nil {
			t.Fatal(err)
		}
	}
	var want []string
	for i, r := range submitted.list {
		if i%30 == 7 {
			want = append(want, r.ID)
			continue
		}
		finish(r.receipt)
	}
	var out, log strings.Builder
	a := &app{out: &out, err: &log}
	var printed *printedError
	if err := a.audit(t.Context(), e, &auditFlags{receipt: name, priority: "normal"}); !errors.As(err, &printed) {
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
	if err := a.audit(t.Context(), e, &auditFlags{receipt: name, priority: "normal", resubmit: true}); err != nil {
		t.Fatal(err)
	}
	status, err := e.Status(t.Context())
	if err != nil || status.Depth() != 100 {
		t.Fatalf("%+v, %v", status, err)
	}
	for m, err := range e.Jobs(t.Context(), queue.Normal) {
		if err != nil {
			t.Fatal(err)
		}
		id, j, err := m.Job()
		if err != nil {
			t.Fatal(err)
		}
		finish(receipt{ID: id, Key: queue.Key(j)})
	}
	if err := a.audit(t.Context(), e, &auditFlags{receipt: name, priority: "normal"}); err != nil {
		t.Errorf("%v: %s", err, log.String())
	}
	if !strings.HasSuffix(log.String(), "3000 jobs: 3000 finished, 0 unfinished, 0 lost\n") {
		t.Errorf("%s", log.String())
	}
	out.Reset()
	finish(receipt{ID: strings.Repeat("0", 32), Key: submitted.list[5].Key}) // which has a result
	if err := a.audit(t.Context(), e, &auditFlags{receipt: name, priority: "normal"}); err != nil {
		t.Error(err)
	}
	if line := out.String(); strings.Count(line, "\n") != 1 || !strings.Contains(line, submitted.list[5].ID) || !strings.Contains(line, `"results":2`) {
		t.Errorf("a job with two results is printed as %q", line)
	}
	if !strings.HasSuffix(log.String(), "3000 jobs: 3000 finished, 0 unfinished, 0 lost, 1 with more results than receipts\n") {
		t.Errorf("%s", log.String())
	}
}

// TestSubmitWarnsOfOneServer submits to a queue of a server that is not embedded.
func TestSubmitWarnsOfOneServer(t *testing.T) {
	t.Parallel()
	server, err := embedded.Start(t.TempDir(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	for _, quiet := range []bool{false, true} {
		var log strings.Builder
		a := &app{out: &log, err: &log, in: strings.NewReader("")}
		cmd := a.submitCommand()
		cmd.SetArgs([]string{"--nats", server.URL(), fmt.Sprint("--quiet=", quiet), fmt.Sprint("http://h.example/", quiet)})
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(log.String(), "warning: "+oneServer); got == quiet {
			t.Errorf("quiet %v: %q", quiet, log.String())
		}
	}
}

// submitNumbered submits a list of n URLs.
func submitNumbered(t *testing.T, s *submitter, n int) {
	t.Helper()
	var list strings.Builder
	for i := range n {
		fmt.Fprintf(&list, "http://h.example/%d\n", i)
	}
	if err := s.takeAll(t.Context(), nil, "list", strings.NewReader(list.String())); err != nil {
		t.Fatal(err)
	}
}
