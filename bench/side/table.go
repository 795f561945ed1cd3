//go:build linux

package main

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A usage is the cost of one run of a program.
type usage struct {
	wall, cpu time.Duration
	peak      int64 // in KiB; at least that of this process
}

func (u usage) clock() float64     { return u.wall.Seconds() }
func (u usage) cores() float64     { return u.cpu.Seconds() }
func (u usage) mebibytes() float64 { return float64(u.peak) / 1024 }

// A table is a table of results.
type table struct {
	rounds    int
	startLoad string // load of the machine before the start
	lines     []string
	versions  []string
	missing   []string
}

func newTable(rounds int, program string) *table {
	t := &table{rounds: rounds, startLoad: load()}
	t.version(program, "version")
	return t
}

// add measures a row. Its programs run in turn, each in an empty directory.
func (t *table) add(ctx context.Context, r row, o options) error {
	if !o.rows.MatchString(r.work) {
		return nil
	}
	if r.needs != "" {
		t.lines = append(t.lines, fmt.Sprintf("| %s | | | | | not measured: no %s here | |", r.work, r.needs))
		return nil
	}
	var there, missing []peer
	for _, p := range r.peers {
		if _, err := exec.LookPath(p.args[0]); err != nil {
			t.note(&t.missing, p.args[0])
			missing = append(missing, p)
			continue
		}
		there = append(there, p)
		if p.name == "" {
			t.version(p.args[0], "--version")
		}
	}
	var ours []usage
	theirs := make([][]usage, len(there))
	failed := make([]error, len(there))
	for round := range t.rounds + 1 {
		u, err := run(ctx, r, r.ours)
		if err != nil {
			return err
		}
		ours = append(ours, u)
		for i, p := range there {
			if failed[i] == nil {
				u, failed[i] = run(ctx, r, p.args)
				theirs[i] = append(theirs[i], u)
			}
		}
		if round == 0 { // pays for memory that the machine has not used yet
			ours, theirs = nil, make([][]usage, len(there))
		}
	}
	t.lines = append(t.lines, ourLine(r, ours))
	for i, p := range there {
		if failed[i] != nil {
			fmt.Fprintln(os.Stderr, "side:", failed[i])
			t.lines = append(t.lines, notMeasured(p, "failed"))
			continue
		}
		t.lines = append(t.lines, peerLine(p, theirs[i], ours))
	}
	for _, p := range missing {
		if p.wall > 0 {
			t.lines = append(t.lines, notMeasured(p, "not on the machine"))
		}
	}
	return ctx.Err()
}

// notMeasured returns the line of a program that did not run.
func notMeasured(p peer, why string) string {
	aim := ""
	if p.wall > 0 {
		aim = fmt.Sprintf("clock %.4g, not measured", p.wall)
	}
	return fmt.Sprintf("|  | %s | | | | %s | %s |", p.label(), why, aim)
}

// ourLine returns the line of urlget itself.
func ourLine(r row, used []usage) string {
	aim := ""
	if r.peak > 0 {
		aim = verdict("peak", median(used, usage.mebibytes), r.peak)
	}
	return tableLine(r.work, "urlget", used, "", aim)
}

// peerLine returns the line of another program. Ratios are urlget's time divided by its time.
func peerLine(p peer, used, ours []usage) string {
	clock := median(ours, usage.clock) / median(used, usage.clock)
	cores := median(ours, usage.cores) / median(used, usage.cores)
	var aims []string
	if p.wall > 0 {
		aims = append(aims, verdict("clock", clock, p.wall))
	}
	if p.cpu > 0 {
		aims = append(aims, verdict("cores", cores, p.cpu))
	}
	return tableLine("", p.label(), used, fmt.Sprintf("%.2f, %.2f", clock, cores), strings.Join(aims, "; "))
}

func tableLine(work, program string, used []usage, shares, aims string) string {
	return fmt.Sprintf("| %s | %s | %.3f s | %.3f s | %.1f MiB | %s | %s |", work, program,
		median(used, usage.clock), median(used, usage.cores), median(used, usage.mebibytes), shares, aims)
}

func verdict(what string, got, aim float64) string {
	text := fmt.Sprintf("%s %.4g", what, aim)
	if got > aim {
		text += ", missed"
	}
	return text
}

func median(used []usage, of func(usage) float64) float64 {
	var list []float64
	for _, u := range used {
		list = append(list, of(u))
	}
	slices.Sort(list)
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2
}

// run runs a program as often as the row requires, in a new directory that is removed afterwards.
func run(ctx context.Context, r row, args []string) (usage, error) {
	dir, err := os.MkdirTemp(r.dir, "run-")
	if err != nil {
		return usage{}, err
	}
	defer os.RemoveAll(dir)
	if r.before != nil {
		if first := r.before(args); first != nil {
			if _, err := start(ctx, dir, first); err != nil {
				return usage{}, err
			}
		}
	}
	var sum usage
	for range max(r.times, 1) {
		os.Remove(filepath.Join(dir, "out"))
		u, err := start(ctx, dir, args)
		if err != nil {
			return u, err
		}
		sum = usage{sum.wall + u.wall, sum.cpu + u.cpu, max(sum.peak, u.peak)}
	}
	if left := count(dir); left < max(r.files, 1) {
		return sum, fmt.Errorf("%s saved %d files, want at least %d", args[0], left, r.files)
	}
	return sum, nil
}

// start runs a program once.
func start(ctx context.Context, dir string, args []string) (usage, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return usage{}, fmt.Errorf("%s: %w\n%s", args[0], err, out)
	}
	s := cmd.ProcessState
	return usage{time.Since(begin), s.UserTime() + s.SystemTime(),
		int64(s.SysUsage().(*syscall.Rusage).Maxrss)}, nil
}

// count returns the number of files below dir, except hidden ones.
func count(dir string) (n int) {
	filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		switch {
		case err == nil && e.IsDir() && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir
		case err == nil && e.Type().IsRegular():
			n++
		}
		return nil
	})
	return n
}

// version records the version of a program, once.
func (t *table) version(program, flag string) {
	out, _ := exec.Command(program, flag).CombinedOutput()
	first, _, _ := strings.Cut(strings.ReplaceAll(string(out), "| ", ""), "\n")
	if words := strings.Fields(first); len(words) > 3 {
		first = strings.Join(words[:3], " ")
	}
	t.note(&t.versions, cmp.Or(strings.TrimSpace(first), filepath.Base(program)))
}

func (*table) note(list *[]string, text string) {
	if !slices.Contains(*list, text) {
		*list = append(*list, text)
	}
}

// load returns the load average of the last minute.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// machine returns the names of the processor and the kernel.
func machine() string {
	model := runtime.GOARCH
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	major, rest, _ := strings.Cut(string(release), ".")
	minor, _, _ := strings.Cut(rest, ".")
	return fmt.Sprintf("%d cores of %s, Linux %s.%s, %s", runtime.NumCPU(), model, major, minor,
		runtime.Version())
}

// String returns the table in Markdown.
func (t *table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s. %s.\nMedian of %d rounds, in each of which all programs took turns. Load of "+
		"the machine when it began %s, when it ended %s.\n",
		time.Now().UTC().Format("2006-01-02"), machine(), strings.Join(t.versions,
			"; "), t.rounds, t.startLoad, load())
	if len(t.missing) > 0 {
		fmt.Fprintf(&b, "Not on the machine: %s.\n", strings.Join(t.missing, ", "))
	}
	b.WriteString("\n| work | program | clock | cores | peak memory | urlget's share of clock, cores | aim " +
		"|\n|---|---|---|---|---|---|---|\n")
	for _, line := range t.lines {
		b.WriteString(line + "\n")
	}
	return b.String()
}

const (
	startMark = "<!-- side by side -->\n"
	endMark   = "<!-- end of side by side -->\n"
)

// replace replaces the table between its marks in the document.
func replace(file, table string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), startMark)
	_, after, ok2 := strings.Cut(rest, endMark)
	if !ok || !ok2 {
		return fmt.Errorf("%s: no %q and %q", file, startMark, endMark)
	}
	return os.WriteFile(file, []byte(before+startMark+table+endMark+after), 0o644)
}
