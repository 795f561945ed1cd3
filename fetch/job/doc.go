// Package job performs a single operation on a single URL and reports its outcome, for commands,
// crawlers and queue workers.
//
// A [Job] describes the operation: retrieve, list or describe a URL, with request fields and an
// output. A [Runner] performs it: it distinguishes documents, listings and patterns, retries,
// resumes, and always returns a [Result], even for a failure. [Hooks] observe the job while it runs
// and can consume its content. A Runner prints nothing and keeps no state between jobs. It is safe
// for concurrent use.
//
// # JSON
//
// Jobs and results are also records for queues and lists, one JSON object each. The types document
// the names of their fields. Unknown, zero and unset fields are absent. Fields are only added, never
// removed, and readers ignore unknown ones. A Job may contain secrets, in its URL, header, form and
// data; a Result never does.
//
// A Job from an untrusted source must be read by [Decode], which bounds and validates it. Its URL may
// still be unsafe to open. A program that accepts untrusted jobs must restrict them with its
// [fetch.Policy], for example to exclude local files.
package job
