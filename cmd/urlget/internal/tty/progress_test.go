package tty

import (
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgressLines(t *testing.T) {
	t.Parallel()
	now := time.Now()
	began := now.Add(-65 * time.Second)
	known := Transfer{name: "large.iso", began: began, done: 13 << 20, total: 96 << 20, rate: meter{perSecond: 8.1 * (1 << 20)}}
	unknown := Transfer{name: "stream", began: began, done: 13 << 20, total: -1, rate: meter{perSecond: 1024}}
	wide := Transfer{name: "日本語のとても長い名前のファイル.tar.gz", began: began, done: 1, total: 2}
	tests := []struct {
		of    Transfer
		width int
		want  string
	}{
		{known, 79, "large.iso [==>                     ]  13%  13.0 of 96 MiB  8.1 MiB/s  10 s left"},
		{known, 39, "large.iso [>          ]  13%  8.1 MiB/s"},
		{known, 20, "larg…iso [    ]  13%"},
		{unknown, 79, "stream [                         <=>          ] 13.0 MiB  1.0 KiB/s  1 min 05 s"},
		{unknown, 39, "stream [   <=>    ] 13.0 MiB  1.0 KiB/s"},
		{wide, 39, "日本語の…r.gz [====>      ]  50%  0 B/s"},
		{Transfer{name: "x", stage: "connecting"}, 39, "x connecting"},
		{Transfer{name: "x", stage: "waiting"}, 39, "x waiting"},
		{Transfer{name: "x", retryAt: now.Add(3 * time.Second), retryReason: "connection lost"}, 79, "x retrying in 3 s (connection lost)"},
	}
	for _, tt := range tests {
		got := tt.of.line(now, tt.width, columns(tt.of.name), false, true)
		if columns(got) > tt.width {
			t.Errorf("%d columns in %d: %q", columns(got), tt.width, got)
		}
		if got != tt.want {
			t.Errorf("at %d:\n got %q\nwant %q", tt.width, got, tt.want)
		}
	}
}

// Rows of files with one name are told apart by their URLs.
func TestEqualNames(t *testing.T) {
	t.Parallel()
	c := &Console{w: io.Discard, display: display{plain: true}}
	for _, url := range []string{"http://a.example/one/big.bin", "ftp://b.example/big.bin", "http://c.example/other"} {
		tr := c.Begin(url[strings.LastIndexByte(url, '/')+1:])
		tr.Retrieves(url)
		defer tr.End()
	}
	var names []string
	c.mu.Lock()
	for _, line := range c.lines(time.Now(), 80, 10)[:3] {
		name, _, _ := strings.Cut(line, " ")
		names = append(names, name)
	}
	c.mu.Unlock()
	if want := []string{"a.example/one/big.bin", "b.example/big.bin", "other"}; !slices.Equal(names, want) {
		t.Errorf("rows %q, want %q", names, want)
	}
}

// TestProgressLinesFit checks that no line is wider than the terminal, at any width.
func TestProgressLinesFit(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, name := range []string{"", "x", strings.Repeat("long", 30), strings.Repeat("長", 30), "e\u0301\u0301\u0301.txt"} {
		for _, done := range []int64{0, 1, 5 << 30} {
			for _, total := range []int64{-1, 0, 5 << 30} {
				for width := 10; width < 250; width++ {
					tr := Transfer{name: name, began: now.Add(-time.Hour), done: done, total: total, rate: meter{perSecond: 1e6}}
					line := tr.line(now, width, columns(name), true, true)
					if columns(line) > width && width >= 20 {
						t.Fatalf("%d columns in %d: %q", columns(line), width, line)
					}
				}
			}
		}
	}
}

func TestCutKeepsBothEnds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		most int
		want string
	}{
		{"short", 5, "short"}, {"a-long-name.txt", 9, "a-lo….txt"}, {"日本語", 5, "日…語"}, {"日本語", 4, "日…"}, {"abc", 1, "…"}, {"abc", 0, ""},
	}
	for _, tt := range tests {
		if got := cut(tt.text, tt.most); got != tt.want || columns(got) > tt.most {
			t.Errorf("%q in %d: %q, want %q", tt.text, tt.most, got, tt.want)
		}
	}
}

func TestMeterIsSmooth(t *testing.T) {
	t.Parallel()
	var m meter
	now := time.Now()
	for i := range 100 {
		m.update(int64(i)*1000, now.Add(time.Duration(i)*time.Second/10))
	}
	if m.perSecond < 9999 || m.perSecond > 10001 {
		t.Errorf("%v bytes a second, want 10000", m.perSecond)
	}
	m.update(0, now.Add(11*time.Second)) // the transfer was restarted
	if m.perSecond != 0 {
		t.Errorf("%v bytes a second after a new beginning", m.perSecond)
	}
}

func TestShortTime(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0 s", 59*time.Second + 400*time.Millisecond: "59 s", 65 * time.Second: "1 min 05 s",
		2*time.Hour + 3*time.Minute: "2 h 03 min", 240 * time.Hour: "10 days",
	} {
		if got := shortTime(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

// TestDisplayOfSeveral draws frames without a terminal.
func TestDisplayOfSeveral(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := &Console{w: &out, display: display{plain: true}}
	c.Expect(200)
	now := time.Now()
	var all []*Transfer
	for range 15 {
		tr := c.Begin("file")
		tr.Update(0, 1<<20)
		all = append(all, tr)
	}
	for _, tr := range all[:3] {
		tr.Update(1<<20, 1<<20)
		tr.End()
		tr.End()
	}
	c.mu.Lock()
	lines := c.lines(now, 79, maxRows)
	c.mu.Unlock()
	if len(lines) != maxRows+1 {
		t.Errorf("%d lines: %q", len(lines), lines)
	}
	if got, want := lines[len(lines)-1], "3 of 200 · 3.0 MiB · 0 B/s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, tr := range all {
		tr.End()
	}
}

func TestPlainLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		c := &Console{w: &out, display: display{plain: true}}
		known, unknown := c.Begin("a.bin"), c.Begin("b")
		unknown.Update(0, -1)
		known.Update(0, 20*1024)
		time.Sleep(550 * time.Millisecond) // not at the time of a frame
		for i := range 12 {                // seconds
			known.Update(int64(i+1)*1024, 20*1024)
			time.Sleep(time.Second)
		}
		known.End()
		unknown.End()
		got := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		want := []string{
			"a.bin   5%  1.0 of 20 KiB  4.4 KiB/s  4 s left", "b     0 B  0 B/s  1 s", "0 of 2 · 1.0 KiB · 4.4 KiB/s", // after a second
			"a.bin  30%  6.0 of 20 KiB  1.6 KiB/s  9 s left", "b     0 B  0 B/s  6 s", "0 of 2 · 6.0 KiB · 1.6 KiB/s",
			"a.bin  55%  11.0 of 20 KiB  1.1 KiB/s  8 s left", "b     0 B  0 B/s  11 s", "0 of 2 · 11.0 KiB · 1.1 KiB/s",
		}
		if !slices.Equal(got, want) {
			t.Errorf("the lines are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}
