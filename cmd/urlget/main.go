//go:build !gendoc

// Urlget retrieves URLs of any scheme.
//
//	urlget [flags] URL...          retrieve URLs
//	urlget get [flags] URL...      the same
//	urlget cat [flags] URL...      print only the content
//	urlget ls [flags] URL...       list a directory, menu, newsgroup, page or archive
//	urlget stat [flags] URL...     print metadata without the content
//	urlget explain [flags] URL...  show the plan without sending anything
//	urlget serve [DIR|FILE...]     browse URLs in a web browser
//	urlget warc verify FILE...     check archives
//	urlget submit, work, queue     run urlget-queue for queues and workers
//	urlget schemes                 list the supported schemes
//	urlget version                 print the version and the commit it was built from
//	urlget completion SHELL        print completions for bash, zsh, fish or powershell
//
// "urlget --help" lists the flags, which are named after those of wget and curl.
package main

import (
	"io"
	"log"
	"os"
	"runtime/debug"
)

// gcPercent is the GOGC of the command. Many small files make much garbage and need little memory, so
// that the garbage collector would run often (docs/benchmarks.md).
const gcPercent = 200

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	// net/http logs unsolicited responses, but standard error is for our messages.
	log.SetOutput(io.Discard)
	os.Exit(interruptible(os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr}))
}
