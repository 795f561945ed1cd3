// Package floorplan checks which package may import which. The table below is the rule, in the order
// of the layers.
package floorplan

const module = "github.com/urlget/urlget"

// A row allows packages to import others. Paths are relative to the module; "..." at the end stands
// for whatever follows, nothing included, and "*" for one element. The first row that matches a
// package holds. The standard library is always allowed.
type row struct {
	packages string
	imports  []string // packages of this module; "own" is the driver's own directory
	modules  []string // packages of others, with all below
}

var (
	core  = []string{"fetch", "fetch/uri"}
	lines = []string{"fetch", "fetch/uri", "internal/wire", "internal/pool", "own"}
	// public is what a program outside the module could import.
	public = []string{"fetch/...", "protocols/..."}
)

var table = []row{
	// Layer 0: no idea of fetching.
	{packages: "fetch/uri", modules: []string{"golang.org/x/net/idna", "golang.org/x/text"}},
	{packages: "internal/wire"},
	{packages: "internal/pool"},
	{packages: "fetch/message", modules: []string{"github.com/emersion/go-message", "golang.org/x/net/html", "golang.org/x/text"}},
	{packages: "internal/mailbox", imports: []string{"fetch/message"}, modules: []string{"go.etcd.io/bbolt"}},

	// Layer 1: the client, which knows no protocol.
	{packages: "fetch", imports: []string{"fetch/uri", "internal/wire"}, modules: []string{"golang.org/x/net"}},

	// Layer 2: what stands beside the client, each for itself.
	{packages: "fetch/middleware/...", imports: core, modules: []string{"golang.org/x/time"}},
	{packages: "fetch/links/...", imports: core, modules: []string{"golang.org/x/net/html"}},
	{packages: "fetch/render", imports: core, modules: []string{"golang.org/x/net/html"}},
	{packages: "fetch/netrc", imports: core},
	{packages: "fetch/fetchfs", imports: core},
	{packages: "fetch/fetchhttp", imports: core},
	{packages: "fetch/fetchtest", imports: core},
	{packages: "fetch/warc", imports: core},

	// Layer 2: the drivers. None imports another: that goes through fetch.Env. Those that need the
	// code of others are named here, the rest share the last row.
	{packages: "protocols/http/...", imports: lines, modules: []string{"golang.org/x/net",
		"github.com/icholy/digest", "github.com/Azure/go-ntlmssp", "github.com/andybalholm/brotli",
		"github.com/klauspost/compress"}},
	{packages: "protocols/nntp/...", imports: append(lines[:len(lines):len(lines)], "fetch/message")},
	{packages: "protocols/mid/...", imports: []string{"fetch", "fetch/uri", "fetch/message", "internal/mailbox"}},
	{packages: "protocols/mailto/...", imports: []string{"fetch", "fetch/uri", "fetch/message", "internal/mailbox"}},
	{packages: "protocols/ldap/...", imports: lines, modules: []string{"github.com/go-ldap/ldap",
		"github.com/go-asn1-ber/asn1-ber"}},
	{packages: "protocols/telnet/tn3270", modules: []string{"golang.org/x/text"}},
	{packages: "protocols/*/...", imports: lines},

	// Layer 3: what brings drivers together, and what works with whole resources.
	{packages: "protocols", imports: []string{"fetch", "fetch/uri", "protocols/*"}},
	{packages: "fetch/download", imports: core, modules: []string{"golang.org/x/sync"}},
	{packages: "fetch/mirror", imports: []string{"fetch", "fetch/uri", "fetch/download", "fetch/links/..."},
		modules: []string{"golang.org/x/sync"}},

	// Layer 4: programs.
	{packages: "cmd/urlget/...", imports: append(public, "cmd/urlget/..."), modules: []string{"github.com/spf13/cobra",
		"github.com/spf13/pflag", "github.com/vbauerster/mpb", "golang.org/x/term", "golang.org/x/sys"}},
	{packages: "examples/tour", imports: append(public, "internal/testserver/...")},
	{packages: "examples/...", imports: public},
	{packages: "integration/...", imports: append(public, "integration/...")},
	{packages: "bench/...", imports: append(public, "bench/...")},

	// For tests.
	{packages: "internal/transcript", modules: []string{"golang.org/x/tools/txtar"}},
	{packages: "internal/testserver/...", imports: []string{"internal/testserver/...", "fetch/uri", "protocols/wais/apdu",
		"protocols/prospero/ardp", "protocols/prospero/message"}, modules: []string{"golang.org/x/tools/txtar"}},
	{packages: "internal/floorplan"},
}
