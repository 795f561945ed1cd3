package main

import (
	_ "embed"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/cmd/urlget/internal/config"
	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
)

// release is the version of this source, which a build without the repository prints.
//
//go:embed VERSION
var release string

// licenses has the licences of all modules in the program. "go run ./tools/release -licenses" writes it.
//
//go:embed licenses.txt
var licenses string

// The linker sets these for a release: go build -ldflags "-X main.version=v1.2.0". In other builds
// they are empty, and the build information of the go command is printed.
var (
	version    string // with the leading "v"
	commit     string // in hexadecimal
	commitDate string // in the format of RFC 3339
)

func versionCommand(p *program) *cobra.Command {
	return p.define(flags.Version, &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Print the version and, on the second line, the commit it was built from, if
known. With -v, also print the versions of Go and of all modules, and the
settings of the configuration file. With --licenses, print the licences of the
modules instead.`,
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(*cobra.Command, []string) error { return printVersion(p) },
	})
}

func printVersion(p *program) error {
	o, out := p.opts, p.rep.std.out
	if o.Report.Licenses {
		_, err := out.WriteString(licenses)
		return failure.File(err)
	}
	text := describeBuild(buildInfo(), o.Report.Verbose)
	if o.Report.Verbose {
		file, err := config.Read(&o.Config, p.table)
		if err != nil {
			return err
		}
		for _, line := range file.DescribeAll() {
			text += "config " + line + "\n"
		}
	}
	_, err := out.WriteString(text)
	return failure.File(err)
}

func programVersion() string { return versionOf(buildInfo()) }

func buildInfo() *debug.BuildInfo {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info
	}
	return &debug.BuildInfo{}
}

func versionOf(info *debug.BuildInfo) string {
	switch {
	case version != "":
		return version
	case info.Main.Version != "" && info.Main.Version != "(devel)":
		return info.Main.Version
	}
	return strings.TrimSpace(release)
}

// describeBuild describes the build. The first line is always the name and version, for scripts.
func describeBuild(info *debug.BuildInfo, verbose bool) string {
	settings := make(map[string]string)
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	hash, date := commit, commitDate
	if hash == "" {
		hash, date = settings["vcs.revision"], settings["vcs.time"]
		if settings["vcs.modified"] == "true" {
			date += ", modified"
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "urlget %s\n", versionOf(info))
	if hash != "" {
		fmt.Fprintf(&b, "commit %s of %s\n", hash, date)
	}
	if !verbose {
		return b.String()
	}
	if info.GoVersion != "" {
		fmt.Fprintf(&b, "%s %s/%s\n", info.GoVersion, settings["GOOS"], settings["GOARCH"])
	}
	for _, m := range info.Deps {
		fmt.Fprintf(&b, "%s %s", m.Path, m.Version)
		if m.Replace != nil {
			fmt.Fprintf(&b, " => %s %s", m.Replace.Path, m.Replace.Version)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
