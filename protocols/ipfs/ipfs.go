// Package ipfs is the driver for ipfs and ipns URLs: files and directories in UnixFS
// (https://specs.ipfs.tech/unixfs/), named by the digests of their blocks.
//
// It retrieves the blocks from a trustless gateway (https://specs.ipfs.tech/http-gateways/trustless-gateway/)
// and verifies each of them before any byte of it is used. So a gateway can refuse to serve content, but
// cannot change it. Paths are resolved in the verified blocks, also those through symbolic links, which
// must stay below the root.
//
// The names of ipns URLs are keys, whose records the gateway serves and the driver verifies
// (https://specs.ipfs.tech/ipns/ipns-record/), or domains with a DNSLink (https://dnslink.dev), which the
// driver looks up itself. A gateway can serve an old record until it expires.
//
// Blocks have the codecs raw and dag-pb, and the hash functions sha2-256, blake2b-256 and identity.
package ipfs

import (
	"context"
	"sync"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

// Options configures the driver.
type Options struct {
	// Gateway is the http or https URL of the gateway, without the "/ipfs/" of its URLs. It may have a
	// login. "" means $IPFS_GATEWAY, then the file gateway in $IPFS_PATH or ~/.ipfs. Foreign requests
	// (see fetch.Env) also use it. There is no default gateway.
	Gateway string
}

// Load registers the driver with default options.
func Load(env fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With is like Load, with options.
func With(opts Options) fetch.Loader {
	return func(env fetch.Env, reg *fetch.Registry) {
		d := newDriver(env, opts)
		scheme := fetch.Scheme{
			Name: "ipfs", Ops: []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList}, Ranges: true,
			Traits: fetch.Traits{Tree: true}, Driver: d,
			Summary: "files and directories of IPFS, from a gateway whose data is verified",
		}
		reg.Register(scheme)
		scheme.Name, scheme.Summary = "ipns", "names of content in IPFS, by signed records and DNSLink"
		reg.Register(scheme)
	}
}

type opener struct {
	env     fetch.Env
	gateway func() (*gateway, error)
	cache   cache
}

func newDriver(env fetch.Env, opts Options) *opener {
	find := func() (*gateway, error) { return findGateway(opts.Gateway) }
	return &opener{env: env, gateway: sync.OnceValues(find)}
}

func (d *opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	t, err := newTarget(req)
	if err != nil {
		return nil, err
	}
	gw, err := d.gateway()
	if err != nil {
		return nil, err
	}
	tree, names := &tree{source: &source{d.env, gw, &d.cache}, root: t.root}, t.names
	if t.named {
		if tree.root, names, err = tree.resolveName(ctx, t.name); err != nil {
			return nil, err
		}
		names = append(names, t.names...)
	}
	n, names, err := tree.resolve(ctx, names)
	if err != nil {
		return nil, err
	}
	if n.isDirectory() {
		return tree.directory(ctx, t, n, names), nil
	}
	if err := remotefile.CheckFile(req, t.Dir); err != nil {
		return nil, err
	}
	return tree.file(ctx, t, n)
}

func (d *opener) Explain(req *fetch.Request) ([]string, error) {
	t, err := newTarget(req)
	if err != nil {
		return nil, err
	}
	gw, err := d.gateway()
	if err != nil {
		return nil, err
	}
	steps := []string{"GET " + gw.blockURL(t.root).Redacted()}
	switch {
	case t.name.domain != "":
		steps = []string{"look up the TXT records of " + t.name.dnslink(), "GET the block to which they lead"}
	case t.named:
		steps = []string{"GET " + gw.recordURL(t.name.key).Redacted(),
			"verify the record with the key of the name", "GET the block to which it leads"}
	}
	if len(t.names) > 0 {
		steps = append(steps, "find "+fetch.Printable(t.path())+" in it, and in the blocks that it links to")
	}
	return append(steps, "verify each block with the digest in its CID"), nil
}

// A target is a parsed URL.
type target struct {
	req   *fetch.Request
	root  cid
	name  name
	named bool     // name leads to the root
	names []string // the elements of the path, decoded, without "." and ".."
	url   uri.URI  // without the query and the fragment
	remotefile.Path
}
