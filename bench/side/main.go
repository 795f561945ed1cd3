//go:build linux

// Side measures urlget beside curl and other programs, on the servers of this machine, and writes
// the table in docs/benchmarks.md. It installs nothing: a program or server that is not there has no
// row, and the table says so.
//
//	go run ./bench/side [-rounds N] [-only TEXT] [-disk DIR] [-print]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/urlget/urlget/bench/server"
)

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 5, "how often each program runs, after once that does not count")
	flag.StringVar(&o.only, "only", "", "measure only the rows whose name holds this, and write nothing")
	flag.StringVar(&o.memory, "memory", "/dev/shm", "a directory in memory, which servers and programs use")
	flag.StringVar(&o.disk, "disk", ".", "a directory on a disk, for the row that needs one")
	flag.StringVar(&o.file, "file", "docs/benchmarks.md", "the document whose table is replaced")
	show := flag.Bool("print", false, "print the table and write nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	table, err := measure(ctx, o) // which leaves no files, when interrupted either
	stop()
	if err == nil && (*show || o.only != "") {
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
	only, file         string
	memory, disk, work string
}

// measure runs all rows and returns the table.
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
	program := filepath.Join(o.work, "urlget")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, "./cmd/urlget")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as a release is
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	s, err := begin(o.work)
	if err != nil {
		return "", err
	}
	defer s.end()
	t := newTable(o.rounds, program)
	for _, name := range []string{"nginx", "vsftpd"} {
		if found, err := server.Find(name); err == nil {
			t.version(found, "-v")
		}
	}
	for _, r := range rows(s, program, o) {
		if err := t.add(ctx, r, o); err != nil {
			return "", fmt.Errorf("%s: %w", r.work, err)
		}
	}
	return t.String(), nil
}
