package fetch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Scheme describes a registered scheme.
type Scheme struct {
	Name   string // lower case
	Port   uint16 // default; 0 if none
	Ops    []Op   // what Driver can do; none for a scheme that only names things
	Ranges bool   // OpGet honors Range
	// Local is true if the driver reads this machine or runs programs on it.
	// A remote party may not lead there.
	Local bool
	// Relayed is true if HTTP proxies know how to retrieve the scheme's URLs.
	// Those of other schemes are tunnelled.
	Relayed bool
	// Summary is what the scheme is, in one line for people.
	Summary string
	Driver  Driver
}

// Can reports whether op is among Ops.
func (s Scheme) Can(op Op) bool { return slices.Contains(s.Ops, op) }

// State says in a word or two what can be done with URLs of the scheme:
// "retrieves", "session" or "names only".
func (s Scheme) State() string {
	switch {
	case s.Can(OpGet) || s.Can(OpList):
		return "retrieves"
	case s.Can(OpDial):
		return "session"
	}
	return "names only"
}

// A Registry maps schemes to drivers, and is itself a Driver: the dispatcher.
// The zero value is empty and ready. It is filled by loaders and not changed
// afterwards.
type Registry struct {
	schemes map[string]Scheme
	open    []openPrefix
}

// An openPrefix finds schemes that are not known beforehand.
type openPrefix struct {
	prefix string
	find   func(name string) (Scheme, bool)
}

// Register adds s. It panics if s.Driver is nil, if s.Name is not a
// lower-case scheme name, or if it is taken.
func (r *Registry) Register(s Scheme) {
	switch _, taken := r.schemes[s.Name]; {
	case s.Driver == nil:
		panic("fetch: Register of scheme " + s.Name + " without a driver")
	case s.Name == "" || s.Name != strings.ToLower(s.Name):
		panic(fmt.Sprintf("fetch: Register of bad scheme name %q", s.Name))
	case taken:
		panic("fetch: Register called twice for scheme " + s.Name)
	}
	if r.schemes == nil {
		r.schemes = make(map[string]Scheme)
	}
	r.schemes[s.Name] = s
}

// RegisterPrefix lets find look for schemes whose names begin with prefix, such
// as "x-", when they are asked for. Registered schemes come first. find is
// called by many goroutines, and often: for each request.
func (r *Registry) RegisterPrefix(prefix string, find func(name string) (Scheme, bool)) {
	r.open = append(r.open, openPrefix{prefix, find})
}

// Lookup finds a scheme by its lower-case name.
func (r *Registry) Lookup(name string) (Scheme, bool) {
	if s, ok := r.schemes[name]; ok {
		return s, true
	}
	for _, o := range r.open {
		if strings.HasPrefix(name, o.prefix) {
			if s, ok := o.find(name); ok {
				return s, true
			}
		}
	}
	return Scheme{}, false
}

// Schemes returns all schemes, sorted by name.
func (r *Registry) Schemes() []Scheme {
	all := make([]Scheme, 0, len(r.schemes))
	for _, s := range r.schemes {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Scheme) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Open passes req to the driver of its URL's scheme or, if a proxy is to
// retrieve the URL, to the driver that speaks to the proxy.
func (r *Registry) Open(ctx context.Context, req *Request) (*Response, error) {
	name := req.URL.Scheme()
	if proxy := provenanceOf(ctx).proxy; proxy.relay {
		name = proxy.url.Scheme()
	}
	s, ok := r.Lookup(name)
	if !ok {
		return nil, unknownScheme(name)
	}
	if err := s.refuse(req.Op); err != nil {
		return nil, err
	}
	resp, err := s.Driver.Open(ctx, req)
	if err != nil {
		return nil, err
	}
	if resp == nil || resp.Body == nil {
		return nil, &Error{Code: ErrProtocol, Err: fmt.Errorf("the %s driver returned no body", s.Name)}
	}
	return resp, nil
}

// refuse answers operations that a scheme cannot have, in words that say what
// can be done instead. Schemes that only name things go to their driver,
// whose error says more.
func (s Scheme) refuse(op Op) error {
	switch {
	case s.Can(op) || s.State() == "names only" || op == OpStat || op == OpList:
		return nil
	case op == OpGet && s.State() == "session":
		return &Error{Code: ErrInteractive, Err: fmt.Errorf("%s is a session: %w", s.Name, errors.ErrUnsupported),
			Hint: "open it as a session, from a terminal or with input to send"}
	case op == OpDial:
		return &Error{Code: ErrNotRetrievable, Err: fmt.Errorf("%s has no sessions: %w", s.Name, errors.ErrUnsupported)}
	}
	return nil
}

func unknownScheme(name string) error {
	e := &Error{Code: ErrScheme, Err: fmt.Errorf("%q is not registered", name),
		Hint: "map it to a gateway (--gateway " + name + "=URL)"}
	switch {
	case strings.HasPrefix(name, "x-"): // experimental (RFC 1738, section 2.1)
		e.Hint = "put a program urlget-" + name + " on PATH, or " + e.Hint
	case name == "":
		e.Code, e.Err, e.Hint = ErrURL, errors.New("the URL has no scheme"), ""
	}
	return e
}
