package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetchtest/servers/csod"
)

func TestAMirrorWithoutFilesSaysSo(t *testing.T) {
	t.Parallel()
	s := csod.Start(t, csod.Options{Replies: map[string]string{"smith": "-200:1:name: joe smith\r\n-200:1:email: joe@example.org\r\n"}})
	dir := t.TempDir()
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	port := s.Addr[strings.LastIndex(s.Addr, ":")+1:]
	for flag, want := range map[string]bool{"-m": true, "--spider": false} {
		if err := out.Truncate(0); err != nil {
			t.Fatal(err)
		}
		status := execute(t.Context(), []string{"--no-config", flag, "-r", "-P", dir, "--allow-port", port, "cso://" + s.Addr + "/smith"}, stdio{in: out, out: out, err: out})
		text, err := os.ReadFile(out.Name())
		if err != nil || status != 0 || strings.Contains(string(text), "no files were saved: the listings lead to none") != want {
			t.Errorf("%s: status %d, %q, %v", flag, status, text, err)
		}
	}
}
