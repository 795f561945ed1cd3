//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
	"github.com/urlget/urlget/queue/jetstream/embedded"
)

// TestAuditAfterPowerLoss damages the files of a server as a power failure does: the last writes that were
// not synced are missing, or a bit is wrong. The audit names exactly the jobs that are lost, and after one
// resubmission each job has a result.
func TestAuditAfterPowerLoss(t *testing.T) {
	t.Parallel()
	const jobs, finished = 600, 200
	for name, tt := range map[string]struct {
		damage func(t *testing.T, file string)
		loses  bool // jobs, and not only results or the removal of jobs
	}{
		"last writes are missing": {func(t *testing.T, file string) { cutOff(t, file, 4<<10) }, false},
		"most writes are missing": {func(t *testing.T, file string) { cutOff(t, file, 100<<10) }, true},
		"all is missing":          {func(t *testing.T, file string) { cutOff(t, file, 1<<30) }, true},
		"a bit is wrong":          {flipBit, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, name := t.TempDir(), filepath.Join(t.TempDir(), "receipt")
			server, e := startQueue(t, dir)
			f, err := os.Create(name)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			s := &submitter{app: &app{err: os.Stderr}, engine: e, priority: queue.Normal, receipt: f}
			submitNumbered(t, s, jobs)
			finish(t, e, finished)
			e.Close()
			server.Close()
			damageStreams(t, dir, tt.damage)

			server, e = startQueue(t, dir)
			defer server.Close()
			defer e.Close()
			flags := &auditFlags{receipt: name, priority: "normal"}
			submitted, err := (&app{}).auditedJobs(flags)
			if err != nil || len(submitted.list) != jobs {
				t.Fatalf("%v, %v", submitted, err)
			}
			there := known(t, e)
			var want []string
			for _, r := range submitted.list {
				if !there[r.ID] {
					want = append(want, r.ID)
				}
			}
			if (len(want) > 0) != tt.loses {
				t.Errorf("%d jobs were lost", len(want))
			}
			var out, log strings.Builder
			a := &app{out: &out, err: &log}
			var printed *printedError
			if err := a.audit(t.Context(), e, flags); errors.As(err, &printed) != tt.loses {
				t.Fatalf("error %v; %s", err, log.String())
			}
			var got []string
			for line := range strings.Lines(out.String()) {
				var r receipt
				if err := json.Unmarshal([]byte(line), &r); err != nil {
					t.Fatal(err)
				}
				got = append(got, r.ID)
			}
			if !slices.Equal(got, want) {
				t.Errorf("the audit names %d jobs, lost are %d", len(got), len(want))
			}
			if err := a.audit(t.Context(), e, &auditFlags{receipt: name, priority: "normal", resubmit: true}); err != nil {
				t.Fatal(err)
			}
			status, err := e.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			finish(t, e, int(status.Depth()))
			log.Reset()
			if err := a.audit(t.Context(), e, flags); err != nil || !strings.HasSuffix(log.String(), fmt.Sprintf("%d jobs: %[1]d finished, 0 unfinished, 0 lost\n", jobs)) {
				t.Errorf("after the resubmission of %d: %v, %s", len(want), err, log.String())
			}
		})
	}
}

// startQueue opens a queue on a server in dir.
func startQueue(t *testing.T, dir string) (*embedded.Server, *jetstream.Engine) {
	t.Helper()
	server, err := embedded.Start(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	e, err := jetstream.Open(t.Context(), jetstream.Options{InProcess: server, URL: server.URL(), AckWait: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return server, e
}

// finish takes n jobs and adds their results, as a worker does.
func finish(t *testing.T, e *jetstream.Engine, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for i := range n {
		d, err := e.Next(ctx)
		if err != nil {
			t.Fatalf("after %d of %d jobs: %v", i, n, err)
		}
		id, j, err := (queue.Stored{Data: d.Data()}).Job()
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(e.PutResult(t.Context(), id, []byte(`{"key":"`+queue.Key(j)+`"}`)), d.Ack(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
}

// known returns the IDs of jobs that the queue has or has a result of.
func known(t *testing.T, e *jetstream.Engine) map[string]bool {
	t.Helper()
	ids := make(map[string]bool)
	for m, err := range e.Jobs(t.Context(), queue.Normal) {
		if err != nil {
			t.Fatal(err)
		}
		id, _, err := m.Job()
		if err != nil {
			t.Fatal(err)
		}
		ids[id] = true
	}
	for m, err := range e.Results(t.Context(), 0, false) {
		if err != nil {
			t.Fatal(err)
		}
		ids[m.ID] = true
	}
	return ids
}

// damageStreams damages the messages of the streams of jobs and results. The server has no other summary
// of them, because it writes that when it ends.
func damageStreams(t *testing.T, dir string, damage func(*testing.T, string)) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		switch stream := filepath.Base(filepath.Dir(filepath.Dir(file))); {
		case err != nil || d.IsDir() || filepath.Base(filepath.Dir(file)) != "msgs":
		case filepath.Ext(file) != ".blk":
			return os.Remove(file)
		case strings.Contains(stream, "jobs-normal"), strings.Contains(stream, "results"):
			damage(t, file)
			n++
		}
		return err
	})
	if err != nil || n < 2 {
		t.Fatalf("%d files of messages, %v", n, err)
	}
}

// cutOff removes the last n bytes of a file.
func cutOff(t *testing.T, file string, n int64) {
	t.Helper()
	info, err := os.Stat(file)
	if err == nil {
		err = os.Truncate(file, max(info.Size()-n, 0))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// flipBit changes a bit in the middle of a file.
func flipBit(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		text[len(text)/2] ^= 4
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
