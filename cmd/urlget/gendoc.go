//go:build gendoc

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra/doc"
)

// With the build tag gendoc the command writes its own man pages into a
// directory instead: go run -tags gendoc ./cmd/urlget DIR. So the package that
// makes them is no part of the command.
func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gendoc DIR")
		os.Exit(exitUsage)
	}
	root := (&app{}).command()
	root.DisableAutoGenTag = true
	root.InitDefaultCompletionCmd()
	header := &doc.GenManHeader{Title: "URLGET", Section: "1", Source: "urlget", Manual: "User Commands"}
	if err := doc.GenManTree(root, header, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitFile)
	}
}
