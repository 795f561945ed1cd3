//go:build unix

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestBarAndMessages(t *testing.T) {
	t.Parallel()
	site := newSite()
	t.Cleanup(site.Close)
	s := start(t, urlget("--limit-rate", "100k", "-O", "x", site.URL+"/big"))
	s.expect("x [")
	s.expect("%  ")
	s.expect(" of 97.7 KiB")
	s.expect("saved x (100000 bytes in ")
	s.expect("KiB/s)")
	s.exit(0)
}

// TestProgressAdaptsToTheTerminal resizes the terminal during a stalled transfer.
func TestProgressAdaptsToTheTerminal(t *testing.T) {
	t.Parallel()
	site := newSite()
	t.Cleanup(site.CloseClientConnections)
	s := start(t, urlget(site.URL+"/stall"))
	s.expect("stall [")
	s.expect("97.7 of 976.6 KiB")
	s.resize(200)
	s.expect(strings.Repeat(" ", 110))
	s.expect("]  10%  97.7 of 976.6 KiB")
	s.resize(40)
	s.expect("\r\x1b[5A\x1b[J") // the terminal wrapped the line of 200 columns
	s.expect("stall [")
	s.expect("]  10%  ")
	s.enter("\x03")
	s.expect("interrupted")
	s.exit(130)
}

func TestUnknownSizesMove(t *testing.T) {
	t.Parallel()
	site := newSite()
	t.Cleanup(site.CloseClientConnections)
	s := start(t, urlget(site.URL+"/endless"))
	s.expect("endless [")
	s.expect("<=>")
	s.expect(" s\r\n")
	s.expect("<=>")
	s.enter("\x03")
	s.expect("interrupted")
	s.exit(130)
}

func TestWaitingIsShown(t *testing.T) {
	t.Parallel()
	site := newSite()
	t.Cleanup(site.CloseClientConnections)
	s := start(t, urlget(site.URL+"/hang"))
	s.expect("hang waiting")
	s.enter("\x03")
	s.expect("interrupted")
	s.exit(130)

	s = start(t, urlget(site.URL+"/wait30"))
	s.expect("wait30 retrying in ")
	s.expect("(server busy")
	s.enter("\x03")
	s.expect("interrupted")
	s.exit(130)
}

func TestSeveralTransfersHaveATotal(t *testing.T) {
	t.Parallel()
	site := newSite()
	t.Cleanup(site.CloseClientConnections)
	s := start(t, urlget("-j", "1", site.URL+"/hello.txt", site.URL+"/nowhere", site.URL+"/stall"))
	s.expect("saved hello.txt")
	s.expect("nowhere: not found")
	s.expect("stall [")
	s.expect("2 of 3 · 97.7 of 976.6 KiB · ")
	s.enter("\x03")
	s.expect("interrupted")
	s.expect("1 saved, 1 failed, 1 interrupted: 97.7 KiB in ")
	s.expect("  failed: " + site.URL + "/nowhere")
	s.exit(8)
}

func TestTreesHaveATotal(t *testing.T) {
	t.Parallel()
	site := newSite()
	t.Cleanup(site.CloseClientConnections)
	s := start(t, urlget("-j", "1", "-r", "-nH", site.URL+"/stalling/"))
	s.expect("saved stalling/index.html")
	s.expect("saved hello.txt")
	s.expect("/nowhere")
	s.expect("stall [")
	s.expect("2 done · 1 queued · 1 failed · 97.8 KiB · ")
	s.expect("/s · 127.0.0.1\r\n")
	s.enter("\x03")
	s.expect("2 saved, 1 failed: 97.8 KiB in ")
	s.expect("run the same command again to resume")
	s.expect("interrupted")
	s.exit(8)

	s = start(t, urlget("-m", site.URL+"/wait30"))
	s.expect("wait30 retrying in ")
	s.expect("0 done · 0 queued · ")
	s.enter("\x03")
	s.expect("interrupted")
	s.exit(130)
}

func TestNothingIsDrawnInTheBackground(t *testing.T) {
	t.Parallel()
	site := newSite()
	t.Cleanup(site.Close)
	s := start(t, exec.Command("sh", "-c", "set -m; urlget --limit-rate 100k "+site.URL+"/big & wait; echo over"))
	s.expectAll("over", func(text string) {
		if !strings.Contains(text, "saved big") || strings.Contains(text, "\x1b") {
			t.Errorf("%q", text)
		}
	})
	s.exit(0)
}

func TestColor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args, env string
		want      bool
	}{
		{"", "NO_COLOR=", true}, {"", "NO_COLOR=1", false}, {"--color=never", "NO_COLOR=", false}, {"--color=always", "NO_COLOR=1", true},
	} {
		cmd := exec.Command("sh", "-c", tt.env+" urlget "+tt.args+" http://h:99999/; echo over")
		start(t, cmd).expectAll("over", func(text string) {
			if got := strings.Contains(text, "\x1b["); got != tt.want {
				t.Errorf("%s %s: %q", tt.env, tt.args, text)
			}
		})
	}
	out, err := exec.Command("urlget", "http://h:99999/").CombinedOutput()
	if err == nil || strings.Contains(string(out), "\x1b") {
		t.Errorf("without a terminal: %q, %v", out, err)
	}
}

func TestProgressModes(t *testing.T) {
	t.Parallel()
	site := newSite()
	t.Cleanup(site.Close)
	cmd := urlget("--progress=none", "--limit-rate", "200k", site.URL+"/big")
	start(t, cmd).expectAll("saved big", func(text string) {
		if strings.Contains(text, "[") {
			t.Errorf("%q", text)
		}
	})
	if _, err := os.Stat(cmd.Dir + "/big"); err != nil {
		t.Error(err)
	}
}

// TestDumbTerminalGetsNoEscapeSequences sets TERM=dumb, as editors do: such a terminal cannot erase
// output.
func TestDumbTerminalGetsNoEscapeSequences(t *testing.T) {
	t.Parallel()
	site := newSite()
	t.Cleanup(site.Close)
	cmd := exec.Command("sh", "-c", "TERM=dumb urlget --limit-rate 200k "+site.URL+"/big")
	start(t, cmd).expectAll("saved big", func(text string) {
		if strings.Contains(text, "\x1b") || strings.Contains(text, "[") {
			t.Errorf("%q", text)
		}
	})
}
