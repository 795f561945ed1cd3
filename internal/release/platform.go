package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// A platform is what the program is built for.
type platform struct {
	os, arch string
	debian   bool // it gets a Debian package
}

var platforms = []platform{
	{"linux", "amd64", true},
	{"linux", "arm64", true},
	{"darwin", "amd64", false},
	{"darwin", "arm64", false},
	{"windows", "amd64", false},
	{"freebsd", "amd64", false},
}

func (p platform) String() string { return p.os + "-" + p.arch }

// choose returns the platforms with these names, separated by commas, or all for "".
func choose(names string) ([]platform, error) {
	if names == "" {
		return platforms, nil
	}
	var chosen []platform
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(platforms, func(p platform) bool { return p.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("-for: there is no platform %q, but %v", name, platforms)
		}
		chosen = append(chosen, platforms[i])
	}
	return chosen, nil
}

// programs are the commands that a release has, all of them in each archive and package.
var programs = []string{"urlget", "urlget-queue"}

// file is the name of a program's file.
func (p platform) file(program string) string {
	if p.os == "windows" {
		return program + ".exe"
	}
	return program
}

// folder is the one folder in the archive.
func (p platform) folder(version string) string {
	return "urlget-" + strings.TrimPrefix(version, "v") + "-" + p.String()
}

// archive is the name of the archive: each system gets the format that it can open.
func (p platform) archive(version string) string {
	if p.os == "windows" {
		return p.folder(version) + ".zip"
	}
	return p.folder(version) + ".tar.gz"
}

// build builds a program for a platform, static and without what only debuggers read.
func build(ctx context.Context, src source, p platform, program, to string) error {
	return golang(ctx, src, []string{"GOOS=" + p.os, "GOARCH=" + p.arch},
		"build", "-buildvcs=false", "-ldflags", linkerFlags(src), "-o", to, "./cmd/"+program)
}

// linkerFlags leave out the symbol table, and set what "urlget version" prints.
func linkerFlags(src source) string {
	return "-s -w -X main.version=" + src.version + " -X main.commit=" + src.commit + " -X main.commitDate=" + src.stamp()
}
