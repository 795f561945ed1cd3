//go:build !gendoc

// Urlget retrieves what URLs name, whatever their scheme.
//
//	urlget [flags] URL...          retrieve each URL
//	urlget get [flags] URL...      the same
//	urlget cat [flags] URL...      print the content, and nothing else
//	urlget ls [flags] URL...       list the members of a directory, menu, newsgroup, index
//	urlget stat [flags] URL...     metadata without the content
//	urlget explain [flags] URL...  what would be done, without doing it
//	urlget serve [DIR|FILE...]     show URLs in the browser
//	urlget warc verify FILE...     check archives
//	urlget submit, work, queue     queues and workers, by the program urlget-queue
//	urlget schemes                 the schemes that it knows
//	urlget version                 the version, and what it was built from
//	urlget completion SHELL        completions for bash, zsh, fish, powershell
//
// "urlget --help" lists the flags, which are named after those of wget and curl.
package main

import (
	"io"
	"log"
	"os"
)

func main() {
	// net/http logs unsolicited responses, but standard error is for our messages.
	log.SetOutput(io.Discard)
	os.Exit(interruptible(os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr}))
}
