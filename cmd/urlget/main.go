//go:build !gendoc

// Urlget retrieves what URLs name, whatever their scheme.
//
//	urlget [flags] URL...          retrieve each URL
//	urlget ls [flags] URL...       list the members of a directory, menu, newsgroup, index
//	urlget stat [flags] URL...     metadata without the content
//	urlget explain [flags] URL...  what would be done, without doing it
//	urlget schemes                 the schemes that it knows
//	urlget completion SHELL        completions for bash, zsh, fish, powershell
//
// "urlget --help" lists the flags, which have the names that wget and curl
// give them.
package main

import (
	"io"
	"log"
	"os"
)

func main() {
	// net/http logs what servers send unasked; standard error is for our lines.
	log.SetOutput(io.Discard)
	os.Exit(interruptible(os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr}))
}
