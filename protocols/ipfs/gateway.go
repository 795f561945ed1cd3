package ipfs

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/httpauth"
	"github.com/urlget/urlget/internal/pace"
)

// maxBlock limits a block, in bytes. Gateways serve blocks up to 2 MiB.
const maxBlock = 4 << 20

const blockType = "application/vnd.ipld.raw"

// A gateway is a server of blocks. It is not trusted.
type gateway struct {
	base   string // ends with a slash
	header textproto.MIMEHeader
}

// findGateway returns the gateway of the setting or, if that is "", of the environment.
func findGateway(setting string) (*gateway, error) {
	from := "the IPFS gateway"
	if setting == "" {
		setting, from = os.Getenv("IPFS_GATEWAY"), "$IPFS_GATEWAY"
	}
	if setting == "" {
		from = gatewayFile()
		setting = firstLine(from)
	}
	if setting == "" {
		return nil, &fetch.Error{Code: fetch.ErrNoServer, Err: errors.New("no IPFS gateway is configured"),
			Reason: fetch.Reason{Kind: fetch.ReasonGateway, Scheme: "ipfs"},
			Hint:   "set the gateway in the options, $IPFS_GATEWAY or ~/.ipfs/gateway"}
	}
	if !strings.Contains(setting, "://") {
		setting = "http://" + setting
	}
	u, err := uri.Parse(setting)
	_, query := u.Query()
	_, fragment := u.Fragment()
	if s := u.Scheme(); err == nil && (s != "http" && s != "https" || u.Host() == "" || query || fragment) {
		err = errors.New("not an http or https URL of a gateway")
	}
	if err != nil {
		return nil, fetch.ErrURL.Errorf("%s: %w", from, err)
	}
	g := &gateway{base: strings.TrimRight(u.WithoutUserinfo().String(), "/") + "/"}
	if user, ok := u.User(); ok {
		password, _ := u.Password()
		g.header = textproto.MIMEHeader{"Authorization": {httpauth.Basic(user, password)}}
	}
	return g, nil
}

func gatewayFile() string {
	dir := os.Getenv("IPFS_PATH")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".ipfs")
	}
	return filepath.Join(dir, "gateway")
}

func firstLine(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, 4<<10)).ReadString('\n')
	if err != nil && err != io.EOF {
		return ""
	}
	return strings.TrimSpace(line)
}

// blockURL returns the URL of a block, without the login.
func (g *gateway) blockURL(id cid) uri.URI {
	return uri.MustParse(g.base + "ipfs/" + id.String() + "?format=raw")
}

// A source retrieves blocks and verifies them.
type source struct {
	env     fetch.Env
	gateway *gateway
	cache   *cache
}

// block returns the block of id, of at most limit bytes.
func (s *source) block(ctx context.Context, id cid, limit int) ([]byte, error) {
	if err := id.check(); err != nil {
		return nil, err
	}
	if id.hash == hashInline {
		return []byte(id.digest), nil
	}
	if b, ok := s.cache.get(id); ok {
		return b, nil
	}
	url := s.gateway.blockURL(id)
	b, contentType, err := s.get(ctx, url, blockType, limit)
	if err != nil {
		return nil, gatewayError("block "+id.String()+" from "+s.gateway.base, err)
	}
	switch {
	case len(b) > limit:
		return nil, damaged("the gateway %s sends more than %d bytes for block %s", s.gateway.base, limit, id)
	case !id.matches(b):
		return nil, damaged("the gateway %s sends other content for block %s: %d bytes of type %q",
			s.gateway.base, id, len(b), contentType)
	}
	return b, nil
}

// get requests u from the gateway. It returns one byte more than limit if there are more.
func (s *source) get(ctx context.Context, u uri.URI, accept string, limit int) (
	b []byte, contentType string, err error) {
	req := &fetch.Request{URL: u, Accept: []string{accept}, Header: s.gateway.header}
	resp, err := s.env.OpenGateway(ctx, req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	piece := pace.NewReader(resp.Body, s.env.Timeouts().Idle) // useless until it is complete
	b, err = io.ReadAll(io.LimitReader(piece, int64(limit)+1))
	return b, resp.ContentType, err
}

// node returns the decoded block of id. Blocks of directories are kept for the next paths.
func (s *source) node(ctx context.Context, id cid, limit int) (*node, error) {
	b, err := s.block(ctx, id, limit)
	if err != nil {
		return nil, err
	}
	n, err := parseNode(id, b)
	if err == nil && n.isDirectory() {
		s.cache.put(id, b)
	}
	return n, err
}

// A pending is a node that is being retrieved.
type pending struct {
	done chan struct{}
	node *node
	err  error
}

// start begins to retrieve a node. It ends with ctx.
func (s *source) start(ctx context.Context, id cid, limit int) *pending {
	p := &pending{done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.node, p.err = s.node(ctx, id, limit)
	}()
	return p
}

func (p *pending) wait(ctx context.Context) (*node, error) {
	select {
	case <-p.done:
		return p.node, p.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
