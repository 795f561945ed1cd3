package serve

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/url"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// An address is what a link of ours leads to. URL, from and foreign are signed: nobody else can
// make a link that is retrieved, or say that the user made it.
type address struct {
	url  uri.URI
	from uri.URI // what led there; zero if the user named it
	// foreign says that another origin led there, even if some links ago.
	foreign bool
	view    string    // a view of what has several
	at      time.Time // of the capture in an archive; zero for the last
	kept    string    // the content is with the keeper, or the answers to a form are
	once    bool      // and it cannot be retrieved again
}

// maxURL bounds a URL in a link, in bytes: browsers and servers take no longer ones.
const maxURL = 128 << 10

// to returns the address of what a resource leads to.
func (a address) to(u uri.URI) address {
	return address{url: u.WithoutPassword(), from: a.url.WithoutPassword(), at: a.at,
		foreign: a.foreign || u.Origin() != a.url.Origin()}
}

// link returns the reference to what path does with a.
func (s *Server) link(path string, a address) string {
	if len(a.url.String()) > maxURL || len(a.from.String()) > maxURL {
		return "#"
	}
	return path + "?" + s.query(a).Encode()
}

func (s *Server) query(a address) url.Values {
	q := url.Values{"u": {a.url.String()}, "s": {s.sign(a)}}
	if !a.from.IsZero() {
		q.Set("f", a.from.String())
	}
	if a.foreign {
		q.Set("x", "1")
	}
	if a.view != "" {
		q.Set("v", a.view)
	}
	if !a.at.IsZero() {
		q.Set("t", a.at.UTC().Format(time.RFC3339))
	}
	if a.kept != "" {
		q.Set("k", a.kept)
	}
	if a.once {
		q.Set("o", "1")
	}
	return q
}

// sign returns the signature of what is signed of a.
func (s *Server) sign(a address) string {
	h := hmac.New(sha256.New, s.key)
	foreign := "0"
	if a.foreign {
		foreign = "1"
	}
	h.Write([]byte(foreign + a.url.String() + "\x00" + a.from.String())) // a URL has no NUL
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16])
}

var errSignature = errors.New("the link is not signed")

// parse reads an address out of a query, without its signature.
func parse(q url.Values) (address, error) {
	a := address{foreign: q.Get("x") != "", view: q.Get("v"), kept: q.Get("k"), once: q.Get("o") != ""}
	var err error
	if a.url, err = uri.Parse(q.Get("u")); err != nil {
		return a, &fetch.Error{Code: fetch.ErrURL, Err: err}
	}
	if a.from, err = uri.Parse(q.Get("f")); err != nil {
		return a, &fetch.Error{Code: fetch.ErrURL, Err: err}
	}
	if text := q.Get("t"); text != "" {
		if a.at, err = time.Parse(time.RFC3339, text); err != nil {
			return a, &fetch.Error{Code: fetch.ErrRequest, Err: err}
		}
	}
	return a, nil
}

// verify reads an address out of a query, and fails with errSignature if it is not ours.
func (s *Server) verify(q url.Values) (address, error) {
	a, err := parse(q)
	if err == nil && !hmac.Equal([]byte(s.sign(a)), []byte(q.Get("s"))) {
		err = errSignature
	}
	return a, err
}
