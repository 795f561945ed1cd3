package fetch

import (
	"fmt"
	"slices"
	"strings"
)

// A Scheme describes a registered scheme.
type Scheme struct {
	Name   string // lower case
	Port   uint16 // default; 0 if none
	Ops    []Op   // operations of Driver; empty for a scheme that only names things
	Ranges bool   // OpGet honors Range
	// RangeSets is set if OpGet also honors Ranges and ranges relative to the end. For other
	// schemes the client first determines the size.
	RangeSets bool
	// Local is set if the driver reads from this machine or runs programs on it. Remote parties may
	// not lead there.
	Local bool
	// Refers is set if Location holds links that are the content of a resource and not redirects.
	// They may lead to any scheme.
	Refers bool
	// ForwardProxy is set if HTTP proxies can retrieve URLs of the scheme. Requests for other
	// schemes are tunnelled.
	ForwardProxy bool
	// Bodies is set if OpGet honors Method and Body.
	Bodies bool
	// Pipelined is set if consecutive requests can be sent ahead (see fetch.Client.DoAll).
	Pipelined bool
	Traits
	// Summary describes the scheme in one line.
	Summary string
	Driver  Driver
}

// Can reports whether Ops includes op.
func (s Scheme) Can(op Op) bool { return slices.Contains(s.Ops, op) }

// Retrieves reports whether OpGet or OpList is supported.
func (s Scheme) Retrieves() bool { return s.Can(OpGet) || s.Can(OpList) }

// State returns the use of the URLs of the scheme, as a token: "retrieves" for content or listings,
// "session" for interactive services, or "names_only" if the driver only explains them.
func (s Scheme) State() string {
	switch {
	case s.Retrieves():
		return "retrieves"
	case s.Can(OpDial):
		return "session"
	}
	return "names_only"
}

// A Registry maps schemes to drivers. It is itself a Driver, which dispatches by scheme. The zero
// value is an empty Registry. Loaders fill it; it must not be modified afterwards.
type Registry struct {
	schemes map[string]Scheme
	open    []openPrefix
}

// An openPrefix finds schemes whose names begin with a prefix.
type openPrefix struct {
	prefix string
	find   func(name string) (Scheme, bool)
}

// Register adds s. It panics if s.Driver is nil, if s.Name is not a lower-case scheme name, or if a
// scheme of that name is registered.
func (r *Registry) Register(s Scheme) {
	switch _, taken := r.schemes[s.Name]; {
	case s.Driver == nil:
		panic("driver: Register of scheme " + s.Name + " without a driver")
	case s.Name == "" || s.Name != strings.ToLower(s.Name):
		panic(fmt.Sprintf("driver: Register of bad scheme name %q", s.Name))
	case taken:
		panic("driver: Register called twice for scheme " + s.Name)
	}
	if r.schemes == nil {
		r.schemes = make(map[string]Scheme)
	}
	r.schemes[s.Name] = s
}

// Replace is like Register, but replaces a registered scheme of the same name.
func (r *Registry) Replace(s Scheme) {
	r.Remove(s.Name)
	r.Register(s)
}

// Remove removes the schemes with the given names. It ignores names that are not registered, so
// that a program can disable a scheme whether or not it is built in.
func (r *Registry) Remove(names ...string) {
	for _, name := range names {
		delete(r.schemes, name)
	}
}

// RegisterPrefix registers find for schemes whose names begin with prefix, such as "x-". Registered
// schemes take precedence. Find is called for every request, and must be safe for concurrent use.
func (r *Registry) RegisterPrefix(prefix string, find func(name string) (Scheme, bool)) {
	r.open = append(r.open, openPrefix{prefix, find})
}

// Lookup returns the scheme with the given lower-case name.
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

// Schemes returns all registered schemes, sorted by name.
func (r *Registry) Schemes() []Scheme {
	all := make([]Scheme, 0, len(r.schemes))
	for _, s := range r.schemes {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Scheme) int { return strings.Compare(a.Name, b.Name) })
	return all
}
