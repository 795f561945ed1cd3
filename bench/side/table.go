//go:build linux

package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A usage is what one run of a program took.
type usage struct {
	wall, cpu time.Duration
	peak      int64 // KiB, this process's own at least
}

// A table is the table while it is made.
type table struct {
	rounds   int
	begun    string // the load of the machine before
	lines    []string
	versions []string
	missing  []string
}

func newTable(rounds int, program string) *table {
	t := &table{rounds: rounds, begun: load()}
	t.version(program, "version")
	return t
}

// add measures a row: its programs run in turn, each in an empty directory of its own.
func (t *table) add(ctx context.Context, r row, o options) error {
	if !strings.Contains(r.work, o.only) {
		return nil
	}
	if r.needs != "" {
		t.lines = append(t.lines, fmt.Sprintf("| %s | | | | | not measured: no %s here | |", r.work, r.needs))
		return nil
	}
	programs := [][]string{r.ours}
	for _, args := range r.peers {
		if _, err := exec.LookPath(args[0]); err != nil {
			t.note(&t.missing, args[0])
			continue
		}
		programs = append(programs, args)
		t.version(args[0], "--version")
	}
	used := make([][]usage, len(programs))
	for round := range t.rounds + 1 {
		for i, args := range programs {
			u, err := run(ctx, r, args)
			if err != nil {
				return err
			}
			if round > 0 { // the first pays for memory that the machine has not used yet
				used[i] = append(used[i], u)
			}
		}
	}
	for i, args := range programs {
		t.lines = append(t.lines, line(r, filepath.Base(args[0]), i == 0, used[i], used[0], len(programs) > 1 && i == 1))
	}
	return nil
}

// line returns the line of one program: urlget itself (own), the one that aims are about (judge), or
// another. Shares are of urlget's time in its.
func line(r row, name string, own bool, used, ours []usage, judge bool) string {
	wall := median(used, func(u usage) float64 { return u.wall.Seconds() })
	cpu := median(used, func(u usage) float64 { return u.cpu.Seconds() })
	peak := median(used, func(u usage) float64 { return float64(u.peak) / 1024 })
	cells := []string{"", name, fmt.Sprintf("%.3f s", wall), fmt.Sprintf("%.3f s", cpu), fmt.Sprintf("%.1f MiB", peak), "", ""}
	if own {
		cells[0] = r.work
		if r.peak > 0 {
			cells[6] = verdict("peak", peak, r.peak)
		}
	} else {
		clock := median(ours, func(u usage) float64 { return u.wall.Seconds() }) / wall
		cores := median(ours, func(u usage) float64 { return u.cpu.Seconds() }) / cpu
		cells[5] = fmt.Sprintf("%.2f, %.2f", clock, cores)
		if judge {
			var aims []string
			if r.wall > 0 {
				aims = append(aims, verdict("clock", clock, r.wall))
			}
			if r.cpu > 0 {
				aims = append(aims, verdict("cores", cores, r.cpu))
			}
			cells[6] = strings.Join(aims, "; ")
		}
	}
	return "| " + strings.Join(cells, " | ") + " |"
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

// run runs a program as often as the row says, in a new directory that goes afterwards.
func run(ctx context.Context, r row, args []string) (usage, error) {
	dir, err := os.MkdirTemp(r.dir, "run-")
	if err != nil {
		return usage{}, err
	}
	defer os.RemoveAll(dir)
	var u usage
	for range max(r.times, 1) {
		os.Remove(filepath.Join(dir, "out"))
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Dir = dir
		begin := time.Now()
		out, err := cmd.CombinedOutput()
		u.wall += time.Since(begin)
		if err != nil {
			return u, fmt.Errorf("%s: %w\n%s", args[0], err, out)
		}
		u.cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		u.peak = max(u.peak, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	}
	return u, nil
}

// version notes the version of a program, once.
func (t *table) version(program, flag string) {
	out, _ := exec.Command(program, flag).CombinedOutput()
	first, _, _ := strings.Cut(string(out), "\n")
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

// load returns how busy the machine is, on average of the last minute.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// machine returns the processor and the kernel.
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
	return fmt.Sprintf("%d cores of %s, Linux %s.%s, %s", runtime.NumCPU(), model, major, minor, runtime.Version())
}

// String returns the table as it stands in the document.
func (t *table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s. %s.\nMedian of %d rounds, in each of which all programs took turns. Load of the machine when it began %s, when it ended %s.\n",
		time.Now().UTC().Format("2006-01-02"), machine(), strings.Join(t.versions, "; "), t.rounds, t.begun, load())
	if len(t.missing) > 0 {
		fmt.Fprintf(&b, "Not on the machine: %s.\n", strings.Join(t.missing, ", "))
	}
	b.WriteString("\n| work | program | clock | cores | peak memory | urlget's share of clock, cores | aim |\n|---|---|---|---|---|---|---|\n")
	for _, line := range t.lines {
		b.WriteString(line + "\n")
	}
	return b.String()
}

const (
	startMark = "<!-- side by side -->\n"
	endMark   = "<!-- end of side by side -->\n"
)

// replace puts the table into the document, between its marks.
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
