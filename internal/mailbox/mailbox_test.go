package mailbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func text(id, more string) string {
	return "From: a@x\nMessage-ID: <" + id + ">\n" + more + "\nbody of " + id + "\n"
}

const fromLine = "From a@x Sat Jan  1 00:00:00 2000\n"

// write creates a file and returns its path.
func write(t testing.TB, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t testing.TB, m *Message) string {
	t.Helper()
	r, err := m.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// splitMbox returns the messages of an mbox.
func splitMbox(t testing.TB, mbox string) []string {
	t.Helper()
	var got []string
	scan(context.Background(), strings.NewReader(mbox), "", mboxFile, 0, func(m *Message, err error) bool {
		if err != nil {
			t.Fatal(err)
		}
		if m.Offset < 0 || m.Offset+m.Size > int64(len(mbox)) {
			t.Fatalf("message at %d, %d bytes, of %d", m.Offset, m.Size, len(mbox))
		}
		got = append(got, mbox[m.Offset:m.Offset+m.Size])
		return true
	})
	return got
}

func TestSplitMbox(t *testing.T) {
	t.Parallel()
	a, b := text("a@x", ""), text("b@x", "")
	for name, c := range map[string]struct {
		mbox string
		want []string
	}{
		"empty":                  {"", nil},
		"no From_ line":          {a, nil},
		"one":                    {fromLine + a, []string{a}},
		"two":                    {fromLine + a + "\n" + fromLine + b + "\n", []string{a, b}},
		"no empty line between":  {fromLine + a + fromLine + b, []string{a + fromLine + b}},
		"From within a line":     {fromLine + a + " From x\n>From y\nxFrom z\n", []string{a + " From x\n>From y\nxFrom z\n"}},
		"CR LF":                  {strings.ReplaceAll(fromLine+a+"\n"+fromLine+b, "\n", "\r\n"), []string{strings.ReplaceAll(a, "\n", "\r\n"), strings.ReplaceAll(b, "\n", "\r\n")}},
		"no line end at the end": {fromLine + "A: b\n\nx", []string{"A: b\n\nx"}},
		"header only":            {fromLine + "A: b\n", []string{"A: b\n"}},
		"header and empty line":  {fromLine + "A: b\n\n" + fromLine + "C: d\n\n", []string{"A: b\n\n", "C: d\n\n"}},
		"long From_ line":        {"From " + strings.Repeat("x", 200_000) + "\n" + a, []string{a}},
		"long line":              {fromLine + "A: b\n\n" + strings.Repeat("x", 200_000) + "\n", []string{"A: b\n\n" + strings.Repeat("x", 200_000) + "\n"}},
		"junk before":            {"junk\n\n" + fromLine + a, []string{a}},
		"cut off":                {fromLine + a + "\nFrom", []string{a + "\nFrom"}},
	} {
		if got := splitMbox(t, c.mbox); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %.300q, want %.300q", name, got, c.want)
		}
	}
}

func FuzzSplitting(f *testing.F) {
	f.Add(fromLine + text("a@x", "") + "\n" + fromLine + text("b@x", "Content-ID:\n <c@d>\n"))
	f.Add("From \nFrom \n\nFrom \n\n\n\nFrom x")
	f.Fuzz(func(t *testing.T, mbox string) {
		total := 0
		for _, m := range splitMbox(t, mbox) {
			total += len(m)
		}
		if total > len(mbox) {
			t.Errorf("%d bytes in the messages of an mbox of %d", total, len(mbox))
		}
	})
}

// boxes returns an mbox of n messages and a Maildir of three.
func boxes(t testing.TB, cache string, n int) *Boxes {
	t.Helper()
	dir := t.TempDir()
	var mbox strings.Builder
	for i := range n {
		mbox.WriteString(fromLine + text(fmt.Sprintf("%d@mbox", i), fmt.Sprintf("\n--b\nContent-ID: <part%d@mbox>\n", i)) + "\n")
	}
	maildir := filepath.Join(dir, "Maildir")
	write(t, filepath.Join(maildir, "new", "1.host"), text("new@maildir", ""))
	write(t, filepath.Join(maildir, "cur", "2.host:2,S"), text("cur@maildir", "\n--b\ncontent-id:\n\t<folded@maildir>\n"))
	write(t, filepath.Join(maildir, ".Sub", "cur", "3.host:2,S"), text("sub@maildir", ""))
	return &Boxes{Paths: []string{write(t, filepath.Join(dir, "mbox"), mbox.String()), maildir}, Cache: cache}
}

func TestFind(t *testing.T) {
	t.Parallel()
	for _, cache := range []string{"", t.TempDir()} {
		b := boxes(t, cache, 50)
		for range 2 { // without and with the index
			for _, id := range []string{"0@mbox", "33@mbox", "49@mbox", "new@maildir", "cur@maildir", "sub@maildir"} {
				m, err := b.Find(t.Context(), id)
				if err != nil {
					t.Fatalf("%s: %v", id, err)
				}
				if got := read(t, m); !strings.Contains(got, "<"+id+">") || !strings.HasPrefix(got, "From: ") || !strings.HasSuffix(got, "body of "+id+"\n") {
					t.Errorf("%s: got %q", id, got)
				}
			}
			for _, id := range []string{"part7@mbox", "folded@maildir"} {
				if m, err := b.FindPart(t.Context(), id); err != nil || !strings.Contains(read(t, m), "<"+id+">") {
					t.Errorf("%s: %v, %v", id, m, err)
				}
			}
			for _, id := range []string{"none@mbox", "part7@mbox", ""} {
				if m, err := b.Find(t.Context(), id); !errors.Is(err, ErrNotFound) {
					t.Errorf("%s: %v, %v", id, m, err)
				}
			}
		}
	}
}

func TestChangedMailboxIsReindexed(t *testing.T) {
	t.Parallel()
	b := boxes(t, t.TempDir(), 3)
	mbox, maildir := b.Paths[0], b.Paths[1]
	if _, err := b.Find(t.Context(), "1@mbox"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(mbox)
	if err != nil {
		t.Fatal(err)
	}
	// The file has new content with the same size and time, so the index entry must be checked.
	content, _ := os.ReadFile(mbox)
	write(t, mbox, strings.NewReplacer("0@mbox", "1@mbox", "1@mbox", "0@mbox").Replace(string(content)))
	if err := os.Chtimes(mbox, time.Time{}, info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if m, err := b.Find(t.Context(), "1@mbox"); err != nil || m.Offset != int64(len(fromLine)) {
		t.Errorf("swapped: %v, %v", m, err)
	}
	write(t, mbox, string(content)+fromLine+text("late@mbox", ""))
	write(t, filepath.Join(maildir, "new", "4.host"), text("late@maildir", ""))
	for _, id := range []string{"late@mbox", "late@maildir", "1@mbox"} {
		if _, err := b.Find(t.Context(), id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	if err := os.Remove(filepath.Join(maildir, "new", "4.host")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Find(t.Context(), "late@maildir"); !errors.Is(err, ErrNotFound) {
		t.Errorf("removed: %v", err)
	}
}

func TestMailboxIsNotModified(t *testing.T) {
	t.Parallel()
	b := boxes(t, t.TempDir(), 3)
	list := func() (names []string) {
		filepath.WalkDir(filepath.Dir(b.Paths[0]), func(path string, _ os.DirEntry, err error) error {
			names = append(names, path)
			return err
		})
		return names
	}
	before := list()
	if _, err := b.Find(t.Context(), "sub@maildir"); err != nil {
		t.Fatal(err)
	}
	if after := list(); !slices.Equal(before, after) {
		t.Errorf("before %q, after %q", before, after)
	}
}

func TestInvalidMailboxes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := &Boxes{Paths: []string{filepath.Join(dir, "missing"), dir, write(t, filepath.Join(dir, "mbox"), fromLine+text("a@x", ""))}}
	if _, err := b.Find(t.Context(), "a@x"); err != nil {
		t.Errorf("the good one was not searched: %v", err)
	}
	_, err := b.Find(t.Context(), "b@x")
	if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "missing") || !strings.Contains(err.Error(), "not a Maildir") {
		t.Errorf("got %v", err)
	}
	n, failed := 0, 0
	for m, err := range b.All(t.Context()) {
		if err != nil {
			failed++
		} else if m.Size > 0 {
			n++
		}
	}
	if n != 1 || failed != 2 {
		t.Errorf("%d messages, %d errors", n, failed)
	}
}

func TestCancelledScan(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := boxes(t, "", 3).Find(ctx, "2@mbox"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestDamagedIndexIsRecreated overwrites parts of the index in many ways. Damage must not cause a
// panic or change the results.
func TestDamagedIndexIsRecreated(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	b := boxes(t, cache, 50)
	file := filepath.Join(cache, "mailbox.db")
	if _, err := b.Find(t.Context(), "33@mbox"); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	damages := [][]byte{nil, []byte("short"), good[:len(good)/2], make([]byte, len(good))}
	for range 20 {
		bad := bytes.Clone(good)
		at := random.IntN(len(bad))
		for i := range min(1+random.IntN(4096), len(bad)-at) {
			bad[at+i] ^= byte(1 + random.IntN(255))
		}
		damages = append(damages, bad)
	}
	for i, bad := range damages {
		if err := os.WriteFile(file, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if m, err := b.Find(t.Context(), "33@mbox"); err != nil || !strings.Contains(read(t, m), "<33@mbox>") {
				t.Fatalf("damage %d: %v, %v", i, m, err)
			}
		}
	}
	// An index that was not closed is also recreated.
	if err := os.Remove(file + ".sha256"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, make([]byte, len(good)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Find(t.Context(), "33@mbox"); err != nil {
		t.Error(err)
	}
}
