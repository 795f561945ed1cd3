// Package prospero is the driver for prospero URLs: directories and files of Prospero servers, over
// ARDP and UDP (RFC 1738, section 3.11).
//
// A directory is a listing, whose entries have the URLs of their targets. If the server stores the
// contents of a file, it returns them. Otherwise it returns the locations of the file, and the
// response is a redirect, which the client follows under its policy.
package prospero

import (
	"cmp"
	"context"
	"errors"
	"path"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	codec "github.com/urlget/urlget/internal/codec/prospero"
)

const port = 1525

// Options configures the driver. The zero value is the default.
type Options struct {
	MaxReply int64 // largest reply in bytes; 0 means 64 MiB
	// First is the time until the first retransmission of a request, which doubles with each
	// retransmission; 0 means 4 seconds.
	First time.Duration
	// Tries is the number of retransmissions before the server is considered silent; 0 means 3. The
	// timeouts of the client may end the wait earlier.
	Tries int
}

// Load registers the driver with default options.
func Load(env fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With is like Load, with options.
func With(opts Options) fetch.Loader {
	opts.MaxReply = cmp.Or(opts.MaxReply, 64<<20)
	return func(env fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{
			Name: "prospero", Port: port, Ops: []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList},
			Refers:  true,
			Summary: "directories and files of the Prospero directory service, over UDP",
			Driver:  &opener{env: env, opts: opts},
		})
	}
}

type opener struct {
	env  fetch.Env
	opts Options
}

type object struct {
	host    string // "host:port"
	name    string
	version string
	// fields, other than the version, select links of a directory.
	fields []uri.ProsperoField
}

func parse(u uri.URI) (object, error) {
	p, err := uri.ParseProspero(u)
	if err != nil {
		return object{}, err
	}
	if p.Host == "" {
		return object{}, fetch.ErrURL.Errorf("no host")
	}
	o := object{host: u.HostPort(port), name: p.HSOName, version: "0"}
	for _, f := range p.Fields {
		if strings.EqualFold(f.Name, uri.ObjectVersion) {
			o.version = f.Value
		} else {
			o.fields = append(o.fields, f)
		}
	}
	return o, nil
}

func (o object) fileName() string { return fetch.SafeName(path.Base(o.name)) }

// mediaType guesses the media type from the name, because Prospero has none.
func (o object) mediaType() string {
	return cmp.Or(fetch.TypeByName(o.name), "application/octet-stream")
}

// The following methods return requests. Servers execute the commands of a message in order.

func (o object) list() string {
	directory := "DIRECTORY ASCII " + codec.Quote(o.name)
	if o.version != "0" {
		directory += " " + codec.Quote(o.version)
	}
	return "VERSION 5\nAUTHENTICATE '' UNAUTHENTICATED guest\n" + directory + "\nLIST ATTRIBUTES COMPONENTS *"
}

func (o object) listVersion1() string {
	return "VERSION 1\nAUTHENTICATOR UNAUTHENTICATED guest\nDIRECTORY ASCII " + o.name +
		"\nLIST ATTRIBUTES COMPONENTS\n"
}

func (o object) info(attributes string) string { return "VERSION 5\n" + o.objectInfo(attributes) }

func (o object) objectInfo(attributes string) string {
	return "GET-OBJECT-INFO " + attributes + " ASCII " + codec.Quote(o.name) + " " + codec.Quote(o.version)
}

func (d *opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	o, err := parse(req.URL)
	if err != nil {
		return nil, err
	}
	switch req.Op {
	case fetch.OpGet, fetch.OpList:
	case fetch.OpStat:
		return d.stat(ctx, o)
	}
	resp, err := d.list(ctx, o)
	if !errors.Is(err, errNotDirectory) {
		return resp, err
	}
	if req.Op == fetch.OpList {
		return nil, d.notDirectoryError(ctx, o)
	}
	if resp, err = d.contents(ctx, o); !errors.Is(err, errNoContents) {
		return resp, err
	}
	return d.redirect(ctx, o)
}

func (d *opener) Explain(req *fetch.Request) ([]string, error) {
	o, err := parse(req.URL)
	if err != nil {
		return nil, err
	}
	if req.Op == fetch.OpStat {
		return strings.Split(o.info("#ALL"), "\n"), nil
	}
	steps := strings.Split(o.list(), "\n")
	if req.Op == fetch.OpGet {
		steps = append(steps, "if it is not a directory:")
		steps = append(steps, strings.Split(o.info("#ALL")+"\n"+o.objectInfo("CONTENTS"), "\n")...)
	}
	return steps, nil
}
