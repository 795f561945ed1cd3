package flags

import (
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/protocols/ftp"
)

const (
	urls     = sending | Lock
	sending  = Root | Get | Cat | List | Stat | Explain
	all      = owner | MCP
	owner    = urls | Serve // with the logins of the user
	online   = urls &^ Explain
	trees    = Root | Get | Explain
	contents = Root | Get | Cat
	files    = contents | Explain
	many     = trees | Lock
	archives = online | Serve | MCP | Merge
)

const upload = "data post-data post-file method form form-file"

// whole lists the flags for complete resources. They cannot be combined with flags that extract
// content from a message.
const whole = "continue timestamping no-clobber range"

const (
	onlyGet = "a recursive retrieval only sends GET requests"
	wgetF   = "wget's -F is --force-html here; -F NAME=VALUE sends a form"
	curlO   = "curl's -O is the default here"
	wgetX   = "wget's -X is --exclude-directories"
	otherE  = "curl's -e is --referer URL; wget's -e http_proxy=URL is --proxy URL; for lftp's -e 'mirror DIR', use urlget -m URL"
)

const generalGroup = "General"

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
		{"Server", o.pagesFlags()},
		{generalGroup, o.programFlags()},
		{"Schemes", o.protocolFlags()},
	}
}

func (o *Options) outputFlags() []Flag {
	return []Flag{
		{Name: "output-document", Short: "O", In: trees, Value: &o.Output.Document,
			Help: "save to `FILE`; \"-\" is standard output", Tree: Never, TreeHint: "use -P DIR to save them below a directory", Content: true, Other: curlO,
			Foreign: []Foreign{
				{Of: "curl", Names: "-o --output"},
				{Of: "aria2", Names: "-o --out"},
				{Of: "wget", Names: "--delete-after", Here: "-O /dev/null", Note: "or --spider, for trees"},
			}},
		{Name: "directory-prefix", Short: "P", In: trees, Value: &o.Output.Dir,
			Help: "save files in `DIR`", AlsoIn: Extract, AlsoHelp: "save files below `DIR`", File: true, Content: true,
			Other:   "curl's -P - is --ftp-active; aria2's -P is --glob-ranges; rclone's -P is the default here",
			Foreign: []Foreign{{Of: "aria2", Names: "--dir"}, {Of: "curl", Names: "--output-dir"}}},
		{Name: "continue", Short: "c", In: files, Value: &o.Output.Continue,
			Help:   "resume a partial download",
			AlsoIn: List | Stat | Merge, AlsoHelp: "append to an existing archive", Tree: Never, // of no effect there, see checkRow
			Excludes: "no-clobber", Yields: upload + " timestamping", File: true, Content: true,
			Foreign: []Foreign{
				{Of: "curl", Names: "-C --continue-at"},
				{Of: "aria2", Names: "--remove-control-file --force-save --auto-save-interval --always-resume --max-resume-failure-tries", Note: "it resumes when that is safe"},
			}},
		{Name: "timestamping", Short: "N", In: files, Value: &o.Output.Newer,
			Help: "retrieve a file only if it is newer than the local copy", Excludes: "no-clobber", Yields: upload + " locked continue", File: true, Content: true,
			Foreign: []Foreign{
				{Of: "curl", Names: "-z --time-cond"},
				{Of: "aria2", Names: "--conditional-get"},
				{Of: "curl", Names: "--etag-compare --etag-save"},
			}},
		{Name: "no-clobber", Pair: "nc", In: files, Value: &o.Output.NoClobber,
			Help: "skip files that already exist (also -nc)", File: true, Content: true},
		{Name: "log", In: urls, Value: &o.Log.File, Help: "write messages to `FILE`",
			Foreign: []Foreign{{Of: "wget", Names: "-o --output-file"}, {Of: "curl", Names: "--stderr"}}},
		{Name: "log-append", In: urls, Value: &o.Log.Append, Help: "append messages to `FILE`", Excludes: "log",
			Foreign: []Foreign{{Of: "wget", Names: "-a --append-output"}}},
		{Name: "background", Short: "b", In: urls, Value: &o.Log.Background, Help: "run in the background and write messages to a log"},
		{Name: "sync", In: files, Value: oneOf(&o.Output.Sync, []string{download.SyncBatch: "batch", download.SyncEach: "each", download.SyncNone: "none"}),
			Help: "flush files to disk: `WHEN` is batch (periodically and at the end), each or none"},
		{Name: "quiet", Short: "q", In: all, Value: &o.Report.Quiet,
			Help: "print only errors and requested output", Excludes: "verbose",
			Foreign: []Foreign{{Of: "curl", Names: "--silent"}}},
		{Name: "no-verbose", Pair: "nv", In: urls, Value: &o.Log.Brief, Help: "print one line per file and no progress (also -nv)"},
		{Name: "verbose", Short: "v", In: urls, Value: &o.Report.Verbose,
			Help:   "print decisions, the replies as -S does, and the URLs of listing entries",
			AlsoIn: Version, AlsoHelp: "also print the versions of Go and of all modules",
			Foreign: []Foreign{{Of: "wget", Names: "--rejected-log"}, {Of: "aria2", Names: "--console-log-level --log-level"}}},
		{Name: "server-response", Short: "S", In: urls, Value: &o.Report.Replies,
			Help: "print server replies and header fields as received",
			Foreign: []Foreign{
				{Of: "curl", Names: "--include", Note: "the replies go to standard error"},
				{Of: "curl", Names: "--dump-header", Note: "the replies go to standard error"},
				{Of: "wget", Names: "--save-headers", Note: "the replies go to standard error"},
			}},
		{Name: "trace", In: urls, Value: &o.Report.Trace,
			Help:    "print protocol traffic to standard error, with secrets masked",
			Foreign: []Foreign{{Of: "curl", Names: "--trace-ascii --trace-time"}, {Of: "wget", Names: "--debug"}}},
		{Name: "json", In: urls, Value: &o.Report.JSON,
			Help: "print events as JSON Lines on standard output", AlsoIn: Schemes, AlsoHelp: "print JSON Lines", File: true,
			Foreign: []Foreign{{Of: "curl", Names: "--write-out"}, {Of: "aria2", Names: "--on-*", Note: "an event reports each saved file"}}},
		{Name: "checksum", In: contents, Value: &o.Output.Checksum,
			Help: "verify the file against `ALGO:HEX`, or a file or URL with checksums",
			Tree: Never, Content: true, Words: []string{"sha256:", "sha512:", "sha1:", "md5:"},
			Foreign: []Foreign{{Of: "aria2", Names: "--check-integrity"}, {Of: "aria2", Names: "--hash-check-only --realtime-chunk-checksum"}}},
		{Name: "sha256", In: contents, Value: &o.Output.SHA256, Help: "print the SHA-256 of saved files, also with --json", Tree: Never, Content: true},
		{Name: "locked", In: Root | Get, Value: &o.Lock.File, Help: "retrieve exactly the content that the lock `FILE` states (see urlget lock)",
			Tree: Never, TreeHint: "a lock file lists single files", Content: true, CommandLine: true,
			Excludes: "output-document input-file timestamping checksum metalink force-directories view part text parts compose " + upload + " range",
			Why:      "the lock file states URLs, names and content"},
		{Name: "check", In: Lock, Value: &o.Lock.Check, Help: "retrieve the URLs of a lock file and report other content; nothing is saved", CommandLine: true},
		{Name: "update", In: Lock, Value: &o.Lock.Update, Help: "retrieve the URLs of a lock file and rewrite the lines that changed", Excludes: "check", CommandLine: true},
		{Name: "content-on-error", In: contents, Value: &o.Output.ErrorContent,
			Help: "save the body of an error response; the exit status is unchanged", Content: true,
			Foreign: []Foreign{{Of: "curl", Names: "--fail-with-body"}}},
		{Name: "progress", In: urls, Value: oneOf(&o.Report.Progress, []string{"bar", "plain", "json", "none"}),
			Help:  "show progress as `MODE`: bar, plain, json or none",
			Other: "wget's dot is --progress plain",
			Foreign: []Foreign{
				{Of: "curl", Names: "--no-progress-meter", Here: "--progress none"},
				{Of: "aria2", Names: "--summary-interval", Here: "--progress plain"},
			}},
		{Name: "color", In: urls, Value: oneOf(&o.Report.Color, []string{"auto", "always", "never"}),
			Help:    "color messages: `MODE` is auto, always or never",
			Foreign: []Foreign{{Of: "curl", Names: "--styled-output"}, {Of: "aria2", Names: "--enable-color"}}},
		{Name: "long", Short: "l", In: List, Value: &o.Listing.Long, Help: "show modes, link targets, article numbers and authors"},
		{Name: "human-readable", Short: "h", In: List, Value: &o.Listing.Human, Help: "print sizes such as 1.5K or 23M"},
	}
}

func (o *Options) manyFlags() []Flag {
	return []Flag{
		{Name: "input-file", Short: "i", In: urls, Value: once(&o.List.File), Other: "curl's -i is -S",
			Help: "read URLs from `FILE` (or a URL, or \"-\" for standard input): one per line, or the links of an HTML page"},
		{Name: "force-html", In: urls, Value: &o.List.HTML, Help: "treat the input file as HTML",
			Needs: "input-file", Why: wgetF},
		{Name: "base", Short: "B", In: urls, Value: &o.List.Base, Help: "resolve relative links in the input file against `URL`", Needs: "input-file", Why: wgetF, Other: "for curl's -B, end the URL in ;type=a"},
		{Name: "jobs", Short: "j", In: many, Value: &o.Many.Jobs,
			Help:    "run `N` transfers in parallel, also for one host except in trees; the default is 4, and grows while servers keep up",
			Foreign: []Foreign{{Of: "curl", Names: "--parallel-max"}, {Of: "aria2", Names: "--max-concurrent-downloads"}},
			Other:   "HTTPie's -j is -H 'Content-Type: application/json'"},
		{Name: "parallel", Short: "Z", In: many, Value: &o.Many.Parallel, Help: "the same as -j 8", Excludes: "jobs", Why: "-Z means -j 8", Other: "lftp's --parallel is -j N"},
		{Name: "per-host", In: many, Value: &o.Many.PerHost, Help: "run at most `N` transfers in parallel per host, and do not grow"},
		{Name: "segments", Short: "s", In: trees, Value: parsedBy(&o.Many.Segments, parseSegments),
			Help:  "split large files into `N` ranges retrieved in parallel, or \"auto\"",
			Words: []string{"auto"}, Other: "curl's -s is -q; axel's -s is --limit-rate SIZE",
			Foreign: []Foreign{
				{Of: "aria2", Names: "-x --max-connection-per-server", Note: "--per-host N is for several files"},
				{Of: "axel and lftp's pget", Names: "-n --num-connections"},
			}},
		{Name: "split", In: trees, Value: parsedBy(&o.Many.Segments, parseSegments), Help: "the same as --segments", Hidden: true},
		{Name: "glob-ranges", In: contents | Explain, Value: &o.Many.GlobRanges, Help: "expand [1-9] and {a,b} in URLs, and #1 in the name of -O"},
		{Name: "metalink", In: many, Value: &o.Many.Metalink,
			Help: "retrieve the files described by Metalink documents, and use mirrors announced by servers", Tree: Never, Excludes: "range method", Why: "it is for whole files", Content: true,
			Other:   "wget2's --metalink=off is the default here",
			Foreign: []Foreign{{Of: "aria2", Names: "--metalink* --follow-metalink -M", Note: "put it before the URL of the document"}, {Of: "wget", Names: "--input-metalink --metalink-index --metalink-over-http", Note: "put it before the URL of the document"}}},
		{Name: "wait", Short: "w", In: many, Value: &o.Many.Wait,
			Help: "wait `SECONDS` between requests to one host", Other: "curl's -w is --json, which reports the status and more",
			Foreign: []Foreign{{Of: "curl", Names: "--rate"}}},
		{Name: "random-wait", In: many, Value: &o.Many.RandomWait, Help: "vary --wait by a factor from 0.5 to 1.5", Needs: "wait"},
		{Name: "quota", Short: "Q", In: many, Value: &o.Many.Quota, Help: "start no more transfers after `SIZE` has been received",
			Other: "curl's -Q sends FTP commands, which urlget does not"},
		{Name: "limit-rate", In: all, Value: &o.Network.Rate,
			Help:    "limit the total rate to `SIZE` per second",
			Foreign: []Foreign{{Of: "aria2", Names: "--max-download-limit --max-overall-download-limit"}}},
		{Name: "limit-rate-per-host", In: many, Value: &o.Many.HostRate, Help: "limit the rate per host to `SIZE` per second"},
		{Name: "keep-going", In: many, Value: &o.Many.KeepGoing, Help: "continue after a failure (the default)"},
		{Name: "fail-fast", In: many, Value: &o.Many.FailFast,
			Help: "stop at the first failure", Excludes: "keep-going",
			Foreign: []Foreign{{Of: "curl", Names: "--fail-early"}}},
	}
}

func (o *Options) treeFlags() []Flag {
	return []Flag{
		{Name: "recursive", Short: "R", In: List, Value: &o.Listing.Recursive, Help: "list subdirectories recursively"},
		{Name: "recursive", Short: "r", In: trees, Value: &o.Tree.Recursive, Help: "follow links and directories, and save a tree of files", Tree: Makes, Content: true,
			Other: "curl's -r is --range A-B; httrack's -rN is -r -l N"},
		{Name: "level", Short: "l", In: trees, Value: count(&o.Tree.Level, 0),
			Help: "set the maximum depth to `N`; inf or 0 is unlimited",
			Tree: Only, Words: []string{unlimited}, Other: "curl's -l is urlget ls; aria2's -l is --log FILE"},
		{Name: "no-parent", Pair: "np", In: trees, Value: &o.Tree.NoParent, Help: "do not ascend to the parent directory (also -np)", Tree: Only},
		{Name: "mirror", Short: "m", In: trees, Value: &o.Tree.Mirror, Help: "mirror: -r -N -l inf, and keep a state file", Tree: Makes, Content: true,
			Other: "curl's -m is --max-time SECONDS; aria2's -m is -t N"},
		{Name: "delete", In: trees, Value: parsedBy(&o.Tree.Delete, parseShare), Bare: defaultShare,
			Help: "delete local files that are gone from the server, but none if that is more than `N%` of them", Tree: Only, Needs: "mirror timestamping", Why: "without them there is no record of earlier files"},
		{Name: "accept", Short: "A", In: trees, Value: &o.Tree.Accept,
			Help: "keep only files with a suffix or pattern in `LIST`",
			Tree: Only, Other: "curl's -A is -U AGENT; HTTPie's -A bearer -a TOKEN is -H 'Authorization: Bearer TOKEN'"},
		{Name: "reject", Short: "R", In: trees, Value: &o.Tree.Reject,
			Help: "skip files with a suffix or pattern in `LIST`",
			Tree: Only, Other: "files always get the server's time, as with curl's -R"},
		{Name: "accept-regex", In: trees, Value: &o.Tree.AcceptURL,
			Help: "follow only URLs that match `REGEX`", Tree: Only,
			Foreign: []Foreign{{Of: "wget", Names: "--include-directories"}}},
		{Name: "reject-regex", In: trees, Value: &o.Tree.RejectURL, Help: "do not follow URLs that match `REGEX`", Tree: Only},
		{Name: "accept-type", In: trees, Value: &o.Tree.Types, Help: "keep only the media types in `LIST`, such as image/*", Tree: Only},
		{Name: "domains", Short: "D", In: trees, Value: &o.Tree.Domains,
			Help: "limit --span-hosts to the domains in `LIST`",
			Tree: Only, Needs: "span-hosts", Why: "without it, other hosts are not visited", Other: "curl's -D is -S; aria2's -D is -b"},
		{Name: "exclude-domains", In: trees, Value: &o.Tree.NoDomains, Help: "do not visit the domains in `LIST`", Tree: Only},
		{Name: "exclude-directories", In: trees, Value: &o.Tree.NoDirs, Help: "skip the directories in `LIST`, such as /cgi-bin,/tmp*", Tree: Only},
		{Name: "span-hosts", In: trees, Value: &o.Tree.Span, Help: "follow links to other hosts", Tree: Only},
		{Name: "page-requisites", Short: "p", In: trees, Value: &o.Tree.Requisites, Help: "retrieve images, style sheets and scripts of pages", Tree: Makes, Content: true,
			Other: "curl's -p is --proxy-tunnel; HTTPie's -p is -S and --trace"},
		{Name: "convert-links", Short: "k", In: trees, Value: &o.Tree.Convert,
			Help: "convert links in pages and menus to local files",
			Tree: Only, Other: "curl's -k is --insecure; aria2's -k is --segments"},
		{Name: "backup-converted", Short: "K", In: trees, Value: &o.Tree.Originals, Help: "keep the original of a converted page as NAME.orig", Tree: Only, Other: "curl's -K reads flags from a file: type them here", Needs: "convert-links"},
		{Name: "adjust-extension", Short: "E", In: trees, Value: &o.Tree.AdjustExtension, Help: "add the extension .html to pages", Tree: Only, Other: "curl's -E is --certificate FILE"},
		{Name: "execute", Short: "e", In: trees, Value: executes(&o.Tree.NoRobots),
			Help: "run `COMMAND`; only robots=off is supported",
			Tree: Only, Other: otherE, Words: []string{"robots=off"}},
		{Name: "no-robots", In: trees, Value: &o.Tree.NoRobots, Help: "ignore robots.txt and nofollow (also -e robots=off)", Tree: Only},
		{Name: "sitemaps", In: trees, Value: &o.Tree.Sitemaps, Help: "also start from the sitemaps of servers", Tree: Only},
		{Name: "spider", In: trees, Value: &o.Tree.Spider,
			Help: "check links without saving files", Tree: Makes, Content: true,
			Foreign: []Foreign{{Of: "aria2", Names: "--dry-run --use-head", Note: "or urlget stat"}}},
		{Name: "crawl-state", In: trees, Value: &o.Tree.State, Help: "keep the state in `FILE` instead of .urlget", Tree: Only},
		{Name: "force-directories", In: trees, Value: &o.Tree.Force, Help: "create directories for single files too",
			Foreign: []Foreign{{Of: "wget", Names: "-x"}}},
		{Name: "no-directories", Pair: "nd", In: trees, Value: &o.Tree.Flat, Help: "do not create directories (also -nd)"},
		{Name: "no-host-directories", Pair: "nH", In: trees, Value: &o.Tree.NoHost, Help: "do not create host directories (also -nH)"},
		{Name: "cut-dirs", In: trees, Value: &o.Tree.CutDirs, Help: "omit the first `N` directories of the path"},
	}
}

// notShared is the hint for the flags of the cache where there is none.
const notShared = "the cache is for one user's own requests; use --warc FILE to record, and --replay FILE to use the records"

func (o *Options) archiveFlags() []Flag {
	return []Flag{
		{Name: "warc", In: archives, Value: &o.Archive.WARC, Help: "record all traffic in `FILE` (.warc.gz)"},
		{Name: "warc-file", In: archives, Value: &o.Archive.WARC, Help: "the same as --warc", Hidden: true},
		{Name: "warc-append", In: archives, Value: &o.Archive.Append, Help: "append to an existing archive (-c does too)", Needs: "warc warc-file"},
		{Name: "warc-max-size", In: archives, Value: &o.Archive.MaxSize, Help: "start a new archive when `SIZE` is reached", Needs: "warc warc-file"},
		{Name: "warc-cdx", In: archives, Value: &o.Archive.Index, Help: "write an index (CDXJ) next to the archive", Needs: "warc warc-file"},
		{Name: "warc-dedup", In: archives, Value: &o.Archive.Dedup, Help: "skip records that are in the index `FILE` (CDXJ)", Needs: "warc warc-file"},
		{Name: "no-warc-compression", In: archives, Value: &o.Archive.Plain, Help: "do not compress the archive", Needs: "warc warc-file"},
		{Name: "replay", In: online | Serve | MCP, Value: several(&o.Archive.Replay), Help: "replay responses from the archive `FILE` (or its URL), and request others"},
		{Name: "at", In: online | Serve | MCP, Value: parsedBy(&o.Archive.At, parseDate), Help: "retrieve the capture nearest to `DATE`, such as 1997-05-01, from --replay and --timegate, and nothing else"},
		{Name: "timegate", In: online | Serve | MCP, Value: several(&o.Archive.TimeGates), Help: "with --at: ask the TimeGate `URL` for captures (Memento, RFC 7089)"},
		{Name: "cache", In: online | Serve, Value: &o.Archive.Cache, Help: "keep what is retrieved as archives in the directory `DIR`, and use it while it is fresh",
			Excludes: "warc warc-file replay as-proxy", Why: "the cache is an archive itself, of one user; a proxy has --warc and --replay", Elsewhere: notShared},
		{Name: "offline", In: online | Serve, Value: &o.Archive.Offline, Help: "with --cache: use only the cache, send nothing, and list what is missing",
			Needs: "cache", Excludes: "timegate as-proxy", Why: "--offline sends nothing", Other: "HTTPie's --offline is urlget explain", Elsewhere: notShared},
		{Name: "within", In: online | Serve | MCP, Value: &o.Archive.Within, Help: "with --at: refuse captures that are farther than `TIME` from the date, such as 30d", Needs: "at replay-at"},
	}
}

func (o *Options) requestFlags() []Flag {
	return []Flag{
		{Name: "header", Short: "H", In: urls, Value: several(&o.Request.Header),
			Help: "send the header field `'Name: value'`", PerURL: true, Secret: secretField,
			Foreign: []Foreign{{Of: "curl", Names: "--oauth2-bearer", Here: "--header 'Authorization: Bearer TOKEN'"}}},
		{Name: "user-agent", Short: "U", In: all, Value: &o.Request.Agent, Help: "identify as `AGENT`", PerURL: true},
		{Name: "referer", In: urls, Value: &o.Request.Referer, Help: "send `URL` as the referring page", PerURL: true},
		{Name: "data", Short: "d", In: sending, Value: several(&o.Send.Data),
			Help: "send `TEXT` with POST; @FILE reads a file and drops line breaks", Tree: Never, TreeHint: onlyGet, Other: "wget's -d is --trace; HTTPie's -d is the default here",
			Foreign: []Foreign{{Of: "curl", Names: "--data-ascii --data-raw", Note: "@FILE reads a file"}, {Of: "wget", Names: "--body-data"}}},
		{Name: "post-data", In: sending, Value: several(&o.Send.Data), Help: "the same as --data `TEXT`", Tree: Never, TreeHint: onlyGet},
		{Name: "post-file", In: sending, Value: &o.Send.PostFile,
			Help: "send `FILE` unchanged with POST (\"-\" for standard input)",
			Tree: Never, TreeHint: onlyGet, Excludes: "data post-data",
			Foreign: []Foreign{{Of: "curl", Names: "--data-binary"}, {Of: "wget", Names: "--body-file"}}},
		{Name: "method", Short: "X", In: sending, Value: &o.Send.Method,
			Help: "use the request method `METHOD`", Tree: Never, Other: wgetX, Excludes: "head", Why: "-I sends HEAD", Words: []string{"GET", "POST", "PUT", "PATCH", "DELETE"},
			Foreign: []Foreign{
				{Of: "curl", Names: "--upload-file", Here: "-X PUT --post-file FILE", Note: "over HTTP only; other schemes do not upload"},
				{Of: "curl", Names: "--request --request-target"},
			}},
		{Name: "form", Short: "F", In: sending, Value: form(&o.Send.Form, false),
			Help: "fill in a form field: `'Name=value'` or 'Name=@FILE', optionally with ;type=TYPE and ;filename=NAME",
			Tree: Never, TreeHint: onlyGet, Excludes: "data post-data post-file",
			Other: "wget's -F is --force-html; HTTPie's -F is the default here"},
		{Name: "form-file", In: sending, Value: form(&o.Send.Form, true), Help: "fill in a form field with a file's content: `'Name=PATH'`",
			Tree: Never, TreeHint: onlyGet, Excludes: "data post-data post-file"},
		{Name: "cookies", In: urls, Value: &o.Cookies.Both,
			Help: "load cookies from `FILE` (cookies.txt) and save them at the end", Excludes: "load-cookies save-cookies",
			Foreign: []Foreign{{Of: "curl", Names: "--cookie-jar --junk-session-cookies", Note: "session cookies are not kept"}}},
		{Name: "load-cookies", In: urls, Value: &o.Cookies.Load,
			Help:    "load cookies from `FILE` and do not change it",
			Foreign: []Foreign{{Of: "curl", Names: "--cookie", Note: "or --header 'Cookie: name=value'"}}},
		{Name: "save-cookies", In: urls, Value: &o.Cookies.Save, Help: "save cookies to `FILE` at the end"},
		{Name: "keep-session-cookies", In: urls, Value: &o.Cookies.Session, Help: "also save session cookies", Needs: "cookies save-cookies"},
		{Name: "hsts-file", In: urls, Value: &o.HSTS.File,
			Help:    "keep the hosts that want https only in `FILE` (default: in the state directory of the user)",
			Foreign: []Foreign{{Of: "curl", Names: "--hsts", Note: "in the file format of wget"}}},
		{Name: "no-hsts", In: urls, Value: &o.HSTS.Off, Excludes: "hsts-file",
			Help: "request http URLs as they are, even of hosts that want https only"},
		{Name: "range", In: contents, Value: &o.Request.Range,
			Help: "retrieve only bytes `A-B`, counted from 0; A- is from A, -N is the last N", Tree: Never,
			Excludes: "continue timestamping", Why: "a range is part of a file; -c and -N apply to the whole file", Content: true,
			Foreign: []Foreign{{Of: "wget", Names: "--start-pos", Here: "--range N-"}}},
		{Name: "view", In: sending, Value: &o.Request.View, Help: "request the representation `TYPE`, such as 'text/html;lang=De_DE'"},
		{Name: "compressed", In: urls, Value: &o.Driver.Web.Compressed,
			Help:    "request compressed content over HTTP and decode it",
			Foreign: []Foreign{{Of: "wget", Names: "--compression"}, {Of: "aria2", Names: "--http-accept-gzip"}}},
		{Name: "text-line-ends", In: urls, Value: parsedBy(&o.Request.LineEnds, parseLineEnds), Help: "convert line ends of text to `HOW`: lf, crlf or as-is"},
		{Name: "head", Short: "I", In: Root, Value: &o.Head, Help: "print metadata and header fields without the content"},
	}
}

func (o *Options) networkFlags() []Flag {
	return []Flag{
		{Name: "tries", Short: "t", In: urls, Value: count(&o.Network.Tries, 0),
			Help: "try `N` times; 0 is unlimited", Other: "curl's -t is for telnet and has no equivalent here",
			Foreign: []Foreign{{Of: "curl", Names: "--retry"}, {Of: "aria2", Names: "--max-tries"}, {Of: "aria2", Names: "--max-file-not-found"}}},
		{Name: "timeout", Short: "T", In: all, Value: &o.Network.Timeout,
			Help:  "set connect and read timeouts to `SECONDS`",
			Other: "curl's -T uploads; to HTTP servers, that is -X PUT --post-file FILE",
		},
		{Name: "connect-timeout", In: all, Value: &o.Network.ConnectTimeout,
			Help:    "set the connect timeout to `SECONDS`",
			Foreign: []Foreign{{Of: "wget", Names: "--dns-timeout"}}},
		{Name: "read-timeout", In: all, Value: &o.Network.ReadTimeout, Help: "set the timeout for a reply or more data to `SECONDS`"},
		{Name: "speed-limit", In: all, Value: speed(&o.Network.SpeedLimit),
			Help:    "end a transfer slower than `SIZE` per second for --speed-time (trees: 100); 0 disables it",
			Foreign: []Foreign{{Of: "curl", Names: "-Y"}, {Of: "aria2", Names: "--lowest-speed-limit"}}},
		{Name: "speed-time", In: all, Value: &o.Network.SpeedTime,
			Help:    "set the time for --speed-limit to `SECONDS` (default 30; trees: 300)",
			Foreign: []Foreign{{Of: "curl", Names: "-y"}}},
		{Name: "max-time", In: urls | MCP, Value: &o.Network.MaxTime,
			Help:    "limit the time per URL to `SECONDS` (mcp: 60)",
			Foreign: []Foreign{{Of: "aria2", Names: "--stop --stop-with-process"}}},
		{Name: "retry-max-wait", In: urls, Value: &o.Network.RetryWait,
			Help: "fail if a server requests a wait longer than `SECONDS`",
			Foreign: []Foreign{
				{Of: "curl", Names: "--retry-delay --retry-max-time", Note: "the longest wait between tries"},
				{Of: "aria2", Names: "--retry-wait", Note: "the longest wait between tries"},
				{Of: "wget", Names: "--waitretry", Note: "the longest wait between tries"},
			}},
		{Name: "max-redirect", In: all, Value: count(&o.Network.MaxRedirect, -1),
			Help:    "follow at most `N` redirects",
			Foreign: []Foreign{{Of: "curl", Names: "--max-redirs"}}},
		{Name: "allow-redirect", In: all, Value: listBy(&o.Limits.Redirects, parseRedirects),
			Help:    "also follow redirects to `SCHEME` (always: http, https, ftp, ftps)",
			Foreign: []Foreign{{Of: "curl", Names: "--proto-redir"}}},
		{Name: "proxy", In: all, Value: &o.Proxy.URL,
			Help: "use the proxy at `URL` (http, https, connect, socks4, socks4a, socks5)", PerURL: true, Secret: withAt,
			Foreign: []Foreign{
				{Of: "curl", Names: "-x --preproxy --proxy1.0"},
				{Of: "curl", Names: "--socks4 --socks4a", Here: "--proxy socks4://HOST:PORT"},
				{Of: "aria2", Names: "--all-proxy --http-proxy --https-proxy --ftp-proxy"},
			}},
		{Name: "no-proxy", In: all, Value: &o.Proxy.None,
			Help: "disable proxies, or only for the hosts in `LIST` (as in no_proxy)", Bare: "*", PerURL: true,
			Foreign: []Foreign{{Of: "curl", Names: "--noproxy", Here: "--no-proxy", Note: "with hosts: --no-proxy=LIST"}}},
		{Name: "proxy-tunnel", In: all, Value: &o.Proxy.Tunnel,
			Help:    "tunnel all traffic through an HTTP proxy (CONNECT)",
			Foreign: []Foreign{{Of: "curl", Names: "--proxytunnel"}, {Of: "aria2", Names: "--proxy-method"}}},
		{Name: "socks5", In: all, Value: &o.Proxy.SOCKS5,
			Help: "use the SOCKS5 proxy at `HOST:PORT`, which resolves host names", Excludes: "proxy proxy-tunnel",
			Foreign: []Foreign{{Of: "curl", Names: "--socks5-hostname"}}},
		{Name: "inet4-only", Short: "4", In: all, Value: &o.Network.IPv4,
			Help:    "connect over IPv4 only",
			Foreign: []Foreign{{Of: "aria2", Names: "--disable-ipv6"}}},
		{Name: "inet6-only", Short: "6", In: all, Value: &o.Network.IPv6, Help: "connect over IPv6 only", Excludes: "inet4-only"},
		{Name: "bind-address", In: all, Value: &o.Network.Bind,
			Help:    "connect from the local address `ADDRESS`",
			Foreign: []Foreign{{Of: "curl", Names: "--interface", Here: "--bind-address ADDR"}}},
		{Name: "resolve", In: all, Value: several(&o.Network.Resolve),
			Help: "use a fixed address for a host: `HOST:PORT:ADDR`",
			Foreign: []Foreign{
				{Of: "curl", Names: "--connect-to --dns-servers --dns-interface --doh-url"},
				{Of: "wget", Names: "--dns-servers --bind-dns-address"},
				{Of: "aria2", Names: "--async-dns* --dscp --multiple-interface --socket-recv-buffer-size"},
			}},
		{Name: "http1", In: all, Value: &o.Driver.HTTP1,
			Help:    "use HTTP/1.1 only",
			Foreign: []Foreign{{Of: "curl", Names: "-0 --http1.0 --http1.1"}}},
		{Name: "http2", In: all, Value: &o.Driver.HTTP2, Help: "require HTTP/2 for https (a single URL uses HTTP/1.1 by default)", Excludes: "http1"},
		{Name: "http3", In: all, Value: &o.Driver.HTTP3, Help: "try HTTP/3 first for https, then TCP", Excludes: "http1 http2"},
		{Name: "gateway", In: all, Value: several(&o.Proxy.Gateways), Help: "retrieve URLs of a scheme through a gateway: `SCHEME=URL`", Secret: withAt},
	}
}

func (o *Options) trustFlags() []Flag {
	return []Flag{
		{Name: "insecure", In: all, Value: &o.Trust.Insecure,
			Help:    "do not verify TLS certificates",
			Foreign: []Foreign{{Of: "aria2", Names: "--check-certificate", Note: "certificates are verified by default"}}},
		{Name: "no-check-certificate", In: all, Value: &o.Trust.Insecure, Help: "the same as --insecure"},
		{Name: "ca-certificate", In: all, Value: &o.Trust.CA,
			Help: "trust only the certificate authorities in `FILE` (PEM or DER)",
			Foreign: []Foreign{
				{Of: "curl", Names: "--cacert"},
				{Of: "curl", Names: "--capath"},
				{Of: "wget", Names: "--ca-directory"},
			}},
		{Name: "certificate", In: owner, Value: &o.Trust.Certificate,
			Help:    "present the client certificate in `FILE` (PEM, DER, PKCS#12)",
			Foreign: []Foreign{{Of: "curl", Names: "--cert"}}},
		{Name: "private-key", In: owner, Value: &o.Trust.Key,
			Help: "read the client's private key from `FILE` (PEM, DER)", Needs: "certificate",
			Foreign: []Foreign{{Of: "curl", Names: "--key"}}},
		{Name: "pinned", In: all, Value: listBy(&o.Trust.Pinned, parsePins),
			Help:    "require the server's public key to match `sha256//BASE64`",
			Foreign: []Foreign{{Of: "curl", Names: "--pinnedpubkey"}}},
		{Name: "known-hosts", In: all, Value: several(&o.Driver.SSH.KnownHosts),
			Help:    "verify SSH host keys with `FILE` instead of ~/.ssh/known_hosts",
			Foreign: []Foreign{{Of: "curl", Names: "--hostpubmd5 --hostpubsha256"}, {Of: "aria2", Names: "--ssh-host-key-md"}}},
		{Name: "tofu", In: all, Value: &o.Driver.Gemini.Certificates, Help: "store trusted certificates of Gemini servers in `FILE`", Home: true},
	}
}

func (o *Options) loginFlags() []Flag {
	return []Flag{
		{Name: "user", Short: "u", In: urls, Value: &o.Login.User,
			Help: "log in as `USER` or USER:PASSWORD", PerURL: true, Secret: withColon,
			Foreign: []Foreign{
				{Of: "wget", Names: "--http-user --ftp-user --use-askpass", Here: "--user USER"},
				{Of: "aria2", Names: "--http-user --ftp-user", Here: "--user USER"},
			}},
		{Name: "password", In: urls, Value: &o.Login.Password,
			Help: "log in with `PASSWORD`", PerURL: true, Secret: always,
			Foreign: []Foreign{{Of: "wget", Names: "--http-password --ftp-password"}, {Of: "aria2", Names: "--http-passwd --ftp-passwd"}}},
		{Name: "password-file", In: urls, Value: &o.Login.PasswordFile, Help: "read the password from the first line of `FILE`", PerURL: true, Excludes: "password"},
		{Name: "ask-password", In: urls, Value: &o.Login.Ask, Help: "prompt for the password", Excludes: "password password-file"},
		{Name: "auth-no-challenge", In: urls, Value: &o.Driver.Web.Unasked,
			Help: "log in to the named HTTP servers before they ask (Basic)"},
		{Name: "aws-sigv4", In: urls, Value: &o.Driver.Web.AWSSigV4,
			Help: "sign HTTP requests (AWS Signature Version 4) for `PROVIDER[:PROVIDER2[:REGION[:SERVICE]]]`, such as aws:amz, with the access key and secret of --user"},
		{Name: "netrc", In: owner, Value: &o.Login.Netrc,
			Help:    "require the netrc file in the home directory",
			Foreign: []Foreign{{Of: "curl", Names: "-n"}}},
		{Name: "netrc-file", In: owner, Value: &o.Login.NetrcFile,
			Help:    "read logins from the netrc file `FILE`",
			Foreign: []Foreign{{Of: "aria2", Names: "--netrc-path"}}},
		{Name: "no-netrc", In: owner, Value: &o.Login.NoNetrc, Help: "do not read the netrc file", Excludes: "netrc netrc-file",
			Foreign: []Foreign{{Of: "aria2", Names: "-n"}}},
		{Name: "identity", In: owner, Value: several(&o.Driver.SSH.Identities),
			Help:    "log in to SSH servers with the private key in `FILE`",
			Foreign: []Foreign{{Of: "curl", Names: "--pubkey", Note: "the public key is derived from the private key"}}},
		{Name: "allow-plaintext-login", In: owner, Value: &o.Driver.News.AllowPlaintext, Help: "send passwords without TLS to news, mail, LDAP and Z39.50 servers"},
	}
}

func (o *Options) limitsFlags() []Flag {
	return []Flag{
		{Name: "max-size", In: all, Value: &o.Limits.MaxSize,
			Help:    "refuse content larger than `SIZE`, before or after decoding",
			Foreign: []Foreign{{Of: "curl", Names: "--max-filesize"}}},
		{Name: "allow-port", In: all, Value: listBy(&o.Limits.Ports, parsePorts), Help: "allow port `N` even if another service uses it"},
		{Name: "allow-private", In: all, Value: &o.Limits.Private, Help: "allow links and redirects from public to private addresses"},
	}
}

func (o *Options) pagesFlags() []Flag {
	return []Flag{
		{Name: "listen", In: Serve, Value: &o.Serve.Listen, Help: "listen on the local `ADDRESS`; port 0 picks a free port"},
		{Name: "open", In: Serve, Value: &o.Serve.Open, Help: "open the page in the default browser"},
		{Name: "bookmarks", In: Serve, Value: &o.Serve.Bookmarks, Help: "keep bookmarks in `FILE` instead of ~/.config/urlget/bookmarks"},
		{Name: "history", In: Serve, Value: &o.Serve.History, Help: "keep the history of visited pages, and the list of followed ones, in `FILE`"},
		{Name: "queue", In: Serve, Value: parsedBy(&o.Serve.Queue, parseArguments), Help: "show the progress of a queue on a page; `FLAGS` are those of queue watch, such as '--nats nats://queue.example --crawl site'",
			Excludes: "replay-only", Why: "--replay-only sends nothing", Secret: withAt},
		{Name: "as-proxy", In: Serve, Value: &o.Serve.Proxy, Bare: AnyPort,
			Help:     "be an HTTP and SOCKS5 proxy for URLs of any scheme, without pages, and listen on `ADDRESS` or that of --listen",
			Excludes: "open bookmarks history queue terminal", Why: "a proxy has no pages"},
		{Name: "tls-ca", In: Serve, Value: &o.Serve.Authority, Help: "with --as-proxy: read and record TLS, with a certificate authority in the directory `DIR` that the clients trust", Needs: "as-proxy"},
		{Name: "downgrade", In: Serve, Value: &o.Serve.Downgrade, Help: "with --as-proxy: serve https to clients without TLS, as http", Needs: "as-proxy"},
		{Name: "require-login", In: Serve, Value: &o.Serve.Login, Help: "with --as-proxy: require the login USER:PASSWORD in the first line of `FILE`; --listen may then be any address", Needs: "as-proxy"},
		{Name: "webdav", In: Serve, Value: &o.Serve.WebDAV, Help: "serve the tree of a URL or directory over WebDAV, for reading, without pages",
			Excludes: "open bookmarks history queue terminal as-proxy", Why: "a tree has no pages and is no proxy"},
	}
}

func (o *Options) programFlags() []Flag {
	return []Flag{
		{Name: "config", In: all, Value: &o.Config.File,
			Help: "read settings from `FILE` instead of ~/.config/urlget/config", CommandLine: true,
			Foreign: []Foreign{{Of: "aria2", Names: "--conf-path"}}},
		{Name: "no-config", In: all | Schemes, Value: &o.Config.None,
			Help: "do not read a configuration file", CommandLine: true,
			Foreign: []Foreign{{Of: "curl", Names: "--disable"}, {Of: "aria2", Names: "--no-conf"}}},
		{Name: "help", In: List, Value: new(bool), Help: "print the help", CommandLine: true},
		{Name: "licenses", In: Version, Value: &o.Report.Licenses, Help: "print the licences of all modules in the program", CommandLine: true},
		{Name: "version", Short: "V", In: Root, Value: &o.Version, Help: "print the version", CommandLine: true},
	}
}

func (o *Options) protocolFlags() []Flag {
	return []Flag{
		{Name: "location", Short: "L", In: contents, Value: new(bool), Hidden: true, // always the behavior here
			Tree: Never, Other: "wget's -L, which follows only relative links, is --accept-regex; curl's -L is the default"},
		{Name: "fail", Short: "f", In: contents, Value: new(bool), Hidden: true},
		{Name: "remote-header-name", Short: "J", In: contents, Value: new(bool), Hidden: true},
		{Name: "content-disposition", In: contents, Value: new(bool), Hidden: true},
		{Name: "trust-server-names", In: contents, Value: new(bool), Hidden: true},
		{Name: "show-error", In: contents, Value: new(bool), Hidden: true},
		{Name: "terminal", In: Serve, Value: &o.Serve.Terminal, Help: "allow terminal sessions (telnet, rlogin, tn3270), each after a click", Excludes: "replay-only", Why: "--replay-only sends nothing"},
		{Name: "no-default-gateways", In: all, Value: &o.Proxy.NoGateways, Help: "do not use the public resolvers of doi, hdl and urn:ietf:rfc"},
		{Name: "ftp-active", In: all, Value: &o.Driver.FTP.Active,
			Help:    "use active mode (EPRT, PORT) for FTP data connections",
			Foreign: []Foreign{{Of: "wget", Names: "--no-passive-ftp"}, {Of: "curl", Names: "--ftp-port"}}},
		{Name: "ftp-account", In: all, Value: &o.Driver.FTP.Account, Help: "send the account `NAME` to FTP servers that ask for one (ACCT)"},
		{Name: "ftp-tls", In: all, Value: oneOf(&o.Driver.FTP.TLS, []string{ftp.TLSOff: "off", ftp.TLSTry: "try", ftp.TLSRequire: "require"}),
			Help: "use TLS with FTP servers: `MODE` is try, require or off",
			Foreign: []Foreign{
				{Of: "curl", Names: "--ssl --ftp-ssl", Here: "--ftp-tls try"},
				{Of: "curl", Names: "--ssl-reqd --ftp-ssl-reqd", Here: "--ftp-tls require"},
			}},
		{Name: "ftp-pipelining", In: all, Value: oneOf(&o.Driver.FTP.Pipelining, []string{ftp.PipeliningAuto: "auto", ftp.PipeliningOn: "on", ftp.PipeliningOff: "off"}),
			Help: "pipeline FTP commands: `MODE` is auto, on or off"},
		{Name: "ftp-guess-type", In: all, Value: &o.Driver.FTP.GuessType, Help: "use FTP text transfers for files with a text suffix"},
		{Name: "attributes", In: sending, Value: &o.Driver.Gopher.Attributes, Help: "retrieve the attributes of Gopher+ items instead of their content"},
		{Name: "news-server", In: all, Value: &o.Driver.News.Server, Help: "use the news server `SERVER` (host, host:port or URL; default $NNTPSERVER)"},
		{Name: "max-hits", In: sending, Value: &o.Driver.WAIS.MaxHits, Help: "limit WAIS searches to the best `N` documents (100 by default)"},
		{Name: "newest", In: all, Value: &o.Driver.News.Newest, Help: "list only the last `N` articles of a newsgroup"},
		{Name: "since", In: all, Value: parsedBy(&o.Driver.News.Since, parseDate), Help: "list only articles since `DATE` (2026-01-31 or 2026-01-31T12:00:00Z)"},
		{Name: "starttls", In: all, Value: &o.Driver.News.StartTLS, Help: "require STARTTLS with news, mail and LDAP servers"},
		{Name: "mailbox", In: all, Value: several(&o.Driver.Mailboxes), Help: "look up messages in `FILE` (mbox or Maildir)"},
		{Name: "no-ssh-config", In: all, Value: &o.Driver.SSH.NoConfig, Help: "do not read ~/.ssh/config"},
		{Name: "nfs-user", In: all, Value: parsedBy(&o.Driver.NFS.User, parseNFSUser), Help: "access NFS servers as user `UID[:GID,...]` instead of nobody"},
		{Name: "nfs-mount-port", In: all, Value: &o.Driver.NFS.MountPort, Help: "use port `N` for the NFS mount service, without the port mapper"},
		{Name: "ipfs-gateway", In: all, Value: &o.Driver.IPFS.Gateway, Help: "retrieve ipfs and ipns URLs from the gateway `URL`, and verify them (default $IPFS_GATEWAY)", Secret: withAt},
		{Name: "s3-endpoint", In: all, Value: &o.Driver.S3.Endpoint, Help: "retrieve s3 URLs from the store at `URL` (default $AWS_ENDPOINT_URL, or Amazon S3)"},
		{Name: "login", In: sending, Value: &o.Driver.Login, Help: "log in to sessions with the user and password of the URL, unencrypted"},
		{Name: "transcript", In: sending, Value: &o.Driver.Transcript, Help: "record both directions of a session in `FILE`, including passwords"},
		{Name: "driver", In: all, Value: programs(&o.Driver.Programs), Help: "handle an experimental scheme with a program: `x-SCHEME=PROGRAM`"},
		{Name: "parts", In: contents, Value: &o.Mail.Parts, Help: "list the parts of a message", Tree: Never, Excludes: "directory-prefix checksum part text " + whole},
		{Name: "part", In: contents, Value: &o.Mail.Part, Help: "retrieve part `N` of a message, decoded", Tree: Never, Excludes: "text " + whole},
		{Name: "text", In: contents, Value: &o.Mail.Text, Help: "retrieve the readable text of a message", Tree: Never, Excludes: whole},
		{Name: "compose", In: contents, Value: &o.Mail.Compose, Help: "print the message that a mailto URL describes without sending it", Excludes: "json directory-prefix checksum parts part text " + whole},
		{Name: "replay-only", In: online | Serve | MCP, Value: &o.Archive.ReplayOnly, Help: "with --replay: use only the archive, send nothing"},
		{Name: "replay-near", In: online | Serve | MCP, Value: &o.Archive.Near, Help: "with --replay: also use captures of URLs that differ only in http or https, www, a final slash, the order of parameters or cache busters"},
		{Name: "replay-at", In: online, Value: parsedBy(&o.Archive.At, parseDate), Help: "the same as --at `DATE`", Hidden: true},
	}
}
