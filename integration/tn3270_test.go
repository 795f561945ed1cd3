//go:build integration

package integration

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/integration/lab"
	"github.com/urlget/urlget/protocols/telnet"
)

// herculesLogo is a line of the emulator's logo.
const herculesLogo = "HHH          HHH  EEEE R  R  CCC  UU  LLLL EEEE SSS\n"

func TestHercules(t *testing.T) {
	s := lab.Start(t, "hercules")
	c := dialSession(t, telnet.Options{}, "tn3270://"+s.Addr("plain"))
	c.expect("Hercules Version")
	c.expect(herculesLogo)
	if got := c.rw.(fetch.Terminal).Status(); !strings.Contains(got, "terminal type IBM-3278-2; client options: BINARY, TTYPE, EOR; server options: BINARY, EOR") {
		t.Error(got)
	}
}

func TestHerculesAtTerminal(t *testing.T) {
	s := lab.Start(t, "hercules")
	c := dialSession(t, telnet.Options{}, "tn3270://"+s.Addr("plain"))
	if err := c.rw.(fetch.Terminal).Resize(80, 24); err != nil {
		t.Fatal(err)
	}
	c.expect("\x1b[1;1H\x1b[K")
	c.expect("Hercules Version")
	c.expect("\x1b[22;1H")
}

// TestHerculesByCommand prints the screen without a terminal. The input is empty, and the command
// exits when the host sends nothing more.
func TestHerculesByCommand(t *testing.T) {
	s := lab.Start(t, "hercules")
	program := filepath.Join(t.TempDir(), "urlget")
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/urlget").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "-T", "3", "tn3270://"+s.Addr("plain"))
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	cmd.Stdin = strings.NewReader("")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), herculesLogo) || bytes.ContainsAny(out, "\x00\x1b") {
		t.Errorf("%v: %q\n%s", err, out, &stderr)
	}
}
