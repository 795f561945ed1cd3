// Package job performs a single operation on a single URL and reports its outcome, in the same way
// for a command, a crawler and a queue worker.
//
// A [Job] says what to do: retrieve, list or describe a URL, with which request fields, and where
// to put the content. A [Runner] does it: it distinguishes documents, listings and patterns,
// retries, resumes, and always returns a [Result], even for a failure. [Hooks] observe the job and
// take part in it while it runs. A Runner prints nothing and keeps no state between jobs, so it may
// be used concurrently.
//
// # JSON
//
// Jobs and results are also records for queues and lists, one JSON object each. Their fields are
// named in the documentation of the types; what is unknown, zero or unset is absent. Fields are
// only ever added, and readers ignore those that they do not know. A Job has all that it takes to
// do it, so it may have secrets, in its URL, header, form and data; a Result never has any.
//
// A Job from an untrusted source must be read by [Decode], which bounds and validates it. That does
// not mean that its URL is safe to open: a program that accepts jobs from strangers must use its
// [fetch.Policy] to forbid what they must not reach, such as local files.
package job
