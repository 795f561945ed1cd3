package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
)

// The companion is the program that has the commands of queues. It has a NATS server in it, and is
// as large as this one.
const companion = "urlget-queue"

// companionWords are its commands.
var companionWords = []string{"submit", "work", "queue"}

// isCompanions reports whether args are for the companion, as the completion of its commands is.
func isCompanions(args []string) bool {
	if len(args) > 2 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		args = args[1:]
	}
	return len(args) > 0 && slices.Contains(companionWords, args[0])
}

// companionCommands are listed by the help. What they do is done before commands are looked at.
func companionCommands() []*cobra.Command {
	short := []string{"Put URLs into a queue, for workers to retrieve", "Retrieve what is in a queue", "What is in a queue"}
	var list []*cobra.Command
	for i, word := range companionWords {
		list = append(list, &cobra.Command{Use: word, Short: short[i], DisableFlagParsing: true,
			RunE: func(_ *cobra.Command, args []string) error { return runCompanion(append([]string{word}, args...)) }})
	}
	return list
}

// runCompanion runs the companion in place of this program, if it is beside it or in PATH. The exit
// status of a child is that of an *exec.ExitError.
func runCompanion(args []string) error {
	path := ""
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), companion+filepath.Ext(self))
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			path = beside
		}
	}
	if path == "" {
		var err error
		if path, err = exec.LookPath(companion); err != nil {
			return &fetch.Error{Code: fetch.ErrFile, Err: errors.New(
				"urlget " + args[0] + " needs the program " + companion + ", which is neither beside urlget nor in PATH"),
				Hint: "go install github.com/urlget/urlget/cmd/" + companion + "@latest, or take it from the archive of a release"}
		}
	}
	return failure.File(execCompanion(path, append([]string{companion}, args...)))
}
