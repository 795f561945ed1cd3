// Package floorplan checks the imports of every package. The table below lists the permitted
// imports by layer; docs/architecture.md shows it.
package floorplan

// module is the path of the module at the root. The packages below queue are a second module, which
// requires the first one.
const module = "github.com/urlget/urlget"

// A layer is a group of packages. It may import from itself and from the layers before it.
type layer struct {
	name string
	rows []row
}

// A row permits packages to import others. Paths are relative to the root. "..." at the end
// matches any suffix, even none, and "*" matches one element. A row with the name of a package
// applies to it; otherwise, the first matching row does. The standard library is always permitted.
type row struct {
	packages string
	purpose  string   // for several packages; a single package has the first sentence of its documentation
	imports  []string // packages of both modules; "own" is the driver's own folder
	modules  []string // packages of other modules, with all below them
}

var (
	core = []string{"fetch", "fetch/uri"}
	// kits are the imports of packages shared by drivers, and kit those of drivers. They do not use the
	// client (see TestDriversMakeNoClients).
	kits = []string{"fetch", "fetch/driver", "fetch/driver/wire", "fetch/uri", "internal/bounded", "internal/pace", "internal/quoted", "internal/httpauth", "internal/codec/*"}
	kit  = append(kits[:len(kits):len(kits)], "protocols/internal/*", "own")
	// public lists the packages of the root that programs outside the module can import, and allPublic
	// also those of the queue, which no package of the root may import.
	public    = []string{"fetch/...", "fetchtest/...", "protocols/...", "crawl/...", "archive/...", "serve/..."}
	allPublic = append(public[:len(public):len(public)], "queue/...")
)

var layers = []layer{
	{"uri", []row{
		{packages: "fetch/uri", modules: []string{"golang.org/x/net/idna"}},
		{packages: "fetch/retry"},
		{packages: "fetch/uri/find", imports: []string{"fetch/uri"}, modules: []string{"mvdan.cc/xurls"}},
	}},

	{"lines", []row{
		{packages: "fetch/driver/wire"},
		{packages: "internal/pace", imports: []string{"fetch/driver/wire"}},
		{packages: "internal/quoted"},
		{packages: "internal/responsehead"},
		{packages: "internal/httpauth", imports: []string{"internal/quoted"}, modules: []string{"github.com/icholy/digest", "golang.org/x/net/http/httpguts"}},
		{packages: "internal/bounded"},
		{packages: "internal/drain"},
		{packages: "internal/template"},
		{packages: "internal/filelock"},
		{packages: "internal/atomicfile"},
		{packages: "internal/rlimit"},
		{packages: "internal/unnamed", modules: []string{"golang.org/x/sys"}},
		{packages: "internal/charref", modules: []string{"golang.org/x/text"}},
		{packages: "internal/stack"},
		{packages: "internal/tun", modules: []string{"golang.org/x/sys"}},
		{packages: "internal/codec/tn3270", modules: []string{"golang.org/x/text"}},
		{packages: "internal/codec/gemtext", imports: []string{"fetch/driver/wire"}},
		{packages: "internal/codec/nfs3", imports: []string{"internal/codec/xdr"}},
		{packages: "internal/codec/rsync", imports: []string{"fetch/driver/wire"}, modules: []string{"golang.org/x/crypto/md4"}},
		{packages: "internal/codec/smb2", modules: []string{"golang.org/x/crypto/md4"}},
		{packages: "internal/codec/z3950", imports: []string{"internal/codec/ber"}},
		{packages: "internal/codec/*", imports: []string{"fetch/uri", "fetch/driver/wire"},
			purpose: "encodes and decodes the messages of one protocol, for its driver and its test server"},
	}},

	{"client", []row{
		{packages: "fetch", imports: []string{"fetch/uri", "fetch/driver/wire", "fetch/retry", "internal/bounded", "internal/httpauth", "internal/pace"},
			modules: []string{"golang.org/x/net"}},
	}},

	{"driver", []row{
		{packages: "fetch/driver", imports: []string{"fetch", "fetch/driver/wire", "fetch/uri"}},
	}},

	// The drivers and the packages next to the client. No driver imports another; it uses
	// fetch.Env instead. Drivers that need the code of others have their own row.
	{"protocols", []row{
		{packages: "fetch/message", imports: []string{"internal/charref"}, modules: []string{"golang.org/x/net/html", "golang.org/x/text"}},
		{packages: "fetch/cookies", imports: []string{"internal/atomicfile", "internal/filelock"}, modules: []string{"golang.org/x/net/publicsuffix"}},
		{packages: "internal/mailbox", imports: []string{"fetch/message"}, modules: []string{"go.etcd.io/bbolt"}},
		{packages: "protocols/internal/mailsession", imports: append(kits[:len(kits):len(kits)], "fetch/message")},
		{packages: "protocols/internal/httphead", imports: kits, modules: []string{"golang.org/x/net/http/httpguts"}},
		{packages: "protocols/internal/*", imports: kits, purpose: "code shared by drivers of the same kind"},
		{packages: "protocols/http/http3", imports: []string{"fetch", "internal/quoted", "protocols/internal/*"}, modules: []string{"github.com/quic-go/quic-go", "golang.org/x/net"}},
		{packages: "protocols/http/hsts", imports: []string{"internal/quoted", "internal/atomicfile", "internal/filelock"}},
		{packages: "protocols/http/...", imports: append(kit[:len(kit):len(kit)], "fetch/cookies", "internal/responsehead"), modules: []string{"golang.org/x/net",
			"github.com/dunglas/httpsfv", "github.com/andybalholm/brotli", "github.com/klauspost/compress"}},
		{packages: "protocols/ipfs/...", imports: kit, modules: []string{"golang.org/x/crypto/blake2b"}},
		{packages: "protocols/ldap/...", imports: kit, modules: []string{"github.com/go-ldap/ldap"}},
		{packages: "protocols/sftp/...", imports: kit, purpose: "is the driver for sftp and scp URLs",
			modules: []string{"golang.org/x/crypto", "github.com/skeema/knownhosts"}},
		{packages: "protocols/ws/...", imports: append(kit[:len(kit):len(kit)], "fetch/cookies"), modules: []string{"github.com/coder/websocket"}},
		{packages: "protocols/nntp/...", imports: append(kit[:len(kit):len(kit)], "fetch/message")},
		{packages: "protocols/imap/...", imports: append(kit[:len(kit):len(kit)], "fetch/message")},
		{packages: "protocols/pop/...", imports: append(kit[:len(kit):len(kit)], "fetch/message")},
		{packages: "protocols/mid/...", imports: []string{"fetch", "fetch/driver", "fetch/uri", "fetch/message", "internal/mailbox"}},
		{packages: "protocols/mailto/...", imports: []string{"fetch", "fetch/driver", "fetch/uri", "fetch/message", "internal/mailbox"}},
		{packages: "protocols/*/...", imports: kit, purpose: "one driver per folder"},
		{packages: "protocols", imports: []string{"fetch", "protocols/*", "protocols/http/http3"}},
		{packages: "fetch/links", imports: append(core[:len(core):len(core)], "internal/charref", "internal/codec/weblink"), modules: []string{"golang.org/x/net/html", "golang.org/x/text",
			"github.com/tdewolff/parse"}},
		{packages: "crawl/robots"},
		{packages: "fetch/netrc", imports: core},
		{packages: "fetch/formdata", imports: core},
		{packages: "fetch/middleware", imports: append(core[:len(core):len(core)], "fetch/retry", "internal/pace"), modules: []string{"golang.org/x/time"}},
		{packages: "fetch/middleware/otel", imports: core, modules: []string{"go.opentelemetry.io/otel"}},
		{packages: "fetch/fetchfs", imports: core},
		{packages: "fetch/member", imports: append(core[:len(core):len(core)], "fetch/driver"), modules: []string{"github.com/klauspost/compress"}},
		{packages: "fetch/fetchhttp", imports: append(core[:len(core):len(core)], "fetch/retry", "internal/drain"), modules: []string{"golang.org/x/net/http/httpguts"}},
		{packages: "archive/internal/cachecontrol"},
		{packages: "archive/internal/digest"},
		{packages: "archive/internal/httprecord", modules: []string{"github.com/andybalholm/brotli", "golang.org/x/net/http/httpguts"}},
		{packages: "archive/internal/record", imports: core},
		{packages: "archive/warc", imports: []string{"archive/internal/*", "fetch/uri", "internal/filelock", "internal/unnamed"}, modules: []string{"github.com/klauspost/compress"}},
		{packages: "archive/wacz", imports: []string{"archive/warc", "archive/internal/*"}},
		{packages: "archive/capture", imports: append(core[:len(core):len(core)], "archive/warc", "archive/internal/*", "internal/bounded", "internal/responsehead")},
	}},

	{"files", []row{
		{packages: "fetch/download", imports: append(core[:len(core):len(core)], "fetch/retry", "internal/filelock", "internal/pace", "internal/rlimit", "internal/unnamed"), modules: []string{"golang.org/x/sync", "golang.org/x/sys"}},
		{packages: "fetch/metalink", imports: []string{"fetch", "fetch/uri", "fetch/retry", "fetch/download", "internal/codec/weblink"}},
		{packages: "fetch/job", imports: []string{"fetch", "fetch/uri", "fetch/retry", "fetch/links", "fetch/download"}, modules: []string{"golang.org/x/net"}},
		{packages: "crawl/schedule", imports: []string{"fetch", "fetch/uri", "fetch/retry", "internal/stack"}},
		{packages: "crawl", imports: []string{"fetch", "fetch/uri", "fetch/retry", "fetch/links", "crawl/robots", "crawl/schedule"}, modules: []string{"go.etcd.io/bbolt"}},
		{packages: "crawl/mirror", imports: []string{"fetch", "fetch/uri", "fetch/retry", "fetch/links", "fetch/download", "fetch/job",
			"crawl"}, modules: []string{"golang.org/x/sync"}},
		{packages: "queue/internal/artefact", imports: []string{"fetch"}},
		{packages: "queue", imports: []string{"queue/internal/artefact", "fetch", "fetch/driver/wire", "fetch/uri", "fetch/retry", "fetch/links", "crawl/robots", "fetch/job",
			"crawl/schedule", "crawl", "internal/filelock", "internal/unnamed"}},
		{packages: "queue/jetstream", imports: []string{"fetch", "fetch/retry", "queue", "queue/internal/artefact"}, modules: []string{"github.com/nats-io/nats.go"}},
		{packages: "queue/jetstream/embedded", imports: []string{"fetch", "internal/atomicfile"}, modules: []string{"github.com/nats-io/nats-server", "go.etcd.io/bbolt"}},
		{packages: "queue/s3", imports: []string{"fetch", "queue", "queue/internal/artefact"}, modules: []string{"github.com/minio/minio-go"}},
		{packages: "queue/otel", imports: []string{"fetch", "fetch/job", "fetch/middleware/otel", "queue"}, modules: []string{"go.opentelemetry.io/otel"}},
		{packages: "queue/queuetest", imports: []string{"fetch", "queue", "queue/internal/artefact"}},
		{packages: "archive", imports: append(core[:len(core):len(core)], "archive/warc", "archive/capture", "archive/internal/*", "fetch/message",
			"fetch/download", "fetch/retry", "crawl", "crawl/mirror", "internal/mailbox"), modules: []string{"golang.org/x/net/http/httpguts"}},
		{packages: "archive/cache", imports: append(core[:len(core):len(core)], "archive/replay", "archive/internal/cachecontrol")},
		{packages: "archive/memento", imports: append(core[:len(core):len(core)], "internal/codec/weblink")},
		{packages: "archive/replay", imports: append(core[:len(core):len(core)], "archive/warc", "archive/wacz", "archive/internal/*", "protocols/http")},
		{packages: "serve", imports: append(core[:len(core):len(core)], "fetch/download", "fetch/uri/find", "fetch/links", "fetch/message",
			"fetch/fetchhttp", "archive/replay", "internal/atomicfile", "internal/filelock", "internal/template", "internal/codec/gemtext", "internal/codec/marc"), modules: []string{"github.com/coder/websocket", "golang.org/x/net/html", "golang.org/x/text", "golang.org/x/time"}},
	}},

	{"programs", []row{
		{packages: "internal/interrupt", imports: []string{"fetch", "fetch/job", "internal/stack"}},
		{packages: "internal/render", imports: append(core[:len(core):len(core)], "fetch/job")},
		{packages: "cmd/urlget/internal/...", imports: append(public[:len(public):len(public)], "cmd/urlget/internal/...", "internal/interrupt", "internal/render"),
			modules: []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/sys", "golang.org/x/term", "golang.org/x/text"},
			purpose: "the parts of the command"},
		{packages: "cmd/urlget", imports: append(public[:len(public):len(public)], "cmd/urlget/internal/...", "internal/atomicfile", "internal/drain", "internal/interrupt", "internal/render", "internal/filelock", "internal/rlimit", "internal/unnamed"), modules: []string{"github.com/spf13/cobra",
			"github.com/spf13/pflag", "github.com/youmark/pkcs8", "golang.org/x/crypto/ssh", "golang.org/x/net/html/charset", "golang.org/x/term", "golang.org/x/text/encoding", "software.sslmate.com/src/go-pkcs12"}},
		{packages: "queue/cmd/urlget-queue", imports: append(allPublic[:len(allPublic):len(allPublic)], "internal/interrupt", "internal/render"), modules: []string{"github.com/spf13/cobra", "github.com/spf13/pflag"}},
		{packages: "examples/...", imports: public, purpose: "small example programs"},
		{packages: "tools/manpages", modules: []string{"github.com/spf13/cobra", "github.com/spf13/pflag"}},
		{packages: "tools/release"},
		{packages: "tools/site", modules: []string{"github.com/russross/blackfriday/v2"}},
	}},

	// Packages that only tests import, and packages that import those, such as the tour.
	{"tests", []row{
		{packages: "fetchtest", imports: append(core[:len(core):len(core)], "fetch/fetchfs", "fetchtest/servers")},
		{packages: "fetchtest/drive", imports: []string{"fetch"}},
		{packages: "fetchtest/faultproxy"},
		{packages: "fetchtest/servers/sftpd", imports: []string{"fetchtest/servers", "fetchtest/servers/internal/treefile", "internal/codec/filexfer"},
			modules: []string{"golang.org/x/crypto"}},
		{packages: "fetchtest/servers/...", imports: []string{"fetchtest/servers/...", "fetch/uri", "internal/codec/..."},
			purpose: "test servers, one per protocol, that fail on request"},
		{packages: "fetchtest/warccheck"},
		{packages: "fetchtest/transcript", modules: []string{"golang.org/x/tools/txtar"}},
		{packages: "fetchtest/loopback", imports: []string{"fetchtest/servers/..."}},
		{packages: "tools/screencast", imports: []string{"fetchtest/loopback"}},
		{packages: "fetchtest/cmd/lab", imports: []string{"fetchtest/faultproxy", "fetchtest/servers", "fetchtest/loopback"}},
		{packages: "examples/tour", imports: append(public[:len(public):len(public)], "fetchtest/loopback")},
		{packages: "integration/...", imports: append(public[:len(public):len(public)], "internal/tun", "integration/...", "internal/codec/..."),
			modules: []string{"golang.org/x/sys"},
			purpose: "tests against real servers, in containers or as child processes, and over unreliable networks"},
		{packages: "queue/integration/...", imports: append(allPublic[:len(allPublic):len(allPublic)], "integration/lab"),
			purpose: "tests of a queue on many machines, in containers"},
		{packages: "bench", imports: append(public[:len(public):len(public)], "bench/delay", "bench/server", "internal/codec/..."),
			purpose: "compares urlget with curl, wget and lftp"},
		{packages: "bench/delay", imports: []string{"internal/tun"}, modules: []string{"golang.org/x/sys"}},
		{packages: "bench/server"},
		{packages: "bench/side", imports: []string{"bench/delay", "bench/server"}},
		{packages: "internal/floorplan", purpose: "checks the imports of every package and writes this table"},
	}},
}
