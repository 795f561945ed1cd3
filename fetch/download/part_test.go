package download

import (
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// testDir opens a new directory.
func testDir(t *testing.T) directory {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	dir, err := openDir(root, ".")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return dir
}

// TestRecordsOfSegmentsAreFrequentAtFirst checks that a process that is killed soon and often still
// makes progress.
func TestRecordsOfSegmentsAreFrequentAtFirst(t *testing.T) {
	dir := testDir(t)
	synctest.Test(t, func(t *testing.T) {
		p := &part{dir: dir, names: namesFor("file.bin")}
		if err := p.create("", 0o600); err != nil {
			t.Fatal(err)
		}
		defer p.file.Close()
		start := time.Now()
		var records []time.Duration
		for time.Since(start) < 20*time.Second {
			time.Sleep(50 * time.Millisecond)
			if !p.recordDue() {
				continue
			}
			if err := p.save(&record{Missing: []span{{1, 2}}}); err != nil {
				t.Fatal(err)
			}
			records = append(records, time.Since(start))
		}
		if n := len(records); n < 8 || n > 12 || records[1] > 200*time.Millisecond {
			t.Errorf("records after %v", records)
		}
	})
}
