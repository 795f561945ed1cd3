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

// queueProgram is the program with the queue commands. It is separate because it contains a NATS
// server and is as large as urlget.
const queueProgram = "urlget-queue"

var queueCommandNames = []string{"submit", "work", "queue"}

// isQueueCommand reports whether args are for the queue program. This includes completion requests.
func isQueueCommand(args []string) bool {
	if len(args) > 2 && isCompletion(args) {
		args = args[1:]
	}
	return len(args) > 0 && slices.Contains(queueCommandNames, args[0])
}

// queueCommands returns the commands for the help. execute handles them before cobra does.
func queueCommands() []*cobra.Command {
	short := []string{"Add URLs to a queue", "Retrieve URLs from a queue", "Show the jobs in a queue"}
	var list []*cobra.Command
	for i, word := range queueCommandNames {
		list = append(list, &cobra.Command{Use: word, Short: short[i], DisableFlagParsing: true,
			RunE: func(_ *cobra.Command, args []string) error {
				return runQueueProgram(append([]string{word}, args...))
			}})
	}
	return list
}

func runQueueProgram(args []string) error {
	path, err := findQueueProgram(args[0])
	if err != nil {
		return err
	}
	return failure.File(execQueueProgram(path, append([]string{queueProgram}, args...)))
}

// findQueueProgram returns the path of the queue program, which is next to this program or in PATH.
// The error names the command that requires it.
func findQueueProgram(command string) (string, error) {
	if self, err := os.Executable(); err == nil {
		sibling := filepath.Join(filepath.Dir(self), queueProgram+filepath.Ext(self))
		if info, err := os.Stat(sibling); err == nil && info.Mode().IsRegular() {
			return sibling, nil
		}
	}
	path, err := exec.LookPath(queueProgram)
	if err != nil {
		return "", &fetch.Error{Code: fetch.ErrFile, Err: errors.New(
			"urlget " + command + " requires the program " + queueProgram +
				", which is neither next to urlget nor in PATH"),
			Hint: "in a checkout: go install ./queue/cmd/" + queueProgram + "; it is also in each release"}
	}
	return path, nil
}
