package main

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestTranscriptFile(t *testing.T) {
	t.Parallel()
	if w := (&transcript{}).writer(""); w != nil {
		t.Errorf("without a name: %v, want nil, or the driver would write", w)
	}
	name := filepath.Join(t.TempDir(), "kept")
	kept := &transcript{}
	w := kept.writer(name)
	if _, err := os.Stat(name); !os.IsNotExist(err) {
		t.Errorf("before anything was said: %v", err)
	}
	for _, text := range []string{"< hello\n", "> joe\n"} {
		if n, err := w.Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
	defer kept.file.Close()
	got, err := os.ReadFile(name)
	if string(got) != "< hello\n> joe\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if info, err := os.Stat(name); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; only the owner may read what was typed", info.Mode(), err)
	}
}

func TestTranscriptReplacesAnOlderOne(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "kept")
	if err := os.WriteFile(name, []byte("an older and longer session"), 0o644); err != nil {
		t.Fatal(err)
	}
	kept := &transcript{name: name}
	if _, err := kept.Write([]byte("new")); err != nil {
		t.Fatal(err)
	}
	defer kept.file.Close()
	if got, err := os.ReadFile(name); string(got) != "new" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if info, err := os.Stat(name); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; only the owner may read what was typed", info.Mode(), err)
	}
}

func TestUnwritableTranscript(t *testing.T) {
	t.Parallel()
	kept := &transcript{name: filepath.Join(t.TempDir(), "missing", "kept")}
	if n, err := kept.Write([]byte("new")); n != 0 || !os.IsNotExist(err) {
		t.Errorf("%d, %v", n, err)
	}
}
