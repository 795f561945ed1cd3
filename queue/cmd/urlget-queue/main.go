//go:build !gendoc

// Urlget-queue manages queues of URLs on NATS JetStream and runs their workers, on one machine or
// many. The command urlget runs it:
//
//	urlget submit [flags] URL...   add URLs to a queue
//	urlget work [flags]            retrieve the URLs of a queue
//	urlget queue status            print the number of jobs, or the state of a crawl
//	urlget queue watch             print the progress until a signal
//	urlget queue workers           print the workers that run now
//	urlget queue jobs              print the unfinished jobs
//	urlget queue cancel            cancel unfinished jobs, and record that in their results
//	urlget queue results [-f]      print the results of jobs, as JSON Lines
//	urlget queue dead              print the dead letters: jobs that failed for good
//	urlget queue retry [ID...]     submit dead letters again
//	urlget queue audit             compare a receipt of submit with the results
//	urlget queue compact           move old results from the servers to the store
//	urlget queue purge KIND        delete jobs, results, dead letters or a crawl
//	urlget queue crawls            print the names of the crawls
//	urlget queue pause             pause a queue: workers start no more jobs
//	urlget queue drain             refuse submissions and finish the jobs that are there
//	urlget queue resume            resume a paused or draining queue
//	urlget queue limits [FILE]     print the limits of single hosts, or replace them
//	urlget queue index DIR         write one index of the archives of all workers
//	urlget queue content SHA256    print the stored content with a digest
//
// It is a separate program because it contains a NATS server, which most users of urlget do not
// need.
package main

import (
	"io"
	"log"
	"os"
	"runtime/debug"
)

// gcPercent is the GOGC of the command, as in urlget. A worker makes much garbage for each job and needs
// little memory (docs/machines-evidence.md).
const gcPercent = 200

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	log.SetOutput(io.Discard)
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
