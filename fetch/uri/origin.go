package uri

// An Origin identifies a server: the scheme, the canonical host and the port (RFC 6454, section 4).
// Two URLs belong to the same server if their origins are equal. Origins are comparable.
type Origin struct {
	Scheme string
	Host   string
	Port   uint16
}

// Origin returns the origin of u. If u has no port, the origin has the default port of the scheme,
// or 0 for a scheme that is not in the table (see the package comment). For such a scheme, remove
// an explicit default port first with [URI.WithoutPort].
func (u URI) Origin() Origin {
	name := u.Scheme()
	return Origin{name, u.host, u.Port(lookup(name).port)}
}
