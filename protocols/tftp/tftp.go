// Package tftp retrieves files with the Trivial File Transfer Protocol (RFC 1350) over UDP.
//
//	tftp://host/dir/file                  the file "dir/file", byte for byte
//	tftp://host//dir/file                 the file "/dir/file"
//	tftp://host/file;mode=netascii        as text: CR LF becomes LF
//
// The driver requests larger blocks, several blocks per acknowledgement, and the size (RFC 2347 to
// 2349, RFC 7440). It works without options that the server does not accept. A file ends with a
// block that is not full. There are no logins, listings, or ranges.
package tftp

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/codec/tftp"
)

const (
	port = 69
	// maxName limits file names, in bytes, so that a request fits into any datagram.
	maxName = 400
)

// Options configures the driver. The zero value is the default.
type Options struct {
	// First is the time until the first retransmission; 0 means one second. The interval doubles
	// with each retransmission, up to eight times First.
	First time.Duration
	// Tries is the number of retransmissions before the server is considered silent; 0 means 6. The
	// timeouts of the client may end the wait earlier.
	Tries int
}

// Load registers the driver with default options.
func Load(env fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With is like Load, with options.
func With(opts Options) fetch.Loader {
	opts.First, opts.Tries = cmp.Or(opts.First, time.Second), cmp.Or(opts.Tries, 6)
	return func(env fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{
			Name:    "tftp",
			Port:    port,
			Ops:     []fetch.Op{fetch.OpGet, fetch.OpStat},
			Summary: "files over TFTP, the Trivial File Transfer Protocol (RFC 1350, RFC 3617)",
			Driver:  &opener{env: env, opts: opts},
		})
	}
}

type opener struct {
	env  fetch.Env
	opts Options
}

const (
	octet    = "octet"
	netascii = "netascii"
)

// parse returns the request for a URL, without options (RFC 3617, section 3).
func parse(u uri.URI) (tftp.Packet, error) {
	p := tftp.Packet{Op: tftp.Read, Mode: octet}
	if u.Host() == "" {
		return p, fetch.ErrURL.Errorf("no host")
	}
	if _, ok := u.User(); ok {
		return p, fetch.ErrURL.Errorf("a tftp URL cannot have a user name")
	}
	name := u.URLPath()
	if i := strings.LastIndexByte(name, ';'); i >= 0 {
		key, value, _ := strings.Cut(name[i+1:], "=")
		if strings.EqualFold(key, "mode") {
			if p.Mode = strings.ToLower(value); p.Mode != octet && p.Mode != netascii {
				return p, fetch.ErrURL.Errorf("the mode of a tftp URL must be octet or netascii")
			}
			name = name[:i]
		}
	}
	file, err := uri.Unescape(name)
	switch {
	case err != nil:
		return p, err
	case file == "":
		return p, fetch.ErrURL.Errorf("no file name")
	case len(file) > maxName:
		return p, fetch.ErrURL.Errorf("file name too long: more than %d bytes", maxName)
	}
	p.File = file
	return p, nil
}

func (d *opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	p, err := parse(req.URL)
	if err != nil {
		return nil, err
	}
	t, err := d.open(ctx, req.URL.HostPort(port), p)
	if err != nil {
		return nil, err
	}
	resp := &fetch.Response{URL: req.URL, Body: t}
	if t.last.Load() {
		t.size = int64(len(t.ready)) // a single block
	}
	resp.Size, resp.Name = t.size, fetch.SafeName(p.File)
	resp.ContentType = cmp.Or(fetch.TypeByName(p.File), "application/octet-stream")
	if p.Mode == netascii {
		// tsize may be the size of the file or of its netascii form.
		resp.Size, resp.Body = -1, driver.Body{Reader: tftp.NetASCII(t), Closer: t}
		resp.ContentType = cmp.Or(fetch.TypeByName(p.File), "text/plain")
	}
	return driver.DropBody(req, resp), nil
}

func (d *opener) Explain(req *fetch.Request) ([]string, error) {
	p, err := parse(req.URL)
	if err != nil {
		return nil, err
	}
	p.Options = requestedOptions
	steps := []string{"send " + p.String()}
	if req.Op == fetch.OpStat {
		steps = append(steps, "end the transfer once the size is known")
	}
	return steps, nil
}
