package ldap

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/go-ldap/ldap/v3"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/codec/ber"
)

// A query is the search that a URL describes (RFC 4516, section 2).
type query struct {
	user       string // the DN to log in as; "" for none
	dn         string // the base of the search
	attributes []string
	scope      int // SearchRequest.scope
	filter     string
	compiled   []byte // the encoded filter
	list       bool   // list the children of dn instead of retrieving entries
	// roots requests the server's naming contexts from the root DSE (RFC 4512, section 5.1).
	roots bool
}

var scopes = []string{ldap.ScopeBaseObject: "base", ldap.ScopeSingleLevel: "one",
	ldap.ScopeWholeSubtree: "sub"}

// parseURL parses an ldap URL (RFC 4516). For a listing, the default scope is one level.
func parseURL(u uri.URI, list bool) (query, error) {
	q := query{filter: "(objectClass=*)", list: list}
	if u.Host() == "" {
		return q, &fetch.Error{Code: fetch.ErrURL, Err: fmt.Errorf("the URL has no host"),
			Hint: "use ldap://HOST/DN"}
	}
	q.user, _ = u.User()
	text, _ := u.Query()
	parts := strings.Split(text, "?")
	if len(parts) > 4 {
		return q, fetch.ErrURL.Errorf("too many question marks")
	}
	parts = append(parts, make([]string, 4-len(parts))...)
	var err error
	if q.dn, err = uri.Unescape(strings.TrimPrefix(u.Path(), "/")); err != nil {
		return q, err
	}
	for name := range strings.SplitSeq(parts[0], ",") {
		if name, err = uri.Unescape(name); err != nil {
			return q, err
		}
		if name != "" {
			q.attributes = append(q.attributes, name)
		}
	}
	if err := q.parseScope(parts[1]); err != nil {
		return q, err
	}
	filter, err := uri.Unescape(parts[2])
	if err != nil {
		return q, err
	}
	q.filter = cmp.Or(filter, q.filter)
	compiled, err := ldap.CompileFilter(q.filter)
	if err != nil {
		return q, fetch.ErrURL.Errorf("invalid filter: %w", err)
	}
	q.compiled = compiled.Bytes()
	return q, q.parseExtensions(parts[3])
}

func (q *query) parseScope(text string) error {
	if q.list {
		q.attributes = []string{"hasSubordinates"} // RFC 3673; X.501
	}
	switch strings.ToLower(text) {
	case "one":
		q.scope = ldap.ScopeSingleLevel
	case "sub":
		q.scope = ldap.ScopeWholeSubtree
	case "base":
	case "":
		switch {
		case q.list && q.dn == "":
			q.roots, q.attributes = true, []string{"namingContexts"}
		case q.list:
			q.scope = ldap.ScopeSingleLevel
		}
	default:
		return fetch.ErrURL.Errorf("invalid scope %q: must be base, one or sub", text)
	}
	return nil
}

// parseExtensions parses the bindname extension, which holds the DN to log in as. An unknown critical
// extension is an error (RFC 4516, section 2).
func (q *query) parseExtensions(text string) error {
	for ext := range strings.SplitSeq(text, ",") {
		rest, critical := strings.CutPrefix(ext, "!")
		name, value, _ := strings.Cut(rest, "=")
		switch {
		case strings.EqualFold(name, "bindname"):
			dn, err := uri.Unescape(value)
			if err != nil {
				return err
			}
			q.user = dn
		case critical:
			return fetch.ErrURL.Errorf("unsupported critical extension %q", name)
		}
	}
	return nil
}

func (q query) String() string {
	s := fmt.Sprintf("search %q scope=%s filter=%s", q.dn, scopes[q.scope], fetch.Printable(q.filter))
	if len(q.attributes) > 0 {
		s += " attributes=" + fetch.Printable(strings.Join(q.attributes, ","))
	}
	return s
}

// request returns the SearchRequest (RFC 4511, section 4.5.1), without limits on size and time.
func (q query) request() []byte {
	var names [][]byte
	for _, name := range q.attributes {
		names = append(names, octetString(name))
	}
	typesOnly := ber.Bytes(ber.Universal, ber.TagBoolean, []byte{0})
	return ber.Group(ber.Application, ldap.ApplicationSearchRequest, octetString(q.dn), enumerated(q.scope),
		enumerated(ldap.NeverDerefAliases), integer(0), integer(0), typesOnly, q.compiled,
		ber.Sequence(names...))
}
