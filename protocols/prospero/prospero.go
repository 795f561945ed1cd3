// Package prospero is the driver for prospero: directories and files of
// Prospero servers, over ARDP and UDP (RFC 1738, section 3.11).
//
// A directory is a listing, whose entries carry the URLs of what they lead
// to. A file comes from the server itself if it has the contents, else from
// where the server says that it is to be had: that is a redirect, which the
// client follows under its policy.
package prospero

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/prospero/ardp"
	"github.com/urlget/urlget/protocols/prospero/message"
)

const port = 1525

// Options configures the driver. The zero value is the default.
type Options struct {
	MaxReply int64       // largest reply in octets; 0 means 64 MiB
	Timing   ardp.Timing // of repetitions
}

// Load registers the driver with its defaults.
func Load(env *fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With is Load with options.
func With(opts Options) fetch.Loader {
	if opts.MaxReply == 0 {
		opts.MaxReply = 64 << 20
	}
	return func(env *fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{
			Name: "prospero", Port: port, Ops: []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList},
			Summary: "Prospero directory service: directories and files by UDP",
			Driver:  &driver{env: env, opts: opts},
		})
	}
}

type driver struct {
	env  *fetch.Env
	opts Options
}

// An object is what a URL names.
type object struct {
	host    string // "host:port"
	name    string
	version string
	// fields other than the version select among the links of a directory.
	fields []uri.ProsperoField
}

func parse(u uri.URI) (object, error) {
	p, err := uri.ParseProspero(u)
	if err != nil {
		return object{}, err
	}
	if p.Host == "" {
		return object{}, &fetch.Error{Code: fetch.ErrURL, Err: errors.New("the URL names no host")}
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

// suggestion is the name of a file for the object.
func (o object) suggestion() string { return fetch.SafeName(path.Base(o.name)) }

// mediaType guesses by the name, as Prospero does not tell.
func (o object) mediaType() string {
	return cmp.Or(fetch.TypeByName(o.name), "application/octet-stream")
}

// The requests. Commands of one message run in order.

func (o object) list() string {
	directory := "DIRECTORY ASCII " + message.Quote(o.name)
	if o.version != "0" {
		directory += " " + message.Quote(o.version)
	}
	return "VERSION 5\nAUTHENTICATE '' UNAUTHENTICATED guest\n" + directory + "\nLIST ATTRIBUTES COMPONENTS *"
}

func (o object) listVersion1() string {
	return "VERSION 1\nAUTHENTICATOR UNAUTHENTICATED guest\nDIRECTORY ASCII " + o.name + "\nLIST ATTRIBUTES COMPONENTS\n"
}

func (o object) info(attributes string) string {
	return "VERSION 5\nGET-OBJECT-INFO " + attributes + " ASCII " + message.Quote(o.name) + " " + message.Quote(o.version)
}

// Open implements fetch.Driver.
func (d *driver) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	o, err := parse(req.URL)
	if err != nil {
		return nil, err
	}
	switch req.Op {
	case fetch.OpGet, fetch.OpList:
	case fetch.OpStat:
		return d.stat(ctx, o)
	default:
		return nil, fmt.Errorf("a Prospero server cannot %s: %w", req.Op, errors.ErrUnsupported)
	}
	resp, err := d.list(ctx, o)
	if !errors.Is(err, errNotDirectory) {
		return resp, err
	}
	if req.Op == fetch.OpList {
		return nil, d.whyNoDirectory(ctx, o)
	}
	if resp, err = d.contents(ctx, o); !errors.Is(err, errNoContents) {
		return resp, err
	}
	return d.elsewhere(ctx, o)
}

// Explain implements fetch.Explainer.
func (d *driver) Explain(req *fetch.Request) ([]string, error) {
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
		steps = append(steps, strings.Split(o.info("CONTENTS"), "\n")...)
	}
	return steps, nil
}

var (
	_ fetch.Driver    = (*driver)(nil)
	_ fetch.Explainer = (*driver)(nil)
)
