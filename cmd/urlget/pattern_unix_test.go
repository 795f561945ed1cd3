//go:build unix

package main

import (
	"bufio"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
)

// endlessSite starts an FTP server with endless listings and returns the URL of all files.
func endlessSite(t *testing.T, tree fs.FS) string {
	t.Helper()
	s := ftpd.Start(t, ftpd.Options{Tree: tree})
	s.Arm(servers.Failure{Fault: servers.Endless, On: "MLSD", Times: -1})
	return "ftp://" + s.Addr + "/*.txt"
}

// A blockingTree is a tree in which the first read of b.txt closes reached, and all reads of b.txt
// wait until released is closed.
type blockingTree struct {
	fstest.MapFS
	reached, released chan struct{}
	once              sync.Once
}

func (t *blockingTree) Open(name string) (fs.File, error) {
	f, err := t.MapFS.Open(name)
	if err != nil || name != "b.txt" {
		return f, err
	}
	return &blockingFile{f, t}, nil
}

type blockingFile struct {
	fs.File
	tree *blockingTree
}

func (f *blockingFile) Read(p []byte) (int, error) {
	f.tree.once.Do(func() { close(f.tree.reached) })
	<-f.tree.released
	return f.File.Read(p)
}

var twoFiles = fstest.MapFS{"a.txt": {Data: []byte("a")}, "b.txt": {Data: []byte("b")}}

func TestLimitHoldsForPatterns(t *testing.T) {
	t.Parallel()
	cmd := urlget("-nc", "--max-size", "64K", endlessSite(t, twoFiles))
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != exitIncomplete {
		t.Errorf("%v: %.500s", err, out)
	}
}

// TestMatchesAreRetrievedAsTheyCome checks that matches of an endless listing are retrieved as they
// arrive. After an interruption, each active transfer of a file is reported, and no queued one.
func TestMatchesAreRetrievedAsTheyCome(t *testing.T) {
	t.Parallel()
	for jobs, most := range map[string]int{"1": 1, "4": 4} {
		t.Run("-j "+jobs, func(t *testing.T) {
			t.Parallel()
			tree := &blockingTree{MapFS: twoFiles, reached: make(chan struct{}), released: make(chan struct{})}
			cmd := urlget("-nc", "-j", jobs, endlessSite(t, tree))
			t.Cleanup(func() { close(tree.released) })
			cmd.Dir = t.TempDir()
			stderr, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(stderr)
			if !lines.Scan() {
				t.Fatal("it ended")
			}
			<-tree.reached
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			told := 0
			for lines.Scan() {
				if line := lines.Text(); strings.HasPrefix(line, "interrupted ") && !strings.HasSuffix(line, "/*.txt") {
					told++
				}
			}
			if err := cmd.Wait(); cmd.ProcessState.ExitCode() != exitInterrupted || told < 1 || told > most {
				t.Errorf("%v; told %d times that it was interrupted", err, told)
			}
		})
	}
}
