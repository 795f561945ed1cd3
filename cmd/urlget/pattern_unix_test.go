//go:build unix

package main

import (
	"bufio"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
)

// endlessSite starts an FTP server with endless listings.
func endlessSite(t *testing.T) string {
	t.Helper()
	s := ftpd.Start(t, ftpd.Options{Tree: fstest.MapFS{"a.txt": {Data: []byte("a")}, "b.txt": {Data: []byte("b")}}})
	s.Arm(servers.Failure{Fault: servers.Endless, On: "MLSD", Times: -1})
	return "ftp://" + s.Addr + "/*.txt"
}

func TestLimitHoldsForPatterns(t *testing.T) {
	t.Parallel()
	cmd := urlget("-nc", "--max-size", "1M", endlessSite(t))
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != exitIncomplete {
		t.Errorf("%v: %.500s", err, out)
	}
}

// TestMatchesAreRetrievedAsTheyCome checks that matches of an endless listing are retrieved as they
// arrive. After an interruption, each active transfer is reported, and no queued one.
func TestMatchesAreRetrievedAsTheyCome(t *testing.T) {
	t.Parallel()
	for jobs, most := range map[string]int{"1": 1, "4": 4} {
		t.Run("-j "+jobs, func(t *testing.T) {
			t.Parallel()
			cmd := urlget("-nc", "-j", jobs, endlessSite(t))
			cmd.Dir = t.TempDir()
			stderr, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(stderr)
			for range 10 {
				if !lines.Scan() {
					t.Fatal("it ended")
				}
			}
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			told := 0
			for lines.Scan() {
				if strings.HasPrefix(lines.Text(), "interrupted ") {
					told++
				}
			}
			if err := cmd.Wait(); cmd.ProcessState.ExitCode() != exitInterrupted || told < 1 || told > most {
				t.Errorf("%v; told %d times that it was interrupted", err, told)
			}
		})
	}
}
