package tty

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/urlget/urlget/fetch"
)

const (
	barDelay   = 300 * time.Millisecond // shorter runs show no progress
	frameTime  = 200 * time.Millisecond // between frames
	maxRows    = 10                     // transfers shown at once
	rateMemory = 3 * time.Second        // over which rates are smoothed
	plainDelay = time.Second            // before the first report in plain lines
	plainTime  = 5 * time.Second        // between further reports in plain lines
)

// A display is the lines at the bottom of a terminal that show the progress of a run's transfers.
// Its fields are guarded by the console's lock.
type display struct {
	tty    *os.File // nil without a terminal display
	plain  bool     // print plain lines periodically, for logs
	Paint  Painter
	ending <-chan struct{} // closed after a signal to end the command

	transfers
	frames
}

type transfers struct {
	running  []*Transfer
	began    time.Time // start of the first transfer
	expected int       // number of transfers known so far
	ended    int       // number of ended transfers
	bytes    int64     // transferred by ended transfers
	rate     meter
	tree     *TreeCount // nil if not a tree
}

type frames struct {
	frame    time.Time   // when the last frame was drawn; zero if no transfer runs
	next     *time.Timer // triggers the next frame
	drawn    []int       // widths of the lines on the screen, in columns
	reported time.Time   // when plain lines were last printed
	paused   int
}

// A Transfer is one line of the display. A nil Transfer is not shown.
type Transfer struct {
	con   *Console
	name  string
	url   string // without the scheme; shown if several transfers have one name
	host  string // in a tree
	began time.Time

	stage       string    // the phase, such as "connecting"; "" while bytes arrive
	retryAt     time.Time // the time of the next attempt; zero if no retry is pending
	retryReason string    // the reason for the retry
	done, total int64     // bytes; total is -1 if unknown
	rate        meter
	ended       bool
}

// Begin adds a transfer to the display. Any number may run at once.
func (c *Console) Begin(name string) *Transfer {
	if c.tty == nil && !c.plain {
		return nil
	}
	now := time.Now()
	t := &Transfer{con: c, name: fetch.Printable(name), began: now, stage: "connecting", total: -1}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.began.IsZero() {
		c.began = now
	}
	if c.running = append(c.running, t); len(c.running) == 1 {
		c.frame = now
		c.next = time.AfterFunc(max(barDelay-now.Sub(c.began), frameTime), c.tick)
	}
	return t
}

// Expect adds n to the expected number of transfers in the run.
func (c *Console) Expect(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expected += n
}

// Rename shows the transfer under the name of its file.
func (t *Transfer) Rename(name string) {
	t.change(func() { t.name = fetch.Printable(name) })
}

// Retrieves sets the URL, which tells the transfer from others with the same name.
func (t *Transfer) Retrieves(url string) {
	_, url, _ = strings.Cut(url, "://")
	t.change(func() { t.url = fetch.Printable(url) })
}

// Update records that done of total bytes have been transferred; total is -1 if unknown.
func (t *Transfer) Update(done, total int64) {
	t.change(func() {
		if t.rate.at.IsZero() { // bytes of an earlier run do not count
			t.rate.start(done, time.Now())
			t.con.display.rate.last += done
		}
		t.done, t.total, t.stage, t.retryAt = done, total, "", time.Time{}
	})
}

// Retry records that the transfer will start again after a pause.
func (t *Transfer) Retry(wait time.Duration, why string) {
	t.change(func() { t.retryAt, t.retryReason = time.Now().Add(wait), fetch.Printable(why) })
}

func (t *Transfer) wait(stage string) {
	t.change(func() { t.stage, t.retryAt = stage, time.Time{} })
}

func (t *Transfer) change(f func()) {
	if t == nil {
		return
	}
	t.con.mu.Lock()
	defer t.con.mu.Unlock()
	f()
}

// End removes the transfer from the screen. It may be called twice.
func (t *Transfer) End() {
	if t == nil {
		return
	}
	c := t.con
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.ended {
		return
	}
	t.ended = true
	c.ended++
	c.bytes += t.done
	c.running = slices.DeleteFunc(c.running, func(r *Transfer) bool { return r == t })
	if len(c.running) == 0 {
		c.next.Stop()
		io.WriteString(c.w, c.erase())
	}
}

type transferKey struct{}

// Following returns a context whose requests report their progress to t.
func Following(ctx context.Context, t *Transfer) context.Context {
	if t == nil {
		return ctx
	}
	return context.WithValue(ctx, transferKey{}, t)
}

// Stages is a Recorder that shows the state of a waiting transfer.
var Stages = fetch.RecorderFunc(func(ctx context.Context, _ *fetch.Request) *fetch.Recording {
	t, _ := ctx.Value(transferKey{}).(*Transfer)
	if t == nil {
		return nil
	}
	t.wait("connecting")
	return &fetch.Recording{Peer: func(int, net.Addr, *tls.ConnectionState) { t.wait("waiting") }}
})

// Pause removes the display from the screen for other output or a prompt, until resume is called.
func (c *Console) Pause() (resume func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tty == nil {
		return func() {}
	}
	io.WriteString(c.w, c.erase())
	c.paused++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.paused--
	}
}

func (c *Console) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.running) == 0 {
		return
	}
	now := time.Now()
	if now.Sub(c.frame) > 10*frameTime {
		c.drawn = nil // the command was suspended, and other programs have written to the terminal
	}
	c.frame = now
	sum := c.bytes
	for _, t := range c.running {
		t.rate.update(t.done, now)
		sum += t.done
	}
	c.display.rate.update(sum, now)
	if c.plain {
		io.WriteString(c.w, c.report(now))
	} else {
		io.WriteString(c.w, c.redraw(now))
	}
	c.next.Reset(frameTime)
}

func (c *Console) report(now time.Time) string {
	due := c.reported.Add(plainTime)
	if c.reported.IsZero() {
		due = c.began.Add(plainDelay)
	}
	if now.Before(due) {
		return ""
	}
	c.reported = now
	return strings.Join(c.lines(now, 79, maxRows), "\n") + "\n"
}

func (c *Console) redraw(now time.Time) string {
	if c.tty == nil || len(c.running) == 0 || now.Sub(c.began) < barDelay || c.paused > 0 {
		return ""
	}
	if !foreground(c.tty) {
		c.drawn = nil
		return ""
	}
	out := c.erase()
	cols, rows := c.size()
	lines := c.lines(now, cols-1, min(maxRows, rows-2))
	for _, line := range lines {
		c.drawn = append(c.drawn, columns(line))
		out += line + "\n"
	}
	return out
}

// erase returns the output that removes the last frame. If the terminal has become narrower, its
// lines have been wrapped.
func (c *Console) erase() string {
	if len(c.drawn) == 0 {
		return ""
	}
	cols, _ := c.size()
	rows := 0
	for _, width := range c.drawn {
		rows += max(1, (width+cols-1)/cols)
	}
	c.drawn = nil
	return fmt.Sprintf("\r\x1b[%dA\x1b[J", rows)
}

func (c *Console) size() (cols, rows int) { return sizeOf(c.tty) }

func sizeOf(terminal *os.File) (cols, rows int) {
	cols, rows, err := term.GetSize(int(terminal.Fd()))
	if err != nil || cols < 1 || rows < 1 {
		return 80, 24
	}
	return cols, rows
}

func (c *Console) lines(now time.Time, width, most int) []string {
	shown := c.running[:min(len(c.running), max(most, 1))]
	names, same := 0, map[string]int{}
	for _, t := range shown {
		same[t.name]++
	}
	rows := make([]Transfer, len(shown))
	for i, t := range shown {
		if rows[i] = *t; same[t.name] > 1 && t.url != "" {
			rows[i].name = t.url
		}
		names = max(names, columns(rows[i].name))
	}
	var lines []string
	for i := range rows {
		lines = append(lines, rows[i].line(now, width, names, c.Paint, !c.plain))
	}
	switch {
	case c.tree != nil:
		lines = append(lines, c.treeTotals(width))
	case c.expected > 1 || len(c.running) > 1:
		lines = append(lines, cut(c.totals(), width))
	}
	return lines
}

func (c *Console) totals() string {
	text := fmt.Sprintf("%d of %d", c.ended, max(c.expected, c.ended+len(c.running)))
	done, total := c.bytes, c.bytes
	for _, t := range c.running {
		done += t.done
		if total += t.total; t.total < 0 {
			total = math.MinInt64 / 2 // unknown
		}
	}
	if c.ended+len(c.running) < c.expected {
		total = -1
	}
	return text + " · " + progressSize(done, total) + " · " + SizeWord(c.display.rate.perSecond) + "/s"
}

// A meter measures how fast a number grows, smoothed for people to read.
type meter struct {
	perSecond float64
	last      int64
	at        time.Time
}

func (m *meter) start(n int64, now time.Time) { *m = meter{last: n, at: now} }

func (m *meter) update(n int64, now time.Time) {
	took := now.Sub(m.at)
	switch {
	case m.at.IsZero() || n < m.last:
		m.start(n, now)
		return
	case took <= 0:
		return
	}
	rate := float64(n-m.last) / took.Seconds()
	if m.perSecond == 0 {
		m.perSecond = rate
	} else {
		m.perSecond += (rate - m.perSecond) * (1 - math.Exp(-took.Seconds()/rateMemory.Seconds()))
	}
	m.last, m.at = n, now
}

// line returns the line of a transfer, at most width columns wide, with the given number of columns
// for its name, and with or without a bar.
func (t *Transfer) line(now time.Time, width, names int, paint Painter, bar bool) string {
	names = min(names, max(8, width/3))
	name := cut(t.name, names)
	name += strings.Repeat(" ", names-columns(name)+1)
	switch {
	case !t.retryAt.IsZero():
		wait := max(t.retryAt.Sub(now), 0).Round(time.Second)
		return cut(fmt.Sprintf("%sretrying in %s (%s)", name, shortTime(wait), t.retryReason), width)
	case t.stage != "":
		return cut(name+t.stage, width)
	}
	rate := SizeWord(t.rate.perSecond) + "/s"
	if t.total <= 0 {
		size := SizeWord(float64(t.done))
		elapsed := now.Sub(t.began)
		tail := fit(width-columns(name), size+"  "+rate+"  "+shortTime(elapsed), size+"  "+rate, size)
		if !bar {
			return name + tail
		}
		return name + movingBlock(elapsed, width-columns(name)-columns(tail)-1) + " " + tail
	}
	share := min(float64(t.done)/float64(t.total), 1)
	size := progressSize(t.done, t.total)
	percent := fmt.Sprintf("%3d%%", int(share*100))
	left := ""
	if t.rate.perSecond >= 1 && t.done < t.total {
		seconds := float64(t.total-t.done) / t.rate.perSecond
		left = shortTime(time.Duration(seconds*float64(time.Second))) + " left"
	}
	tail := fit(width-columns(name),
		percent+"  "+size+"  "+rate+"  "+left, percent+"  "+rate+"  "+left, percent+"  "+rate, percent)
	if !bar {
		return name + tail
	}
	return name + filledBar(share, width-columns(name)-columns(tail)-1, paint) + " " + tail
}
