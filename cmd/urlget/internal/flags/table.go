package flags

import (
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/protocols/ftp"
)

// Sets of commands that share flags.
const (
	urls     = Root | Get | Cat | List | Stat | Explain
	all      = urls | Serve
	online   = urls &^ Explain
	trees    = Root | Get | Explain
	contents = Root | Get | Cat
	files    = contents | Explain
	archives = online | Serve | Merge
)

// partial are the flags whose transfer is not that of a whole file.
const partial = "range data post-data post-file method form form-file"

// Table returns the flags of all commands, in the groups and in the order of the help.
func (o *Options) Table() Table {
	return Table{
		{"Output", o.outputFlags()},
		{"Many", o.manyFlags()},
		{"Recursive", o.treeFlags()},
		{"Archive", o.archiveFlags()},
		{"Request", o.requestFlags()},
		{"Network", o.networkFlags()},
		{"Trust", o.trustFlags()},
		{"Login", o.loginFlags()},
		{"Limits", o.limitsFlags()},
		{"Pages", o.pagesFlags()},
		{"Program", o.programFlags()},
		{"One protocol", o.protocolFlags()},
	}
}

// outputFlags returns the flags about where content and messages go.
func (o *Options) outputFlags() []Flag {
	return []Flag{
		{Name: "output-document", Short: "O", In: trees, Value: &o.Output.Document,
			Help: "write to `FILE`; \"-\" is standard output", Content: true, TookURL: "curl's -O is the default here",
			Foreign: []Foreign{
				{Of: "curl", Names: "--output"},
				{Of: "aria2", Names: "--out"},
				{Of: "wget", Names: "--delete-after", Here: "-O /dev/null", Note: "or --spider, for trees"},
			}},
		{Name: "directory-prefix", Short: "P", In: trees, Value: &o.Output.Dir,
			Help: "save files in `DIR`", AlsoIn: Extract, AlsoHelp: "save files below `DIR`", File: true, Content: true,
			Foreign: []Foreign{{Of: "aria2", Names: "--dir"}, {Of: "curl", Names: "--output-dir"}}},
		{Name: "continue", Short: "c", In: files, Value: &o.Output.Continue,
			Help:   "continue a file that is incomplete",
			AlsoIn: List | Stat | Merge, AlsoHelp: "go on with an archive that is there", Tree: Never, Excludes: "timestamping no-clobber " + partial, File: true, Content: true,
			Foreign: []Foreign{
				{Of: "curl", Names: "-C --continue-at"},
				{Of: "aria2", Names: "--remove-control-file --force-save --auto-save-interval --always-resume --max-resume-failure-tries", Note: "it goes on where that is safe"},
			}},
		{Name: "timestamping", Short: "N", In: files, Value: &o.Output.Newer,
			Help: "retrieve only what is newer than the file", Excludes: "continue no-clobber " + partial, File: true, Content: true,
			Foreign: []Foreign{
				{Of: "curl", Names: "-z --time-cond"},
				{Of: "aria2", Names: "--conditional-get"},
				{Of: "curl", Names: "--etag-compare --etag-save"},
			}},
		{Name: "no-clobber", Pair: "nc", In: files, Value: &o.Output.NoClobber,
			Help: "skip what exists as a file (also -nc)", Excludes: "continue timestamping", File: true, Content: true},
		{Name: "output-file", Short: "o", In: urls, Value: &o.Log.File,
			Help: "write messages to the log `FILE`; for content, that is -O", TookURL: "curl's -o is -O FILE",
			Foreign: []Foreign{{Of: "aria2", Names: "--log"}, {Of: "curl", Names: "--stderr"}}},
		{Name: "append-output", Short: "a", In: urls, Value: &o.Log.Append, Help: "append messages to the log `FILE`", TookURL: "nothing is uploaded, as by curl's -a"},
		{Name: "background", Short: "b", In: urls, Value: &o.Log.Background, Help: "go on in the background, with a log"},
		{Name: "sync", In: files, Value: &Choice[download.Sync]{&o.Output.Sync, []string{download.SyncBatch: "batch", download.SyncEach: "each", download.SyncNone: "none"}},
			Help: "make files survive a power failure: `WHEN` is batch, which is in the end and now and then, each or none"},
		{Name: "quiet", Short: "q", In: all, Value: &o.Report.Quiet,
			Help: "print nothing but errors and what was asked for", Excludes: "verbose",
			Foreign: []Foreign{{Of: "curl", Names: "--silent"}}},
		{Name: "no-verbose", Pair: "nv", In: urls, Value: &o.Log.Brief, Help: "print a line for each file, but no progress (also -nv)"},
		{Name: "verbose", Short: "v", In: urls, Value: &o.Report.Verbose,
			Help:   "say more: decisions, and where the entries of listings lead",
			AlsoIn: Version, AlsoHelp: "print the version of Go and of all modules too", Excludes: "quiet",
			Foreign: []Foreign{{Of: "wget", Names: "--rejected-log"}, {Of: "aria2", Names: "--console-log-level --log-level"}}},
		{Name: "server-response", Short: "S", In: urls, Value: &o.Report.Replies,
			Help: "print the servers' replies as they were sent",
			Foreign: []Foreign{
				{Of: "curl", Names: "--include", Note: "the replies go to standard error"},
				{Of: "curl", Names: "--dump-header", Note: "the replies go to standard error"},
				{Of: "wget", Names: "--save-headers", Note: "the replies go to standard error"},
			}},
		{Name: "trace", In: urls, Value: &o.Report.Trace,
			Help:    "print the protocol conversation on standard error, secrets masked",
			Foreign: []Foreign{{Of: "curl", Names: "--trace-ascii --trace-time"}, {Of: "wget", Names: "--debug"}}},
		{Name: "json", In: urls, Value: &o.Report.JSON,
			Help: "print JSON Lines on standard output", AlsoIn: Schemes, AlsoHelp: "print JSON Lines", File: true,
			Foreign: []Foreign{{Of: "curl", Names: "--write-out"}, {Of: "aria2", Names: "--on-*", Note: "the events tell when a file is there"}}},
		{Name: "checksum", In: contents, Value: &o.Output.Checksum,
			Help:    "check the file, as in `ALGO:HEX`, or by a file or URL of checksums",
			Content: true, Words: []string{"sha256:", "sha512:", "sha1:", "md5:"},
			Foreign: []Foreign{{Of: "aria2", Names: "--check-integrity"}, {Of: "aria2", Names: "--hash-check-only --realtime-chunk-checksum"}}},
		{Name: "sha256", In: contents, Value: &o.Output.SHA256, Help: "tell the SHA-256 of what is saved, also with --json", Tree: Never, Content: true},
		{Name: "content-on-error", In: contents, Value: &o.Output.ErrorContent,
			Help: "save the page that comes with an error too; it stays an error", Tree: Never, Content: true,
			Foreign: []Foreign{{Of: "curl", Names: "--fail-with-body"}}},
		{Name: "progress", In: urls, Value: &Choice[ProgressMode]{&o.Report.Progress, []string{"bar", "plain", "json", "none"}},
			Help: "show how transfers go: `MODE` is bar, plain, json or none",
			Foreign: []Foreign{
				{Of: "curl", Names: "--no-progress-meter", Here: "--progress none"},
				{Of: "aria2", Names: "--summary-interval", Here: "--progress plain"},
			}},
		{Name: "color", In: urls, Value: &Choice[ColorMode]{&o.Report.Color, []string{"auto", "always", "never"}},
			Help:    "colour messages: `MODE` is auto, always or never",
			Foreign: []Foreign{{Of: "curl", Names: "--styled-output"}, {Of: "aria2", Names: "--enable-color"}}},
		{Name: "long", Short: "l", In: List, Value: &o.Listing.Long, Help: "show modes, targets of links, numbers and authors of articles"},
		{Name: "human-readable", Short: "h", In: List, Value: &o.Listing.Human, Help: "print sizes as 1.5K, 23M"},
	}
}

// manyFlags returns the flags about several transfers.
func (o *Options) manyFlags() []Flag {
	return []Flag{
		{Name: "input-file", Short: "i", In: urls, Value: (*Once)(&o.List.File),
			Help: "read URLs from `FILE`, a URL or \"-\" (standard input), one a line, or from the links of a page"},
		{Name: "force-html", In: urls, Value: &o.List.HTML, Help: "read the list as an HTML page, whatever its name"},
		{Name: "base", Short: "B", In: urls, Value: &o.List.Base, Help: "resolve what is relative in the list against `URL`", TookURL: "for curl's -B, end the URL in ;type=a"},
		{Name: "jobs", Short: "j", In: trees, Value: &o.Many.Jobs,
			Help:    "run `N` transfers at once",
			Foreign: []Foreign{{Of: "curl", Names: "--parallel-max"}, {Of: "aria2", Names: "--max-concurrent-downloads"}}},
		{Name: "parallel", Short: "Z", In: trees, Value: &o.Many.Eight, Help: "the same as -j 8"},
		{Name: "per-host", In: trees, Value: &o.Many.PerHost, Help: "run `N` at once with one host"},
		{Name: "segments", Short: "s", In: trees, Value: &o.Many.Segments,
			Help:  "retrieve `N` ranges of a large file at once; \"auto\": as many as pay",
			Words: []string{"auto"}, OtherValue: "curl's -s is -q",
			Foreign: []Foreign{{Of: "aria2", Names: "--max-connection-per-server", Note: "or --per-host N for several files"}}},
		{Name: "split", In: trees, Value: &o.Many.Segments, Help: "the same as --segments", Hidden: true},
		{Name: "metalink", In: trees, Value: &o.Many.Metalink,
			Help: "retrieve what Metalink documents describe, and from the mirrors servers name", Content: true,
			Foreign: []Foreign{{Of: "aria2", Names: "--metalink* --follow-metalink", Note: "a flag before the URL of the document"}}},
		{Name: "wait", Short: "w", In: trees, Value: &o.Many.Wait,
			Help: "wait `SECONDS` between retrievals from one host", OtherValue: "curl's -w is --json, which tells the status and more",
			Foreign: []Foreign{{Of: "curl", Names: "--rate"}}},
		{Name: "random-wait", In: trees, Value: &o.Many.RandomWait, Help: "wait from half to one and a half of -w"},
		{Name: "quota", Short: "Q", In: trees, Value: &o.Many.Quota, Help: "begin no more transfers once `SIZE` has come"},
		{Name: "limit-rate", In: all, Value: &o.Network.Rate,
			Help:    "receive at most `SIZE` a second",
			Foreign: []Foreign{{Of: "aria2", Names: "--max-download-limit --max-overall-download-limit"}}},
		{Name: "limit-rate-per-host", In: trees, Value: &o.Many.HostRate, Help: "receive at most `SIZE` a second from one host"},
		{Name: "keep-going", In: trees, Value: &o.Many.KeepGoing, Help: "go on after a failure, as without this flag"},
		{Name: "fail-fast", In: trees, Value: &o.Many.FailFast,
			Help:    "end all at the first failure",
			Foreign: []Foreign{{Of: "curl", Names: "--fail-early"}}},
	}
}

// treeFlags returns the flags about what is retrieved recursively.
func (o *Options) treeFlags() []Flag {
	return []Flag{
		{Name: "recursive", Short: "R", In: List, Value: &o.Listing.Recursive, Help: "list what is below too"},
		{Name: "recursive", Short: "r", In: trees, Value: &o.Tree.Recursive, Help: "retrieve what the URLs lead to as well, as a tree of files", Tree: Makes, Content: true},
		{Name: "level", Short: "l", In: trees, Value: (*Level)(&o.Tree.Level),
			Help: "follow at most `N` links in a row; inf or 0 for any number",
			Tree: Only, Words: []string{endless}, OtherValue: "curl's -l is urlget ls"},
		{Name: "no-parent", Pair: "np", In: trees, Value: &o.Tree.NoParent, Help: "stay in the directory of the URL and below (also -np)", Tree: Only},
		{Name: "mirror", Short: "m", In: trees, Value: &o.Tree.Mirror, Help: "keep a copy: -r -N -l inf, and remember the state", Tree: Makes, Content: true},
		{Name: "delete", In: trees, Value: &o.Tree.Delete, Help: "remove files of an earlier mirror that are gone", Tree: Only, Needs: "mirror timestamping"},
		{Name: "accept", Short: "A", In: trees, Value: &o.Tree.Accept,
			Help: "keep only files that end in or match one of `LIST`",
			Tree: Only, TreeHint: "to name yourself, as curl's -A: -U AGENT", TookURL: "curl's -A is -U AGENT"},
		{Name: "reject", Short: "R", In: trees, Value: &o.Tree.Reject,
			Help: "keep no files that end in or match one of `LIST`",
			Tree: Only, TookURL: "files have the time of the server without curl's -R"},
		{Name: "accept-regex", In: trees, Value: &o.Tree.AcceptURL,
			Help: "follow only URLs that match `REGEX`", Tree: Only,
			Foreign: []Foreign{{Of: "wget", Names: "--include-directories"}}},
		{Name: "reject-regex", In: trees, Value: &o.Tree.RejectURL, Help: "follow no URLs that match `REGEX`", Tree: Only},
		{Name: "accept-type", In: trees, Value: &o.Tree.Types, Help: "keep only the media types in `LIST`, as in image/*", Tree: Only},
		{Name: "domains", Short: "D", In: trees, Value: &o.Tree.Domains,
			Help: "with --span-hosts, go only to the domains in `LIST`",
			Tree: Only, TreeHint: "to have the reply's fields, as curl's -D: -S", Needs: "span-hosts", TookURL: "curl's -D is -S"},
		{Name: "exclude-domains", In: trees, Value: &o.Tree.NoDomains, Help: "do not go to the domains in `LIST`", Tree: Only},
		{Name: "exclude-directories", In: trees, Value: &o.Tree.NoDirs, Help: "do not go into the directories in `LIST`, as in /cgi-bin,/tmp*", Tree: Only},
		{Name: "span-hosts", In: trees, Value: &o.Tree.Span, Help: "go to other hosts too", Tree: Only},
		{Name: "page-requisites", Short: "p", In: trees, Value: &o.Tree.Requisites, Help: "retrieve what pages need: images, styles, scripts", Tree: Makes, Content: true},
		{Name: "convert-links", Short: "k", In: trees, Value: &o.Tree.Convert,
			Help: "make links in pages and menus lead to the files",
			Tree: Only, TreeHint: "to leave certificates unchecked: --insecure; aria2's -k: --segments"},
		{Name: "backup-converted", Short: "K", In: trees, Value: &o.Tree.Originals, Help: "keep what the server sent as NAME.orig", Tree: Only, Needs: "convert-links"},
		{Name: "adjust-extension", Short: "E", In: trees, Value: &o.Tree.Extend, Help: "give pages the extension .html", Tree: Only},
		{Name: "execute", Short: "e", In: trees, Value: (*Several)(&o.Tree.Commands),
			Help: "robots=off is the one `COMMAND` that there is",
			Tree: Only, TreeHint: "to name the page that led here, as curl's -e: --referer URL", Words: []string{"robots=off"}, TookURL: "curl's -e is --referer URL"},
		{Name: "no-robots", In: trees, Value: &o.Tree.NoRobots, Help: "do not heed robots.txt (also -e robots=off)", Tree: Only},
		{Name: "sitemaps", In: trees, Value: &o.Tree.Sitemaps, Help: "begin at the sitemaps of the servers too", Tree: Only},
		{Name: "spider", In: trees, Value: &o.Tree.Spider,
			Help: "save nothing, only see what is there", Tree: Makes, Content: true,
			Foreign: []Foreign{{Of: "aria2", Names: "--dry-run --use-head", Note: "or urlget stat"}}},
		{Name: "crawl-state", In: trees, Value: &o.Tree.State, Help: "keep the state in `FILE`, not in .urlget", Tree: Only},
		{Name: "force-directories", Short: "x", In: trees, Value: &o.Tree.Force, Help: "make directories for single files too"},
		{Name: "no-directories", Pair: "nd", In: trees, Value: &o.Tree.Flat, Help: "make no directories (also -nd)"},
		{Name: "no-host-directories", Pair: "nH", In: trees, Value: &o.Tree.NoHost, Help: "leave out the directory of the host (also -nH)"},
		{Name: "cut-dirs", In: trees, Value: &o.Tree.CutDirs, Help: "leave out the first `N` directories"},
	}
}

// archiveFlags returns the flags about archives.
func (o *Options) archiveFlags() []Flag {
	return []Flag{
		{Name: "warc", In: archives, Value: &o.Archive.WARC, Help: "record everything in `FILE` (.warc.gz); -c goes on with one that is there"},
		{Name: "warc-file", In: archives, Value: &o.Archive.WARC, Help: "the same as --warc", Hidden: true},
		{Name: "warc-max-size", In: archives, Value: &o.Archive.MaxSize, Help: "begin another archive when one has `SIZE`"},
		{Name: "warc-cdx", In: archives, Value: &o.Archive.Index, Help: "write an index (CDXJ) beside the archive"},
		{Name: "warc-dedup", In: archives, Value: &o.Archive.Dedup, Help: "do not record again what the index in `FILE` (CDXJ) has"},
		{Name: "no-warc-compression", In: archives, Value: &o.Archive.Plain, Help: "do not compress the archive"},
		{Name: "replay", In: online | Serve, Value: (*Several)(&o.Archive.Replay), Help: "answer from the archive in `FILE` what it has"},
	}
}

// requestFlags returns the flags about what is sent with a request.
func (o *Options) requestFlags() []Flag {
	return []Flag{
		{Name: "header", Short: "H", In: urls, Value: (*Several)(&o.Request.Header),
			Help: "send a header field, as in `'Name: value'`", PerURL: true, Secret: secretField,
			Foreign: []Foreign{{Of: "curl", Names: "--oauth2-bearer", Here: "--header 'Authorization: Bearer TOKEN'"}}},
		{Name: "user-agent", Short: "U", In: all, Value: &o.Request.Agent, Help: "call yourself `AGENT`", PerURL: true},
		{Name: "referer", In: urls, Value: &o.Request.Referer, Help: "say that `URL` led here", PerURL: true},
		{Name: "data", Short: "d", In: urls, Value: &o.Send.Data,
			Help: "send `TEXT` by POST, or the lines of a file, as one: @FILE", TookURL: "wget's -d is --trace",
			Foreign: []Foreign{{Of: "curl", Names: "--data-ascii --data-raw", Note: "of which @FILE is a file"}, {Of: "wget", Names: "--body-data"}}},
		{Name: "post-data", In: urls, Value: &o.Send.Data, Help: "the same as --data"},
		{Name: "post-file", In: urls, Value: &o.Send.PostFile,
			Help:    "send the content of `FILE` by POST, as it is (\"-\" for standard input)",
			Foreign: []Foreign{{Of: "curl", Names: "--data-binary"}, {Of: "wget", Names: "--body-file"}}},
		{Name: "method", Short: "X", In: urls, Value: &o.Send.Method,
			Help: "use the request method `METHOD`", Words: []string{"GET", "POST", "PUT", "PATCH", "DELETE"},
			Foreign: []Foreign{
				{Of: "curl", Names: "--upload-file", Here: "-X PUT --post-file FILE", Note: "to HTTP servers; nothing is uploaded otherwise"},
				{Of: "curl", Names: "--request --request-target"},
			}},
		{Name: "form", Short: "F", In: urls, Value: &FormFlag{to: &o.Send.Answers},
			Help:    "answer a question of a form, as in `'Name=value'` or 'Name=@FILE', which may end in ;type=TYPE and ;filename=NAME",
			TookURL: "wget's -F is --force-html"},
		{Name: "form-file", In: urls, Value: &FormFlag{to: &o.Send.Answers, file: true}, Help: "answer with the content of a file, as in `'Name=PATH'`"},
		{Name: "cookies", In: urls, Value: &o.Cookies.Both,
			Help:    "keep cookies in `FILE` (cookies.txt) from one run to the next",
			Foreign: []Foreign{{Of: "curl", Names: "--cookie-jar --junk-session-cookies", Note: "cookies of a session are not kept"}}},
		{Name: "load-cookies", In: urls, Value: &o.Cookies.Load,
			Help:    "begin with the cookies in `FILE`, which stays as it is",
			Foreign: []Foreign{{Of: "curl", Names: "--cookie", Note: "or --header 'Cookie: name=value'"}}},
		{Name: "save-cookies", In: urls, Value: &o.Cookies.Save, Help: "save the cookies in `FILE` at the end"},
		{Name: "keep-session-cookies", In: urls, Value: &o.Cookies.Session, Help: "save those too that are for one session"},
		{Name: "range", In: contents, Value: &o.Request.Range,
			Help: "retrieve only the bytes `A-B`, counted from 0; A- from A on, -N the last N", Content: true,
			Foreign: []Foreign{{Of: "wget", Names: "--start-pos", Here: "--range N-"}}},
		{Name: "view", In: urls, Value: &o.Request.View, Help: "ask for the view `TYPE` of what has several, as in 'text/html;lang=De_DE'"},
		{Name: "compressed", In: urls, Value: &o.Driver.Web.Compressed,
			Help:    "ask HTTP servers for compressed content, and decode it",
			Foreign: []Foreign{{Of: "wget", Names: "--compression"}, {Of: "aria2", Names: "--http-accept-gzip"}}},
		{Name: "text-line-ends", In: urls, Value: (*LineEnds)(&o.Request.LineEnds), Help: "let the lines of text end as `HOW` says, in every protocol: lf, crlf or as-is"},
		{Name: "head", Short: "I", In: Root, Value: &o.Head, Help: "print the metadata and the reply's fields, without the content"},
	}
}

// networkFlags returns the flags about the network.
func (o *Options) networkFlags() []Flag {
	return []Flag{
		{Name: "tries", Short: "t", In: urls, Value: &Count{&o.Network.Tries, 0, 0},
			Help: "try `N` times; 0 is without end", OtherValue: "curl's -t is for telnet and has no equivalent here",
			Foreign: []Foreign{{Of: "curl", Names: "--retry"}, {Of: "aria2", Names: "--max-tries"}, {Of: "aria2", Names: "--max-file-not-found"}}},
		{Name: "timeout", Short: "T", In: all, Value: &o.Network.Timeout,
			Help:       "wait at most `SECONDS` for a connection, a reply, more data",
			OtherValue: "curl's -T uploads; to HTTP servers, that is -X PUT --post-file FILE",
			Foreign: []Foreign{
				{Of: "curl", Names: "-Y --speed-limit -y --speed-time", Note: "what makes no progress for that long is given up"},
				{Of: "aria2", Names: "--lowest-speed-limit"},
			}},
		{Name: "connect-timeout", In: all, Value: &o.Network.ConnectTimeout,
			Help:    "wait at most `SECONDS` for a connection",
			Foreign: []Foreign{{Of: "wget", Names: "--dns-timeout"}}},
		{Name: "read-timeout", In: all, Value: &o.Network.ReadTimeout, Help: "wait at most `SECONDS` for a reply or more data"},
		{Name: "max-time", In: urls, Value: &o.Network.MaxTime,
			Help:    "give up a URL that is not done within `SECONDS`",
			Foreign: []Foreign{{Of: "aria2", Names: "--stop --stop-with-process"}}},
		{Name: "retry-max-wait", In: urls, Value: &o.Network.RetryWait,
			Help: "give up if a server asks to wait longer than `SECONDS`",
			Foreign: []Foreign{
				{Of: "curl", Names: "--retry-delay --retry-max-time", Note: "the wait grows up to that, or is what the server asks for"},
				{Of: "aria2", Names: "--retry-wait", Note: "the wait grows up to that, or is what the server asks for"},
				{Of: "wget", Names: "--waitretry", Note: "the wait grows up to that, or is what the server asks for"},
			}},
		{Name: "max-redirect", In: all, Value: &Count{&o.Network.MaxRedirect, 0, -1},
			Help:    "follow at most `N` redirects",
			Foreign: []Foreign{{Of: "curl", Names: "--max-redirs"}}},
		{Name: "allow-redirect", In: all, Value: &o.Limits.Redirects,
			Help:    "follow redirects to `SCHEME` too, besides http, https, ftp and ftps",
			Foreign: []Foreign{{Of: "curl", Names: "--proto-redir"}}},
		{Name: "proxy", In: all, Value: &o.Proxy.URL,
			Help: "go through the proxy at `URL` (http, https, connect, socks4, socks4a, socks5)", PerURL: true, Secret: withAt,
			Foreign: []Foreign{
				{Of: "curl", Names: "--preproxy --proxy1.0"},
				{Of: "curl", Names: "--socks4 --socks4a", Here: "--proxy socks4://HOST:PORT"},
				{Of: "aria2", Names: "--all-proxy --http-proxy --https-proxy --ftp-proxy"},
			}},
		{Name: "no-proxy", In: all, Value: &o.Proxy.None,
			Help: "use no proxy, or none for the hosts in `LIST`, as in no_proxy", Bare: "*", PerURL: true,
			Foreign: []Foreign{{Of: "curl", Names: "--noproxy", Here: "--no-proxy", Note: "with hosts as in --no-proxy=LIST"}}},
		{Name: "proxy-tunnel", In: all, Value: &o.Proxy.Tunnel,
			Help:    "tunnel everything through an http proxy by CONNECT",
			Foreign: []Foreign{{Of: "curl", Names: "--proxytunnel"}, {Of: "aria2", Names: "--proxy-method"}}},
		{Name: "socks5", In: all, Value: &o.Proxy.SOCKS5,
			Help:    "go through the SOCKS5 proxy at `HOST:PORT`, which resolves names",
			Foreign: []Foreign{{Of: "curl", Names: "--socks5-hostname"}}},
		{Name: "inet4-only", Short: "4", In: all, Value: &o.Network.IPv4,
			Help:    "use only IPv4",
			Foreign: []Foreign{{Of: "aria2", Names: "--disable-ipv6"}}},
		{Name: "inet6-only", Short: "6", In: all, Value: &o.Network.IPv6, Help: "use only IPv6"},
		{Name: "bind-address", In: all, Value: &o.Network.Bind,
			Help:    "connect from the local `ADDRESS`",
			Foreign: []Foreign{{Of: "curl", Names: "--interface", Here: "--bind-address ADDR"}}},
		{Name: "resolve", In: all, Value: (*Several)(&o.Network.Resolve),
			Help: "take an address for a host, as in `HOST:PORT:ADDR`",
			Foreign: []Foreign{
				{Of: "curl", Names: "--connect-to --dns-servers --dns-interface --doh-url"},
				{Of: "wget", Names: "--dns-servers --bind-dns-address --no-dns-cache"},
				{Of: "aria2", Names: "--async-dns* --dscp --multiple-interface --socket-recv-buffer-size"},
			}},
		{Name: "http1", In: all, Value: &o.Driver.Web.HTTP1,
			Help:    "speak HTTP/1.1, also to servers that have HTTP/2",
			Foreign: []Foreign{{Of: "curl", Names: "-0 --http1.0 --http1.1"}}},
		{Name: "http2", In: all, Value: &o.Driver.Web.HTTP2, Help: "insist on HTTP/2 with servers of https; without it, a single URL comes by HTTP/1.1"},
		{Name: "http3", In: all, Value: &o.Driver.HTTP3, Help: "ask servers of https by HTTP/3 first, and by TCP where that fails"},
		{Name: "gateway", In: all, Value: (*Several)(&o.Proxy.Gateways), Help: "retrieve URLs of a scheme from a gateway, as in `SCHEME=URL`", Secret: withAt},
	}
}

// trustFlags returns the flags about whom to trust.
func (o *Options) trustFlags() []Flag {
	return []Flag{
		{Name: "insecure", In: all, Value: &o.Trust.Insecure,
			Help:    "do not check certificates",
			Foreign: []Foreign{{Of: "aria2", Names: "--check-certificate", Note: "certificates are checked without it"}}},
		{Name: "no-check-certificate", In: all, Value: &o.Trust.Insecure, Help: "the same as --insecure"},
		{Name: "ca-certificate", In: all, Value: &o.Trust.CA,
			Help: "trust the certificate authorities in `FILE` (PEM) and no others",
			Foreign: []Foreign{
				{Of: "curl", Names: "--cacert"},
				{Of: "curl", Names: "--capath"},
				{Of: "wget", Names: "--ca-directory --crl-file --random-file --egd-file"},
			}},
		{Name: "certificate", In: all, Value: &o.Trust.Certificate,
			Help:    "show the certificate in `FILE` (PEM)",
			Foreign: []Foreign{{Of: "curl", Names: "--cert"}}},
		{Name: "private-key", In: all, Value: &o.Trust.Key,
			Help:    "its private key is in `FILE` (PEM); else with the certificate",
			Foreign: []Foreign{{Of: "curl", Names: "--key"}}},
		{Name: "pinned", In: all, Value: &o.Trust.Pinned,
			Help:    "insist on the server's public key, as in `sha256//BASE64`",
			Foreign: []Foreign{{Of: "curl", Names: "--pinnedpubkey"}}},
		{Name: "known-hosts", In: all, Value: (*Several)(&o.Driver.SSH.KnownHosts),
			Help:    "know SSH servers by the keys in `FILE`, not those in ~/.ssh/known_hosts",
			Foreign: []Foreign{{Of: "curl", Names: "--hostpubmd5 --hostpubsha256"}, {Of: "aria2", Names: "--ssh-host-key-md"}}},
		{Name: "tofu", In: all, Value: &o.Driver.Gemini.Certificates, Help: "remember the certificates of Gemini servers in `FILE`", Home: true},
	}
}

// loginFlags returns the flags about logins.
func (o *Options) loginFlags() []Flag {
	return []Flag{
		{Name: "user", Short: "u", In: urls, Value: &o.Login.User,
			Help: "log in as `USER`, or with USER:PASSWORD", PerURL: true, Secret: withColon,
			Foreign: []Foreign{
				{Of: "wget", Names: "--http-user --ftp-user --use-askpass", Here: "--user USER"},
				{Of: "aria2", Names: "--http-user --ftp-user", Here: "--user USER"},
			}},
		{Name: "password", In: urls, Value: &o.Login.Password,
			Help: "log in with `PASSWORD`", PerURL: true, Secret: always,
			Foreign: []Foreign{{Of: "wget", Names: "--http-password --ftp-password"}, {Of: "aria2", Names: "--http-passwd --ftp-passwd"}}},
		{Name: "password-file", In: urls, Value: &o.Login.PasswordFile, Help: "log in with the password in the first line of `FILE`", PerURL: true},
		{Name: "ask-password", In: urls, Value: &o.Login.Ask, Help: "ask for the password at the terminal"},
		{Name: "netrc", In: all, Value: &o.Login.Netrc,
			Help:    "insist on the netrc file in the home directory",
			Foreign: []Foreign{{Of: "curl", Names: "-n"}}},
		{Name: "netrc-file", In: all, Value: &o.Login.NetrcFile,
			Help:    "take logins from `FILE`",
			Foreign: []Foreign{{Of: "aria2", Names: "--netrc-path"}}},
		{Name: "no-netrc", In: all, Value: &o.Login.NoNetrc, Help: "do not read the netrc file"},
		{Name: "identity", In: all, Value: (*Several)(&o.Driver.SSH.Identities),
			Help:    "log in to SSH servers with the private key in `FILE`",
			Foreign: []Foreign{{Of: "curl", Names: "--pubkey", Note: "the public key is found with the private one"}}},
		{Name: "allow-plaintext-login", In: all, Value: &o.Driver.News.AllowPlaintext, Help: "let passwords travel to servers of news, mail, LDAP and Z39.50 without TLS"},
	}
}

// limitsFlags returns the flags about safety limits.
func (o *Options) limitsFlags() []Flag {
	return []Flag{
		{Name: "max-size", In: all, Value: &o.Limits.MaxSize,
			Help:    "refuse what is larger than `SIZE`, decoded or not",
			Foreign: []Foreign{{Of: "curl", Names: "--max-filesize"}}},
		{Name: "allow-port", In: all, Value: &o.Limits.Ports, Help: "allow port `N`, which belongs to another service"},
		{Name: "allow-private", In: all, Value: &o.Limits.Private, Help: "let public resources lead to private addresses"},
	}
}

// pagesFlags returns the flags about the pages of serve.
func (o *Options) pagesFlags() []Flag {
	return []Flag{
		{Name: "listen", In: Serve, Value: &o.Serve.Listen, Help: "listen at `ADDRESS` of this machine; port 0 is any that is free"},
		{Name: "open", In: Serve, Value: &o.Serve.Open, Help: "open the address in the browser"},
		{Name: "bookmarks", In: Serve, Value: &o.Serve.Bookmarks, Help: "keep bookmarks in `FILE`, not in ~/.config/urlget/bookmarks"},
	}
}

// programFlags returns the flags about the program itself.
func (o *Options) programFlags() []Flag {
	return []Flag{
		{Name: "config", In: all, Value: &o.Config.File,
			Help: "take settings from `FILE`, not from ~/.config/urlget/config", CommandLine: true,
			Foreign: []Foreign{{Of: "aria2", Names: "--conf-path"}}},
		{Name: "no-config", In: all, Value: &o.Config.None,
			Help: "take no settings from a file", CommandLine: true,
			Foreign: []Foreign{{Of: "curl", Names: "--disable"}, {Of: "aria2", Names: "--no-conf"}}},
		{Name: "help", In: List, Value: new(bool), Help: "print the help", CommandLine: true},
		{Name: "version", Short: "V", In: Root, Value: &o.Version, Help: "print the version", CommandLine: true},
	}
}

// protocolFlags returns the flags about one protocol each.
func (o *Options) protocolFlags() []Flag {
	return []Flag{
		{Name: "location", Short: "L", In: contents, Value: new(bool), Hidden: true}, // how it always works here
		{Name: "fail", Short: "f", In: contents, Value: new(bool), Hidden: true},
		{Name: "remote-header-name", Short: "J", In: contents, Value: new(bool), Hidden: true},
		{Name: "content-disposition", In: contents, Value: new(bool), Hidden: true},
		{Name: "trust-server-names", In: contents, Value: new(bool), Hidden: true},
		{Name: "show-error", In: contents, Value: new(bool), Hidden: true},
		{Name: "terminal", In: Serve, Value: &o.Serve.Terminal, Help: "let pages open sessions (telnet, rlogin, tn3270), each after a click"},
		{Name: "no-default-gateways", In: all, Value: &o.Proxy.NoGateways, Help: "do not ask the public resolvers of doi, hdl and urn:ietf:rfc"},
		{Name: "ftp-active", In: all, Value: &o.Driver.FTP.Active,
			Help:    "let FTP servers connect to us for data (EPRT, PORT)",
			Foreign: []Foreign{{Of: "wget", Names: "--no-passive-ftp"}, {Of: "curl", Names: "--ftp-port"}}},
		{Name: "ftp-account", In: all, Value: &o.Driver.FTP.Account, Help: "tell FTP servers that ask for it the account `NAME`"},
		{Name: "ftp-tls", In: all, Value: &Choice[ftp.TLSMode]{&o.Driver.FTP.TLS, []string{ftp.TLSOff: "off", ftp.TLSTry: "try", ftp.TLSRequire: "require"}},
			Help: "ask FTP servers for TLS: `MODE` is try, require or off",
			Foreign: []Foreign{
				{Of: "curl", Names: "--ssl --ftp-ssl", Here: "--ftp-tls try"},
				{Of: "curl", Names: "--ssl-reqd --ftp-ssl-reqd", Here: "--ftp-tls require"},
			}},
		{Name: "ftp-pipelining", In: all, Value: &Choice[ftp.Pipelining]{&o.Driver.FTP.Pipelining, []string{ftp.PipeliningAuto: "auto", ftp.PipeliningOn: "on", ftp.PipeliningOff: "off"}},
			Help: "send FTP commands ahead of replies: `MODE` is auto, on or off"},
		{Name: "ftp-guess-type", In: all, Value: &o.Driver.FTP.GuessType, Help: "retrieve by FTP as text what its suffix says is text"},
		{Name: "attributes", In: urls, Value: &o.Driver.Gopher.Attributes, Help: "ask Gopher+ servers for the attributes of items, not their content"},
		{Name: "news-server", In: all, Value: &o.Driver.News.Server, Help: "look news up at `SERVER` (host, host:port or URL); else $NNTPSERVER"},
		{Name: "max-hits", In: urls, Value: (*Number)(&o.Driver.WAIS.MaxHits), Help: "ask WAIS servers for the best `N` documents of a search, not 100"},
		{Name: "newest", In: all, Value: (*Number)(&o.Driver.News.Newest), Help: "list only the last `N` articles of a newsgroup"},
		{Name: "since", In: all, Value: (*Date)(&o.Driver.News.Since), Help: "list only articles since `DATE`, such as 2026-01-31 or 2026-01-31T12:00:00Z"},
		{Name: "starttls", In: all, Value: &o.Driver.News.StartTLS, Help: "begin TLS with news, mail and LDAP servers before anything else is said"},
		{Name: "mailbox", In: all, Value: (*Several)(&o.Driver.Mailboxes), Help: "find messages in `FILE`, an mbox or Maildir"},
		{Name: "no-ssh-config", In: all, Value: &o.Driver.SSH.NoConfig, Help: "do not read ~/.ssh/config"},
		{Name: "nfs-user", In: all, Value: (*NFSUser)(&o.Driver.NFS), Help: "ask NFS servers as user `UID[:GID,...]`, not as nobody"},
		{Name: "nfs-mount-port", In: all, Value: &o.Driver.NFS.MountPort, Help: "find what NFS servers export at port `N`, without their port mapper"},
		{Name: "login", In: urls, Value: &o.Driver.Login, Help: "log in to sessions with the user and password of the URL, in clear"},
		{Name: "transcript", In: urls, Value: &o.Driver.Transcript, Help: "keep both directions of sessions in `FILE`, passwords too"},
		{Name: "driver", In: all, Value: &o.Driver.Programs, Help: "let a program serve an experimental scheme, as in `x-SCHEME=PROGRAM`"},
		{Name: "parts", In: contents, Value: &o.Mail.Parts, Help: "list the parts of a message"},
		{Name: "part", In: contents, Value: &o.Mail.Part, Help: "retrieve part `N` of a message, decoded"},
		{Name: "text", In: contents, Value: &o.Mail.Text, Help: "retrieve the readable text of a message"},
		{Name: "compose", In: contents, Value: &o.Mail.Compose, Help: "print the message that a mail address proposes; send nothing"},
		{Name: "replay-only", In: online | Serve, Value: &o.Archive.ReplayOnly, Help: "with --replay: answer nothing else, and send nothing"},
		{Name: "replay-at", In: online, Value: (*Date)(&o.Archive.ReplayAt), Help: "with --replay: as it was at `DATE`, such as 2026-01-31, not the last time"},
	}
}
