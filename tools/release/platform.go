package main

import (
	"context"
	"fmt"
	"log"
	"slices"
	"strings"
)

// A platform is a target system and architecture.
type platform struct {
	os, arch string
	packages []string // formats, by their names in nfpm
}

// formats lists the formats of packages for Linux: Debian, Fedora and Alpine, and systems like them.
var formats = []string{"deb", "rpm", "apk"}

var platforms = []platform{
	{"linux", "amd64", formats},
	{"linux", "arm64", formats},
	{"darwin", "amd64", nil},
	{"darwin", "arm64", nil},
	{"windows", "amd64", nil},
	{"freebsd", "amd64", nil},
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

// A program is a command of a release.
type program struct{ name, dir string }

// programs lists the commands of a release. Each archive and package contains all of them.
var programs = []program{{"urlget", "./cmd/urlget"}, {"urlget-queue", "./queue/cmd/urlget-queue"}}

// file returns the file name of a program.
func (p platform) file(name string) string {
	if p.os == "windows" {
		return name + ".exe"
	}
	return name
}

// folder returns the name of the top folder in the archive.
func (p platform) folder(version string) string {
	return "urlget-" + strings.TrimPrefix(version, "v") + "-" + p.String()
}

// archive returns the name of the archive, in the usual format of the system.
func (p platform) archive(version string) string {
	if p.os == "windows" {
		return p.folder(version) + ".zip"
	}
	return p.folder(version) + ".tar.gz"
}

// build builds a static program for a platform without debug information.
func build(ctx context.Context, src source, p platform, program program, to string) error {
	log.Printf("%s for %s", program.name, p)
	return golang(ctx, src, []string{"GOOS=" + p.os, "GOARCH=" + p.arch},
		"build", "-buildvcs=false", "-ldflags", linkerFlags(src), "-o", to, program.dir)
}

// linkerFlags returns flags that omit the symbol table and set the output of "urlget version".
func linkerFlags(src source) string {
	return "-s -w -X main.version=" + src.version + " -X main.commit=" + src.commit + " -X main.commitDate=" +
		src.stamp()
}
