package serve

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/url"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// An address is the target of a link. Its url, from and foreign are signed, so that others cannot
// forge links or claim that the user entered a URL.
type address struct {
	url  uri.URI
	from uri.URI // the resource with the link; zero if the user entered the URL
	// foreign reports that another origin led to the URL, directly or through other links.
	foreign    bool
	view       string    // one of several representations
	part       string    // path of a part of a message; see openPart
	at         time.Time // capture time; zero for the latest
	live       bool      // retrieved from the network although the archive has it
	cacheID    string    // ID of the cached body or form submission
	cachedOnly bool      // the cached body cannot be retrieved again
}

// maxURL limits a URL in a link, in bytes. Browsers do not accept longer ones.
const maxURL = 128 << 10

func (a address) to(u uri.URI) address {
	return address{url: u.WithoutPassword(), from: a.url.WithoutPassword(), at: a.at, live: a.live,
		foreign: a.foreign || u.Origin() != a.url.Origin()}
}

// after returns the address of a response to a request for a, which may have followed redirects.
func (a address) after(resp *fetch.Response) address {
	a.foreign = a.foreign || resp.URL.Origin() != a.url.Origin()
	a.url = resp.URL.WithoutPassword()
	return a
}

// link returns the signed link of a handler to a, or "#" if the URL is too long.
func (s *Server) link(path string, a address) string {
	if len(a.url.String()) > maxURL || len(a.from.String()) > maxURL {
		return "#"
	}
	return path + "?" + s.query(a).Encode()
}

func (s *Server) linkTo(a address) string {
	if a.url.IsZero() {
		return ""
	}
	return s.link("/view", a)
}

func (s *Server) query(a address) url.Values {
	at := ""
	if !a.at.IsZero() {
		at = a.at.UTC().Format(time.RFC3339Nano)
	}
	q := url.Values{"u": {a.url.String()}, "s": {s.sign(a)}}
	for _, f := range [...]field{{"f", a.from.String()}, {"x", bit(a.foreign)}, {"v", a.view},
		{"p", a.part}, {"t", at}, {"l", bit(a.live)}, {"k", a.cacheID}, {"o", bit(a.cachedOnly)}} {
		if f.Value != "" {
			q.Set(f.Name, f.Value)
		}
	}
	return q
}

func bit(on bool) string {
	if on {
		return "1"
	}
	return ""
}

func (s *Server) sign(a address) string {
	h := hmac.New(sha256.New, s.key)
	// a URL cannot contain NUL
	h.Write([]byte(cmp.Or(bit(a.foreign), "0") + a.url.String() + "\x00" + a.from.String()))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16])
}

var errSignature = errors.New("the link is not signed")

// parse parses an address from a query. It does not check the signature.
func parse(q url.Values) (address, error) {
	a := address{foreign: q.Get("x") != "", view: q.Get("v"), part: q.Get("p"),
		live: q.Get("l") != "", cacheID: q.Get("k"), cachedOnly: q.Get("o") != ""}
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

// verify parses an address from a query. It returns errSignature if the signature is not valid.
func (s *Server) verify(q url.Values) (address, error) {
	a, err := parse(q)
	if err == nil && !hmac.Equal([]byte(s.sign(a)), []byte(q.Get("s"))) {
		err = errSignature
	}
	return a, err
}
