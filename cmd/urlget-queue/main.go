//go:build !gendoc

// Urlget-queue puts URLs into a queue on NATS JetStream and retrieves them, on one machine or many.
// The command urlget runs it:
//
//	urlget submit [flags] URL...   put URLs into the queue
//	urlget work [flags]            retrieve what is in the queue
//	urlget queue status            what is in the queue
//	urlget queue results [-f]      how jobs ended, as JSON Lines
//	urlget queue dead              jobs that could not be done
//	urlget queue retry             submit these again
//	urlget queue purge KIND        forget jobs, results, dead letters or a crawl
//	urlget queue crawls            the names of crawls
//	urlget queue stop              let workers begin nothing more of a crawl
//	urlget queue resume            let them go on
//	urlget queue index DIR         one index for the archives of all workers
//	urlget queue content SHA256    print a content that is kept
//
// It is a program of its own as a NATS server is in it, which most users of urlget do not need.
package main

import (
	"io"
	"log"
	"os"
)

func main() {
	log.SetOutput(io.Discard)
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
