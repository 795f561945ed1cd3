// Package external is the driver for experimental schemes ("x-foo", RFC 1738, section 2.1). It runs
// a program that implements the protocol. docs/external-drivers.md describes the interface of such
// programs.
package external

import (
	"context"
	"io"
	"iter"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
)

// Prefix is the prefix of schemes that programs may serve. Such schemes are never standardized.
const Prefix = "x-"

// Options configure the driver. The zero value selects the defaults.
type Options struct {
	// Programs maps schemes to the programs that serve them. For other schemes, a program called
	// "urlget-" followed by the scheme is looked up on PATH. Names without Prefix are ignored.
	Programs map[string]string
}

// Load registers the driver with its defaults.
func Load(env fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With returns a Loader that registers the driver with options.
func With(opts Options) fetch.Loader {
	return func(env fetch.Env, reg *fetch.Registry) {
		for name, program := range opts.Programs {
			if strings.HasPrefix(name, Prefix) {
				reg.Register(scheme(env, name, program))
			}
		}
		reg.RegisterPrefix(Prefix, func(name string) (fetch.Scheme, bool) {
			// LookPath accepts programs only from absolute entries of PATH.
			program, err := exec.LookPath("urlget-" + name)
			return scheme(env, name, program), err == nil
		})
	}
}

func scheme(env fetch.Env, name, program string) fetch.Scheme {
	return fetch.Scheme{
		Name: name, Ops: []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList},
		Local:   true, // remote parties must not start programs
		Summary: "experimental; served by " + program,
		Driver:  &opener{program: program, env: env},
	}
}

type opener struct {
	program string
	env     fetch.Env
}

func (d *opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	p, err := start(ctx, d.program, req, d.env.Timeouts().Idle)
	if err != nil {
		return nil, err
	}
	trace := driver.Line(ctx)
	if trace == nil {
		trace = func(bool, string) {}
	}
	trace(true, strings.Join(command(d.program, req), " "))
	resp, err := p.response(req, trace)
	if err != nil {
		p.Close()
		return nil, err
	}
	return resp, nil
}

func (d *opener) Explain(req *fetch.Request) ([]string, error) {
	return []string{strings.Join(command(d.program, req), " ")}, nil
}

// command returns the program and its arguments. They do not include the password, because all
// users of the machine can read them.
func command(program string, req *fetch.Request) []string {
	return []string{program, req.Op.String(), withoutPassword(req.URL).String()}
}

func withoutPassword(u uri.URI) uri.URI {
	if _, ok := u.Password(); !ok {
		return u
	}
	user, _ := u.User()
	u, _ = u.WithUser(user) // the user comes from a URL, so it is valid
	return u
}

const (
	maxHeaderLines = 100
	maxLine        = 8 << 10
)

func (p *process) response(
	req *fetch.Request, trace func(sent bool, line string),
) (*fetch.Response, error) {
	r := wire.NewReader(p.stdout, maxLine)
	resp := &fetch.Response{Meta: fetch.Meta{Size: -1}, Body: &output{process: p, r: r}}
	for range maxHeaderLines {
		line, err := r.Line()
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			if err := p.wait(); err != nil {
				return nil, err
			}
			return nil, violation("the output ended within the header")
		case err != nil:
			return nil, err
		case len(line) == 0:
			if len(resp.Location) > 0 {
				return resp, nil
			}
			if req.Op == fetch.OpList || resp.Kind == fetch.KindListing {
				resp.Kind, resp.Parse = fetch.KindListing, entries
			}
			return resp, nil
		}
		trace(false, string(line))
		if err := header(resp, string(line)); err != nil {
			return nil, err
		}
	}
	return nil, violation("the header exceeds %d lines", maxHeaderLines)
}

func violation(format string, args ...any) error {
	return fetch.ErrProtocol.Errorf("the external driver: "+format, args...)
}

// header parses one header line into resp. Unknown fields are kept for the caller.
func header(resp *fetch.Response, line string) error {
	name, value, ok := strings.Cut(line, ":")
	value = strings.TrimSpace(value)
	if !ok {
		return violation("malformed header line %q", line)
	}
	switch strings.ToLower(name) {
	case "content-type":
		resp.ContentType = value
	case "size", "content-length":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 {
			return violation("invalid size %q", value)
		}
		resp.Size = n
	case "last-modified":
		t, err := time.Parse(time.RFC3339, value)
		if err != nil {
			return violation("invalid RFC 3339 time %q", value)
		}
		resp.ModTime = t
	case "etag":
		resp.ETag = value
	case "name":
		resp.Name = fetch.SafeName(value)
	case "kind":
		if value == fetch.KindListing.String() {
			resp.Kind = fetch.KindListing
		}
	case "location":
		u, err := uri.Parse(value)
		if err != nil {
			return violation("invalid URL %q", value)
		}
		resp.Location = append(resp.Location, u)
	default:
		if resp.Header == nil {
			resp.Header = make(map[string][]string)
		}
		resp.Header.Add(name, value)
	}
	return nil
}

// An output is the body of a response: the output of the program after the header. It is complete
// if the program exits successfully.
type output struct {
	*process
	r *wire.Reader
}

func (b *output) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err == io.EOF {
		if failure := b.wait(); failure != nil {
			err = failure
		}
	}
	return n, err
}

// entries parses text/uri-list, with a URL on each line. A line "# " before it contains the name to
// display. A URL that ends with a slash is a listing.
func entries(r io.Reader) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		name := ""
		for raw, err := range wire.NewReader(r, maxLine).All() {
			if err != nil {
				yield(fetch.Entry{}, err)
				return
			}
			line := string(raw)
			if comment, ok := strings.CutPrefix(line, "#"); ok || line == "" {
				name = strings.TrimSpace(comment)
				continue
			}
			u, err := uri.Parse(line)
			if err != nil || !u.IsAbs() {
				yield(fetch.Entry{}, violation("%q is not an absolute URL", line))
				return
			}
			if name == "" {
				name = u.LastSegment()
			}
			e := fetch.Entry{URL: u, Name: name, Rel: "item", Size: -1}
			if strings.HasSuffix(u.Path(), "/") {
				e.Kind = fetch.EntryListing
			}
			if !yield(e, nil) {
				return
			}
			name = ""
		}
	}
}
