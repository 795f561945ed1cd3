// Release builds a release: an archive for each system and architecture, packages for Debian, Fedora
// and Alpine, lists of the modules in each program (CycloneDX) and checksums.
//
//	go run ./tools/release [-o DIR] [-version V] [-for PLATFORMS]
//	go run ./tools/release -licenses
//
// With -licenses it writes the licences of all modules to cmd/urlget/licenses.txt and builds nothing.
//
// Builds are reproducible: the same commit and Go version give the same bytes, because the times in
// archives and packages are those of the commit. Release requires only git and the go command.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("release: ")
	dir := flag.String("o", "dist", "write to `DIR`, which must be empty or missing")
	version := flag.String("version", "", "release as `V`, such as v1.2.0; else what git describes")
	names := flag.String("for", "", "build for these `PLATFORMS` only, such as linux-amd64,darwin-arm64")
	onlyLicenses := flag.Bool("licenses", false, "write "+licensesFile+" and build nothing")
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	platforms, err := choose(*names)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *onlyLicenses {
		err = writeLicenses(ctx, ".")
	} else {
		err = release(ctx, *dir, *version, platforms)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// release builds everything for the platforms into dir.
func release(ctx context.Context, dir, version string, platforms []platform) error {
	root, err := output(ctx, ".", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	src, err := describeSource(ctx, root, version)
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if err := makeEmpty(dir); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "urlget-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)

	log.Printf("urlget %s, commit %s of %s", src.version, src.commit, src.stamp())
	docs, err := makeDocs(ctx, src, work)
	if err != nil {
		return err
	}
	for _, p := range platforms {
		if err := releaseFor(ctx, src, p, docs, work, dir); err != nil {
			return err
		}
	}
	return writeSums(dir)
}

// releaseFor builds the files for a platform into dir.
func releaseFor(ctx context.Context, src source, p platform, docs docs, work, dir string) error {
	files, built := docs.archiveFiles(p), []file(nil)
	for _, program := range programs {
		name := p.file(program.name)
		f := file{name: name, path: filepath.Join(work, p.String(), name), mode: 0o755}
		if err := build(ctx, src, p, program, f.path); err != nil {
			return err
		}
		if err := writeModules(ctx, src, p, program.name, f.path, dir); err != nil {
			return err
		}
		files = append(files, f)
		built = append(built, file{name: "usr/bin/" + program.name, path: f.path, mode: f.mode})
	}
	if err := writeArchive(filepath.Join(dir, p.archive(src.version)), src, p, files); err != nil {
		return err
	}
	log.Print(p.archive(src.version))
	for _, format := range p.packages {
		if err := writePackage(ctx, src, p, format, append(docs.installed(format), built...), work,
			dir); err != nil {
			return err
		}
	}
	return nil
}

// serial returns the serial number of a list of modules: a UUID of version 8 (RFC 9562, section 5.8),
// the same for the same commit and name.
func serial(src source, name string) string {
	id := sha256.Sum256([]byte(src.commit + " " + name))
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:16])
}

// writeModules lists the modules in a program and their licences, in the format of CycloneDX.
func writeModules(ctx context.Context, src source, p platform, program, built, dir string) error {
	name := program + strings.TrimPrefix(p.folder(src.version), "urlget") + ".cdx.json"
	return golang(ctx, src, alone, "tool", "-modfile=tools.mod", "cyclonedx-gomod", "bin", "-json",
		"-licenses", "-assert-licenses", "-serial", serial(src, name), "-notimestamp", "-std",
		"-version", src.version, "-output", filepath.Join(dir, name), built)
}

// makeEmpty creates dir or checks that it is empty.
func makeEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return os.MkdirAll(dir, 0o777)
	case err != nil:
		return err
	case len(entries) > 0:
		return fmt.Errorf("%s is not empty", dir)
	}
	return nil
}

// output runs a command and returns its output without the last line end.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, exit.Stderr)
	} else if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// alone is a setting of golang for the tools, because -modfile does not work in a workspace.
var alone = []string{"GOWORK=off"}

// golang runs the go command in the source with settings such as GOOS=linux. It removes environment
// variables that would change the result. The workspace has the modules of all programs.
func golang(ctx context.Context, src source, settings []string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = src.root
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0",
		"GOWORK="+filepath.Join(src.root, "go.work"),
		"CGO_ENABLED=0", "TZ=UTC", "SOURCE_DATE_EPOCH="+strconv.FormatInt(src.date.Unix(), 10))
	cmd.Env = append(cmd.Env, settings...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
