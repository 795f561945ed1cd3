// Package urlget has no code. It says where things are.
//
// The library that retrieves what a URL names, whatever its scheme, is
// [github.com/urlget/urlget/fetch]. A program gives it the schemes that it wants: all of them by
// [github.com/urlget/urlget/protocols], or single drivers from the packages below that.
//
//	c := fetch.New(nil, protocols.All)
//	defer c.Close()
//	text, err := c.ReadAll(ctx, "gopher://gopher.example/0/about.txt", 1<<20)
//
// A scheme of one's own is a driver: [github.com/urlget/urlget/fetch/driver] has what it needs, and
// [github.com/urlget/urlget/fetch/driver/wire] reads and writes lines.
//
// Other packages build on it:
//
//   - [github.com/urlget/urlget/fetch/uri] takes URLs apart, resolves and writes them;
//     [github.com/urlget/urlget/fetch/uri/find] finds them in text.
//   - [github.com/urlget/urlget/fetch/download] saves files, with resume and retries.
//   - [github.com/urlget/urlget/fetch/job] does with a URL what the command does.
//   - [github.com/urlget/urlget/fetch/fetchfs] shows a tree of URLs as an fs.FS.
//   - [github.com/urlget/urlget/fetch/fetchhttp] teaches an http.Client the schemes, and is a
//     gateway for others.
//   - [github.com/urlget/urlget/fetch/links] finds what pages lead to, and
//     [github.com/urlget/urlget/fetch/message] reads mail and news.
//   - [github.com/urlget/urlget/fetch/middleware] limits rates and connections, and
//     [github.com/urlget/urlget/fetch/netrc] finds logins.
//   - [github.com/urlget/urlget/fetch/render] writes listings and events for people and programs.
//   - [github.com/urlget/urlget/crawl] visits many URLs, and
//     [github.com/urlget/urlget/crawl/mirror] keeps copies of trees.
//   - [github.com/urlget/urlget/archive/warc] reads and writes WARC files,
//     [github.com/urlget/urlget/archive/capture] records exchanges in them, and
//     [github.com/urlget/urlget/archive/replay] answers requests from them.
//   - [github.com/urlget/urlget/queue] retrieves URLs with many workers, and
//     [github.com/urlget/urlget/serve] shows them in a browser.
//   - [github.com/urlget/urlget/fetchtest] checks drivers, and has servers for tests.
//
// The command is [github.com/urlget/urlget/cmd/urlget]. docs/library.md is a guide to the library,
// docs/architecture.md the plan of the whole.
package urlget
