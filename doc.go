// Package urlget is the root of the module. It has no code, but lists the packages.
//
// Package [github.com/urlget/urlget/fetch] retrieves URLs of any scheme. A program loads the schemes
// that it needs: all of them with [github.com/urlget/urlget/protocols], or single drivers from the
// packages below it.
//
//	c := fetch.New(nil, protocols.All)
//	defer c.Close()
//	text, err := c.ReadAll(ctx, "gopher://gopher.example/0/about.txt", 1<<20)
//
// # Use
//
// One URL:
//
//   - [github.com/urlget/urlget/fetch] gets, lists and describes resources, and opens sessions.
//   - [github.com/urlget/urlget/protocols] loads the drivers.
//   - [github.com/urlget/urlget/fetch/uri] parses, resolves and formats URLs.
//   - [github.com/urlget/urlget/fetch/uri/find] finds URLs in text.
//   - [github.com/urlget/urlget/fetch/download] saves files, with resume and retries.
//   - [github.com/urlget/urlget/fetch/job] processes a URL as the command does.
//   - [github.com/urlget/urlget/fetch/retry] decides when a failed attempt is repeated.
//   - [github.com/urlget/urlget/fetch/metalink] reads mirrors and checksums from Metalink documents.
//   - [github.com/urlget/urlget/fetch/formdata] sends forms with files.
//   - [github.com/urlget/urlget/fetch/cookies] keeps cookies in files.
//   - [github.com/urlget/urlget/fetch/netrc] finds logins in .netrc files.
//   - [github.com/urlget/urlget/fetch/links] finds the links of a page.
//   - [github.com/urlget/urlget/fetch/message] reads mail and news.
//   - [github.com/urlget/urlget/fetch/member] lists remote archives and retrieves their members.
//   - [github.com/urlget/urlget/fetch/fetchfs] presents a tree of URLs as an fs.FS.
//   - [github.com/urlget/urlget/fetch/fetchhttp] adds the schemes to an http.Client, and is a gateway.
//
// Many URLs:
//
//   - [github.com/urlget/urlget/crawl] follows links and listings from a URL.
//   - [github.com/urlget/urlget/crawl/mirror] keeps a copy of a tree in a directory.
//   - [github.com/urlget/urlget/crawl/robots] reads robots.txt files.
//   - [github.com/urlget/urlget/crawl/schedule] runs tasks in parallel, within limits for each host.
//   - [github.com/urlget/urlget/queue] shares jobs among the workers of several machines.
//   - [github.com/urlget/urlget/queue/jetstream] keeps a queue in NATS JetStream.
//   - [github.com/urlget/urlget/queue/jetstream/embedded] runs a NATS server in the process.
//   - [github.com/urlget/urlget/queue/s3] stores retrieved content in an S3 bucket.
//   - [github.com/urlget/urlget/queue/otel] sends spans of jobs to OpenTelemetry.
//
// Archives and pages:
//
//   - [github.com/urlget/urlget/archive] imports mirrors, mailboxes and other archives, and extracts files.
//   - [github.com/urlget/urlget/archive/warc] reads, writes and indexes WARC files.
//   - [github.com/urlget/urlget/archive/wacz] reads and writes WACZ files.
//   - [github.com/urlget/urlget/archive/capture] records the exchanges of a client in WARC files.
//   - [github.com/urlget/urlget/archive/replay] serves requests from WARC files.
//   - [github.com/urlget/urlget/archive/cache] answers requests from an archive while it is fresh.
//   - [github.com/urlget/urlget/archive/memento] serves requests from web archives, as of a date.
//   - [github.com/urlget/urlget/serve] shows any URL in a browser.
//
// # Extend
//
//   - [github.com/urlget/urlget/fetch/driver] is a kit for drivers.
//   - [github.com/urlget/urlget/fetch/driver/wire] reads and writes the lines of text protocols.
//   - [github.com/urlget/urlget/fetch/middleware] limits rates and connections.
//   - [github.com/urlget/urlget/fetch/middleware/otel] reports exchanges to OpenTelemetry.
//   - [github.com/urlget/urlget/protocols/http/hsts] stores the hosts that want https only (RFC 6797).
//   - [github.com/urlget/urlget/protocols/ftp/listing] reads the directory listings of FTP servers.
//
// # Test
//
//   - [github.com/urlget/urlget/fetchtest] checks drivers and middleware.
//   - [github.com/urlget/urlget/fetchtest/drive] makes requests in the tests of drivers.
//   - [github.com/urlget/urlget/fetchtest/faultproxy] disturbs connections to a server.
//   - [github.com/urlget/urlget/fetchtest/loopback] starts all test servers with the same files.
//   - [github.com/urlget/urlget/fetchtest/servers] is the base of test servers. The packages below it
//     are servers, one for each protocol.
//   - [github.com/urlget/urlget/fetchtest/transcript] plays recorded conversations.
//   - [github.com/urlget/urlget/fetchtest/warccheck] reads WARC files strictly.
//   - [github.com/urlget/urlget/queue/queuetest] checks engines and stores of queues.
//
// The packages of the queue are in a module of their own, github.com/urlget/urlget/queue.
//
// The packages below bench, cmd, examples, integration and tools, also in queue, are programs and tests
// without a compatibility promise. The command is [github.com/urlget/urlget/cmd/urlget].
// docs/library.md is a guide to the library, and docs/architecture.md describes the design.
package urlget
