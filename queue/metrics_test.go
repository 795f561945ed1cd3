package queue

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
)

// The names of metrics and of their labels are a contract.
func TestMetricsText(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	m := &Metrics{}
	saved := &job.Result{Outcome: job.Saved, Elapsed: 1500 * time.Millisecond}
	lost := &job.Result{Outcome: job.Failed, Class: fetch.ErrNetwork, Elapsed: 250 * time.Millisecond}
	for range 2 {
		m.ended("https", saved)
		m.add(countTaken, 1)
	}
	m.ended("ftp", saved)
	m.ended("ftp", lost)
	m.retried("ftp", lost)
	m.countUnfollowed("scope")
	m.leaseWait(time.Second / 4)
	m.add(countBytes, 123456)
	m.add(countDead, 1)
	m.add(countDeferred, 3)
	m.add(countEngineErrors, 4)
	m.observe(3, 90500*time.Millisecond, nil)
	var b strings.Builder
	if err := m.WriteText(&b, &Status{Waiting: map[Priority]uint64{High: 1}, Taken: map[Priority]uint64{Low: 2}, Results: 3, Dead: 4, Bytes: 5, Missing: 1}); err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("metrics\n%swant\n%s", b.String(), want)
	}
	if m.Ended() != 4 {
		t.Errorf("%d jobs ended, want 4", m.Ended())
	}
	b.Reset()
	if err := (&Metrics{}).WriteText(&b, nil); err != nil || strings.Contains(b.String(), "links_left") || !strings.Contains(b.String(), "\nurlget_taken_total 0\n") {
		t.Errorf("metrics without counts:\n%s%v", b.String(), err)
	}
}
