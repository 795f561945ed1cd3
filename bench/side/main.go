//go:build linux

// Side compares urlget with curl and other programs, on the servers of this machine, and writes the
// table in docs/benchmarks.md. It installs nothing. For a missing program or server, the table has
// a note instead of figures.
//
//	go run ./bench/side [-rounds N] [-rows REGEXP] [-disk DIR] [-print]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"time"

	"github.com/urlget/urlget/bench/delay"
	"github.com/urlget/urlget/bench/server"
)

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 5, "number of measured runs per program")
	only := flag.String("rows", "",
		"measure only rows whose name matches this regular expression; write nothing")
	flag.StringVar(&o.memory, "memory", "/dev/shm", "directory in memory for servers and programs")
	flag.StringVar(&o.disk, "disk", ".", "directory on disk for the rows that need one")
	flag.StringVar(&o.file, "file", "docs/benchmarks.md", "document whose table is replaced")
	show := flag.Bool("print", false, "print the table and write nothing")
	flag.Parse()
	o.rounds = max(o.rounds, 1)
	var table string
	var err error
	if o.rows, err = regexp.Compile(*only); err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		table, err = measure(ctx, o) // removes its files, even when interrupted
		stop()
	}
	if err == nil && (*show || *only != "") {
		fmt.Print(table)
	} else if err == nil {
		err = replace(o.file, table)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "side:", err)
		os.Exit(1)
	}
}

type options struct {
	rounds             int
	rows               *regexp.Regexp
	file               string
	memory, disk, work string
}

// measure measures the rows and returns the table.
func measure(ctx context.Context, o options) (string, error) {
	var err error
	if o.work, err = os.MkdirTemp(o.memory, "side-"); err != nil {
		return "", err
	}
	defer os.RemoveAll(o.work)
	disk, err := os.MkdirTemp(o.disk, "side-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(disk)
	if o.disk, err = filepath.Abs(disk); err != nil {
		return "", err
	}
	p := programs{urlget: filepath.Join(o.work, "urlget"), queue: filepath.Join(o.work, "urlget-queue"),
		memory: o.work, disk: o.disk}
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", o.work, "./cmd/urlget",
		"./queue/cmd/urlget-queue")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // like a release
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	root := filepath.Join(o.work, "root")
	if err := fill(root); err != nil {
		return "", err
	}
	t := newTable(o.rounds, p.urlget)
	for _, name := range []string{"nginx", "vsftpd"} {
		if found, err := server.Find(name); err == nil {
			t.version(found, "-v")
		}
	}
	at := server.Place{Root: root, Host: "127.0.0.1", SeenAs: "127.0.0.1", More: webAddresses()}
	if err := t.measure(ctx, o, filepath.Join(o.work, "near"), at, many, func(s *site) []row {
		return slices.Concat(p.nearRows(s), p.archiveRows(s), p.queueRows(s))
	}); err != nil {
		return "", err
	}
	ended := make(chan error, 1)
	go func() { ended <- t.distant(ctx, o, root, p) }()
	if err := <-ended; err != nil {
		return "", err
	}
	return t.String(), nil
}

// distant measures the rows with servers 50 ms away. It must run in a goroutine of its own.
func (t *table) distant(ctx context.Context, o options, root string, p programs) error {
	at := server.Place{Root: root, Host: delay.Near, SeenAs: delay.Distant}
	dir := filepath.Join(o.work, "distant")
	err := delay.Namespace()
	if err == nil {
		var stop func()
		if stop, err = delay.Link(50 * time.Millisecond); err == nil {
			defer stop()
			return t.measure(ctx, o, dir, at, few, p.distantRows)
		}
	}
	fmt.Fprintln(os.Stderr, "side:", err)
	for _, r := range p.distantRows(&site{}) {
		r.needs = "link with a delay"
		if err := t.add(ctx, r, o); err != nil {
			return err
		}
	}
	return nil
}

// measure starts servers and adds the rows that need them.
func (t *table) measure(ctx context.Context, o options, dir string, at server.Place, count int,
	rows func(*site) []row) error {
	s, err := begin(dir, at, count)
	if err != nil {
		return err
	}
	defer s.end()
	for _, r := range rows(s) {
		if err := t.add(ctx, r, o); err != nil {
			return fmt.Errorf("%s: %w", r.work, err)
		}
	}
	return nil
}
