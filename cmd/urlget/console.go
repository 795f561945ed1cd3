package main

import (
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/urlget/urlget/fetch"
)

// A console is standard error: messages, and below them a bar while a transfer
// runs. Several goroutines may write to it at once.
type console struct {
	mu   sync.Mutex
	w    io.Writer
	bars *mpb.Progress // while there is a bar
}

// Write writes whole lines, above the bar if there is one.
func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bars != nil {
		return c.bars.Write(p)
	}
	return c.w.Write(p)
}

// trace prints a line of a protocol conversation.
func (c *console) trace(sent bool, line string) {
	mark := "< "
	if sent {
		mark = "> "
	}
	io.WriteString(c, mark+fetch.Printable(line)+"\n")
}

const (
	barDelay  = 300 * time.Millisecond // transfers that end sooner have no bar
	nameWidth = 30
)

// A bar shows how far one transfer is.
type bar struct {
	con     *console
	name    string
	started time.Time
	timer   *time.Timer // until it is drawn

	mu                  sync.Mutex
	offset, done, total int64 // offset is what was there before; -1 until something came
	shown               bool
	ended               bool
	bar                 *mpb.Bar // nil until it is drawn
}

// newBar returns a bar that is drawn once the transfer has taken some time.
func (c *console) newBar(name string) *bar {
	name = fetch.Printable(name)
	if r := []rune(name); len(r) > nameWidth {
		name = "..." + string(r[len(r)-nameWidth+3:])
	}
	b := &bar{con: c, name: name, started: time.Now(), offset: -1}
	b.timer = time.AfterFunc(barDelay, b.show)
	return b
}

// update notes that done of total octets are there; total is -1 if unknown.
func (b *bar) update(done, total int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.offset < 0 {
		b.offset = done
	}
	b.done, b.total = done, total
	b.draw()
}

// show draws the bar from now on, once something has come.
func (b *bar) show() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shown = true
	b.draw()
}

func (b *bar) draw() {
	if !b.shown || b.ended || b.offset < 0 {
		return
	}
	if b.bar == nil {
		b.con.mu.Lock()
		b.con.bars = mpb.New(mpb.WithOutput(b.con.w), mpb.WithAutoRefresh())
		b.bar = b.con.bars.New(0, mpb.BarStyle(), mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.Name(b.name)), mpb.AppendDecorators(decor.Any(progressWords(b.started, b.offset))))
		b.con.mu.Unlock()
	}
	b.bar.SetTotal(max(b.total, 0), false)
	b.bar.SetCurrent(b.done)
}

// progressWords returns what stands behind a bar: how much there is, how fast
// it comes and how long the rest will take. offset was there when it started.
func progressWords(started time.Time, offset int64) func(decor.Statistics) string {
	return func(s decor.Statistics) string {
		words := " " + sizeWord(float64(s.Current))
		if s.Total > 0 {
			words += " of " + sizeWord(float64(s.Total))
		}
		rate := float64(s.Current-offset) / time.Since(started).Seconds()
		words += " " + sizeWord(rate) + "/s"
		if s.Total > 0 && rate >= 1 {
			left := time.Duration(float64(s.Total-s.Current) / rate * float64(time.Second))
			words += " " + left.Round(time.Second).String() + " left"
		}
		return words
	}
}

// end takes the bar away.
func (b *bar) end() {
	b.timer.Stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended = true; b.bar == nil {
		return
	}
	b.bar.Abort(true)
	b.con.mu.Lock()
	defer b.con.mu.Unlock()
	b.con.bars.Wait()
	b.bar, b.con.bars = nil, nil
}

// sizeWord returns a number of octets as people read it.
func sizeWord(n float64) string {
	unit := "B"
	for _, larger := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if n < 1024 {
			break
		}
		n, unit = n/1024, larger
	}
	if unit == "B" {
		return strconv.Itoa(int(n)) + " B"
	}
	return strconv.FormatFloat(n, 'f', 1, 64) + " " + unit
}
