// Package floorplan checks which package may import which. The table below is the rule, in the
// order of the layers; docs/architecture.md shows it.
package floorplan

const module = "github.com/urlget/urlget"

// A layer is a group of packages. What one may import is in its own layer or in those before it.
type layer struct {
	name string
	rows []row
}

// A row allows packages to import others. Paths are relative to the module; "..." at the end stands
// for whatever follows, nothing included, and "*" for one element. The row that names a package
// holds for it, else the first that matches. The standard library is always allowed.
type row struct {
	packages string
	purpose  string   // of several packages; that of one is the first sentence of its documentation
	imports  []string // packages of this module; "own" is the driver's own directory
	modules  []string // packages of others, with all below
}

var (
	core = []string{"fetch", "fetch/driver", "fetch/uri"}
	// kits is what the packages shared by drivers stand on, and kit what drivers do: not the client.
	kits = []string{"fetch/driver", "fetch/driver/wire", "fetch/uri", "internal/bounded", "internal/pace", "internal/quoted", "internal/codec/*"}
	kit  = append(kits[:len(kits):len(kits)], "protocols/internal/*", "own")
	// public is what a program outside the module could import.
	public = []string{"fetch/...", "fetchtest/...", "protocols/...", "crawl/...", "archive/...", "queue/...", "serve/..."}
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
		{packages: "internal/bounded"},
		{packages: "internal/template"},
		{packages: "internal/filelock"},
		{packages: "internal/unnamed", modules: []string{"golang.org/x/sys"}},
		{packages: "internal/tun", modules: []string{"golang.org/x/sys"}},
		{packages: "internal/codec/tn3270", modules: []string{"golang.org/x/text"}},
		{packages: "internal/codec/gemtext", imports: []string{"fetch/driver/wire"}},
		{packages: "internal/codec/nfs3", imports: []string{"internal/codec/xdr"}},
		{packages: "internal/codec/smb2", modules: []string{"golang.org/x/crypto/md4"}},
		{packages: "internal/codec/z3950", imports: []string{"internal/codec/ber"}},
		{packages: "internal/codec/*", imports: []string{"fetch/uri"},
			purpose: "the messages of one protocol, for its driver and its test server"},
	}},

	{"driver", []row{
		{packages: "fetch/internal/exchange"},
		{packages: "fetch/driver", imports: []string{"fetch/uri", "fetch/driver/wire", "fetch/internal/exchange", "internal/pace"}},
	}},

	{"client", []row{
		{packages: "fetch", imports: []string{"fetch/uri", "fetch/driver", "fetch/driver/wire", "fetch/retry", "fetch/internal/exchange", "internal/bounded", "internal/pace"},
			modules: []string{"golang.org/x/net"}},
	}},

	// The drivers, and what stands beside the client, each for itself. No driver imports another:
	// that goes through driver.Env. Those that need the code of others are named, the rest share a
	// row.
	{"protocols", []row{
		{packages: "fetch/message", modules: []string{"golang.org/x/net/html", "golang.org/x/text"}},
		{packages: "internal/mailbox", imports: []string{"fetch/message"}, modules: []string{"go.etcd.io/bbolt"}},
		{packages: "protocols/internal/*", imports: kits, purpose: "what drivers of the same kind share"},
		{packages: "protocols/http/http3", imports: []string{"fetch/driver", "internal/quoted"}, modules: []string{"github.com/quic-go/quic-go", "golang.org/x/net"}},
		{packages: "protocols/http/...", imports: kit, modules: []string{"golang.org/x/net",
			"github.com/icholy/digest", "github.com/andybalholm/brotli", "github.com/klauspost/compress"}},
		{packages: "protocols/ldap/...", imports: kit, modules: []string{"github.com/go-ldap/ldap",
			"github.com/go-asn1-ber/asn1-ber"}},
		{packages: "protocols/sftp/...", imports: kit, purpose: "is the driver for sftp and scp URLs",
			modules: []string{"golang.org/x/crypto", "github.com/skeema/knownhosts"}},
		{packages: "protocols/ws/...", imports: kit, modules: []string{"golang.org/x/net", "github.com/coder/websocket"}},
		{packages: "protocols/nntp/...", imports: append(kit[:len(kit):len(kit)], "fetch/message")},
		{packages: "protocols/imap/...", imports: append(kit[:len(kit):len(kit)], "fetch/message")},
		{packages: "protocols/pop/...", imports: append(kit[:len(kit):len(kit)], "fetch/message")},
		{packages: "protocols/mid/...", imports: []string{"fetch/driver", "fetch/uri", "fetch/message", "internal/mailbox"}},
		{packages: "protocols/mailto/...", imports: []string{"fetch/driver", "fetch/uri", "fetch/message", "internal/mailbox"}},
		{packages: "protocols/*/...", imports: kit, purpose: "one driver a folder"},
		{packages: "protocols", imports: []string{"fetch/driver", "protocols/*", "protocols/http/http3"}},
		{packages: "fetch/links", imports: core, modules: []string{"golang.org/x/net/html", "golang.org/x/text",
			"github.com/tdewolff/parse"}},
		{packages: "crawl/robots"},
		{packages: "fetch/metalink", imports: []string{"fetch/uri"}},
		{packages: "fetch/render", imports: core},
		{packages: "fetch/netrc", imports: core},
		{packages: "fetch/formdata", imports: core},
		{packages: "fetch/cookies", modules: []string{"golang.org/x/net/publicsuffix"}},
		{packages: "fetch/middleware", imports: core, modules: []string{"golang.org/x/time"}},
		{packages: "fetch/middleware/otel", imports: core, modules: []string{"go.opentelemetry.io/otel"}},
		{packages: "fetch/fetchfs", imports: core},
		{packages: "fetch/fetchhttp", imports: append(core[:len(core):len(core)], "internal/template")},
		{packages: "archive/warc", imports: []string{"internal/unnamed"}, modules: []string{"github.com/klauspost/compress"}},
		{packages: "archive/wacz", imports: []string{"archive/warc"}},
		{packages: "archive/capture", imports: append(core[:len(core):len(core)], "archive/warc")},
	}},

	{"files", []row{
		{packages: "fetch/download", imports: append(core[:len(core):len(core)], "fetch/retry", "fetch/metalink", "internal/filelock", "internal/unnamed"), modules: []string{"golang.org/x/sync", "golang.org/x/sys"}},
		{packages: "fetch/job", imports: []string{"fetch", "fetch/driver", "fetch/uri", "fetch/retry", "fetch/links", "fetch/download", "fetch/render"}, modules: []string{"golang.org/x/net"}},
		{packages: "crawl/schedule", imports: []string{"fetch", "fetch/uri", "fetch/retry"}},
		{packages: "crawl", imports: []string{"fetch", "fetch/driver", "fetch/uri", "fetch/retry", "fetch/links", "crawl/robots", "crawl/schedule"}, modules: []string{"go.etcd.io/bbolt"}},
		{packages: "crawl/mirror", imports: []string{"fetch", "fetch/driver", "fetch/uri", "fetch/retry", "fetch/links", "fetch/download", "fetch/job",
			"crawl"}},
		{packages: "queue", imports: []string{"fetch", "fetch/driver", "fetch/uri", "fetch/retry", "fetch/links", "crawl/robots", "fetch/job",
			"crawl/schedule", "crawl", "fetch/render", "internal/filelock", "internal/unnamed"}},
		{packages: "queue/jetstream", imports: []string{"fetch", "queue"}, modules: []string{"github.com/nats-io/nats.go"}},
		{packages: "queue/jetstream/embedded", imports: []string{"fetch"}, modules: []string{"github.com/nats-io/nats-server", "go.etcd.io/bbolt"}},
		{packages: "queue/s3", imports: []string{"fetch", "queue"}, modules: []string{"github.com/minio/minio-go"}},
		{packages: "queue/otel", imports: []string{"fetch", "fetch/job", "fetch/middleware/otel", "queue"}, modules: []string{"go.opentelemetry.io/otel"}},
		{packages: "queue/queuetest", imports: []string{"queue"}},
		{packages: "archive", imports: append(core[:len(core):len(core)], "archive/warc", "archive/capture", "fetch/message",
			"fetch/download", "fetch/retry", "crawl", "crawl/mirror", "internal/mailbox")},
		{packages: "archive/replay", imports: append(core[:len(core):len(core)], "archive/warc", "archive/wacz", "archive/capture", "protocols/http")},
		{packages: "serve", imports: append(core[:len(core):len(core)], "fetch/uri/find", "fetch/links", "fetch/message",
			"fetch/fetchhttp", "archive/replay", "internal/template", "internal/codec/marc"), modules: []string{"github.com/coder/websocket", "golang.org/x/net/html", "golang.org/x/text", "golang.org/x/time"}},
	}},

	{"programs", []row{
		{packages: "cmd/internal/interrupt", imports: []string{"fetch", "fetch/job"}},
		{packages: "cmd/urlget/internal/...", imports: append(public[:len(public):len(public)], "cmd/urlget/internal/..."),
			modules: []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/sys", "golang.org/x/term", "golang.org/x/text"},
			purpose: "the parts of the command"},
		{packages: "cmd/urlget", imports: append(public[:len(public):len(public)], "cmd/urlget/internal/...", "cmd/internal/interrupt"), modules: []string{"github.com/spf13/cobra",
			"github.com/spf13/pflag", "golang.org/x/term"}},
		{packages: "cmd/urlget-queue", imports: append(public[:len(public):len(public)], "cmd/internal/interrupt"), modules: []string{"github.com/spf13/cobra", "github.com/spf13/pflag"}},
		{packages: "examples/...", imports: public, purpose: "small programs to copy from"},
		{packages: "internal/manpages", modules: []string{"github.com/spf13/cobra", "github.com/spf13/pflag"}},
		{packages: "internal/release"},
	}},

	// What only tests import, and what imports it: the tour visits test servers.
	{"tests", []row{
		{packages: "fetchtest", imports: append(core[:len(core):len(core)], "fetchtest/servers")},
		{packages: "fetchtest/drive", imports: []string{"fetch"}},
		{packages: "fetchtest/servers/sftpd", imports: []string{"fetchtest/servers", "internal/codec/filexfer"},
			modules: []string{"golang.org/x/crypto"}},
		{packages: "fetchtest/servers/...", imports: []string{"fetchtest/servers/...", "fetch/uri", "internal/codec/..."},
			purpose: "small servers for the tests of any client, one for each protocol, that fail on request"},
		{packages: "internal/warccheck"},
		{packages: "internal/transcript", modules: []string{"golang.org/x/tools/txtar"}},
		{packages: "examples/tour", imports: public},
		{packages: "integration/...", imports: append(public[:len(public):len(public)], "internal/tun", "integration/...", "internal/codec/..."),
			modules: []string{"golang.org/x/sys"},
			purpose: "tests against real servers, as containers or child processes, and over bad networks"},
		{packages: "bench", imports: append(public[:len(public):len(public)], "bench/delay", "bench/server", "internal/codec/..."),
			purpose: "measures urlget beside curl, wget and lftp"},
		{packages: "bench/delay", imports: []string{"internal/tun"}, modules: []string{"golang.org/x/sys"}},
		{packages: "bench/server"},
		{packages: "bench/side", imports: []string{"bench/delay", "bench/server"}},
		{packages: "internal/floorplan", purpose: "checks who imports whom, and draws this table"},
	}},
}
