//go:build integration

package browser

import (
	"bufio"
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/serve"
)

// A queueReport is a sample of a queue, or a failure to get one.
type queueReport struct {
	sample serve.QueueSample
	err    error
}

// queueReports are those of a queue with workers: samples, and then a failure with a long text.
func queueReports() []queueReport {
	var list []queueReport
	start := time.Now().Add(-80 * time.Second).Truncate(time.Second)
	results := 1_000_000
	for i := range 40 {
		rate := 60 + 25*math.Sin(float64(i)/4)
		remaining := math.Round(40_000 / rate)
		results += int(2 * rate)
		list = append(list, queueReport{sample: serve.QueueSample{Time: start.Add(time.Duration(2*i) * time.Second), State: "running", Waiting: uint64(40_000 - results%10_000), Taken: 64,
			Results: uint64(results), Dead: 3, Rate: &rate, Remaining: &remaining, Workers: []serve.QueueWorker{
				{Name: "orchard.example", Started: start.Add(-5 * time.Hour), Running: 32, Ended: 987_654, Rate: rate - 20.5},
				{Name: "pears.example", Started: start.Add(-time.Hour), Running: 32, Ended: 12_345, Rate: 20.5}}}})
	}
	list[len(list)-1].sample.Workers[1].Name += strings.Repeat("-long", 20) + strings.Repeat("x", 100)
	return append(list, queueReport{err: errors.New("connection refused " + strings.Repeat("x", 300))})
}

// newQueueTab starts a server with the page of a queue, and opens its first page.
func newQueueTab(t *testing.T) (b *tab, reports chan<- queueReport) {
	c := make(chan queueReport)
	return newTab(t, func(s *serve.Options, _ *fetch.Options) {
		s.Queue = func(ctx context.Context, report func(serve.QueueSample, error)) {
			for {
				select {
				case r := <-c:
					report(r.sample, r.err)
				case <-ctx.Done():
					return
				}
			}
		}
	}), c
}

// showsSoon waits until the page, which is loaded again and again, shows a text.
func (b *tab) showsSoon(want string) {
	b.t.Helper()
	b.until(`document.querySelector("main")?.innerText.includes(` + "`" + want + "`" + `)`)
}

// TestQueueUpdatesWithoutScripts watches a queue, without JavaScript.
func TestQueueUpdatesWithoutScripts(t *testing.T) {
	b, reports := newQueueTab(t)
	b.run(func(ctx context.Context, t *chromedp.Target) (v chromedp.Void, err error) {
		_, err = cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return v, err
	})
	b.loaded(click(`//nav//a[.="Queue"]`))
	b.showsSoon("Waiting for the queue")
	for _, r := range queueReports() {
		reports <- r
	}
	b.showsSoon("connection refused")
	b.shows("Results\n1005163", "Time left\n12m49s", "Results per second: 0.0 to 84.9", "orchard.example")
	for _, path := range []string{".chart path"} {
		if height := eval[float64](b, `document.querySelector("`+path+`").getBoundingClientRect().height`); height < 40 {
			t.Errorf("%s is %g pixels high", path, height)
		}
	}
	b.loaded(click(`//main//a[.="Stop that"]`))
	b.shows("Show progress")
	if eval[bool](b, `!!document.querySelector("meta[http-equiv=refresh]")`) {
		t.Error("the page is still loaded again")
	}
	b.loaded(click(`//main//a[.="Show progress"]`))
	reports <- queueReports()[0]
	b.until(`!document.querySelector("main [role=alert]")`)
}

// TestQueueAccess checks the page with the light and the dark color scheme, at 200 % and in 320
// pixels.
func TestQueueAccess(t *testing.T) {
	b, reports := newQueueTab(t)
	b.loaded(click(`//nav//a[.="Queue"]`))
	for _, r := range queueReports() {
		if len(r.sample.Workers) > 0 && strings.Contains(r.sample.Workers[1].Name, "-long") {
			b.showsSoon("pears.example")
			b.keep("queue.png")
		}
		reports <- r
	}
	b.run(chromedp.Navigate(b.server.URL + "/queue?still"))
	b.shows("connection refused")
	for _, scheme := range []string{"light", "dark"} {
		b.screen(1000, 680, scheme)
		if violations := eval[[]string](b, problems); len(violations) > 0 {
			t.Errorf("%s:\n%s", scheme, strings.Join(violations, "\n"))
		}
		line, paper := eval[string](b, `getComputedStyle(document.querySelector(".chart path")).stroke`), eval[string](b, `getComputedStyle(document.documentElement).backgroundColor`)
		if line == "none" || line == paper {
			t.Errorf("%s: the line is %s on %s", scheme, line, paper)
		}
	}
	for _, width := range []int64{500, 320} { // 200 % of 1000 pixels are 500 pixels of CSS
		b.run(chromedp.EmulateViewport(width, 340, chromedp.EmulateScale(2)))
		if found := eval[[]string](b, overflow); len(found) > 0 {
			t.Errorf("%d pixels:\n%s", width, strings.Join(found, "\n"))
		}
	}
}

// TestQueueOfTheCommands opens the page of the command, which runs the queue program.
func TestQueueOfTheCommands(t *testing.T) {
	b := newTab(t)
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", dir+string(filepath.Separator), "./cmd/urlget", "./queue/cmd/urlget-queue")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program, flags := filepath.Join(dir, "urlget"), []string{"--embedded", filepath.Join(dir, "my queue")}
	cmd := exec.CommandContext(t.Context(), program, "serve", "--bookmarks", filepath.Join(dir, "marks"), "--queue", "--embedded '"+flags[1]+"' --interval 100ms")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() < 0 {
			t.Error(err)
		}
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	b.run(chromedp.Navigate(strings.TrimSpace(address)), chromedp.WaitVisible("#url"))
	b.loaded(click(`//nav//a[.="Queue"]`))
	b.showsSoon("no such queue: urlget")
	for _, args := range [][]string{{"queue", "create"}, {"submit", "data:,one", "data:,two"}} {
		if out, err := exec.CommandContext(t.Context(), program, append(args, flags...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if args[0] == "queue" {
			b.showsSoon("Waiting\n0")
		}
	}
	b.showsSoon("Waiting\n2")
	b.shows("State\nrunning", "Results\n0")
}
