package serve

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

func (s *Server) withIdentity(ctx context.Context, a address) (context.Context, error) {
	if a.foreign || !s.Client.Traits(a.url).Identities {
		return ctx, nil
	}
	id, err := s.identities.of(a.url.Origin())
	if err != nil {
		return ctx, &fetch.Error{Op: "get", URL: a.url.Redacted(), Code: fetch.ErrFile, Err: err}
	}
	if id.cert == nil {
		return ctx, nil
	}
	return context.WithValue(ctx, identityKey{}, id.cert), nil
}

func (s *Server) identityLink(a address) (link, name string) {
	if s.Identities == "" || !s.Client.Traits(a.url).Identities {
		return "", ""
	}
	if !a.foreign {
		id, _ := s.identities.of(a.url.Origin())
		name = id.name
	}
	return s.link("/identities", a), name
}

const maxChoices = 5

func (s *Server) identityChoices(a address) []identityRow {
	list, _ := s.identities.list()
	var rows []identityRow
	for _, id := range list[:min(len(list), maxChoices)] {
		rows = append(rows, identityRow{Name: fetch.Printable(id.name),
			Server: fetch.Printable(a.url.Host()), Fields: s.hiddenFields(a)})
	}
	return rows
}

type identityRow struct {
	Name, Fingerprint, Since string
	Servers                  []fact
	// For the server of the page, if there is one:
	Server string
	Fields []field // the signed address
	Now    bool    // used for it
}

func (s *Server) showIdentities(w http.ResponseWriter, r *http.Request) {
	if a, ok := s.optionalAddress(w, r, r.URL.Query()); ok {
		s.putIdentities(w, r, a, nil)
	}
}

// optionalAddress returns the address in a query, or the zero address if there is none.
func (s *Server) optionalAddress(w http.ResponseWriter, r *http.Request, q url.Values) (address, bool) {
	if !q.Has("u") {
		return address{}, true
	}
	p, ok := s.signedPage(w, r, q)
	return p.address, ok
}

func (s *Server) putIdentities(w http.ResponseWriter, r *http.Request, a address, wrong error) {
	p := s.newPage(w, r, address{})
	status := http.StatusOK
	if wrong != nil {
		status = http.StatusBadRequest
	}
	p.begin(status, "Identities")
	data := struct {
		Server, Dir string
		Fields      []field
		Rows        []identityRow
		Used        bool
		Suggested   string // name of a new one
	}{Dir: fetch.Printable(s.Identities)}
	if !a.url.IsZero() {
		data.Server, data.Fields = fetch.Printable(a.url.Host()), s.hiddenFields(a)
	}
	list, err := s.identities.list()
	uses, unread := s.identities.uses()
	for _, id := range list {
		row := identityRow{Name: fetch.Printable(id.name), Fingerprint: fingerprint(id.cert.Leaf.Raw),
			Since:  id.cert.Leaf.NotBefore.UTC().Format(time.DateOnly),
			Server: data.Server, Fields: data.Fields, Now: !a.url.IsZero() && uses[a.url.Origin()] == id.name}
		data.Used = data.Used || row.Now
		for server, name := range uses {
			if u, err := uri.Parse(serverURL(server)); err == nil && name == id.name {
				link := s.link("/view", address{url: u})
				row.Servers = append(row.Servers, fact{Name: fetch.Printable(server.Host), Link: link})
			}
		}
		slices.SortFunc(row.Servers, func(a, b fact) int { return strings.Compare(a.Name, b.Name) })
		data.Rows = append(data.Rows, row)
	}
	p.put("identities", data)
	for _, err := range []error{wrong, err, unread} {
		p.putError(err)
	}
	p.end(nil)
}

// chooseIdentity makes the server of an address get an identity, which may be a new one, or none. The
// next page is that of the address if the user entered its URL, and otherwise the root of its server:
// another server that led to the URL must not act with the identity.
func (s *Server) chooseIdentity(w http.ResponseWriter, r *http.Request) {
	if !parseForm(w, r, "form") {
		return
	}
	a, ok := s.optionalAddress(w, r, r.PostForm)
	if !ok {
		return
	}
	var err error
	name := strings.TrimSpace(r.PostForm.Get("name"))
	if r.PostForm.Has("new") {
		err = s.identities.add(name)
	}
	if err == nil && !a.url.IsZero() {
		err = s.identities.use(a.url.Origin(), name)
	}
	if err != nil {
		s.putIdentities(w, r, a, err)
		return
	}
	next := "/identities"
	if !a.url.IsZero() {
		if a.foreign {
			a.url = uri.MustParse(serverURL(a.url.Origin()))
		}
		next = s.link("/view", address{url: a.url})
	}
	http.Redirect(w, r, next, http.StatusSeeOther)
}

func (s *Server) certificateFacts(u uri.URI, state *tls.ConnectionState) facts {
	if state == nil || len(state.PeerCertificates) == 0 {
		return nil
	}
	cert := state.PeerCertificates[0]
	from, to := cert.NotBefore.UTC().Format(time.DateOnly), cert.NotAfter.UTC().Format(time.DateOnly)
	var list facts
	list.add("subject", cert.Subject.String())
	list.add("issuer", cert.Issuer.String())
	list.add("valid", from+" to "+to)
	list.add("SHA-256", fingerprint(cert.Raw))
	trust := "not verified"
	switch {
	case len(state.VerifiedChains) > 0:
		trust = "verified by a certificate authority"
	case s.Client.Traits(u).FirstUse && !s.Insecure:
		trust = "pinned: stored at the first visit; another certificate is an error until this one expires"
	}
	list.add("trust", trust)
	return list
}
