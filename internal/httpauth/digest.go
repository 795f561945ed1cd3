package httpauth

import (
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/icholy/digest"
)

// A Digest responds to one challenge of the scheme Digest (RFC 7616). It can be used for several
// requests, also in parallel.
type Digest struct {
	Realm string
	Stale bool // the login of the last response may be right, but its nonce is too old

	challenge digest.Challenge
	session   bool   // the algorithm ends in "-sess"
	cnonce    string // of all requests, because the key of a session has that of the first
	count     atomic.Int64
}

const sessionSuffix = "-sess"

// NewDigest returns a Digest for a challenge. It returns nil if the algorithm or qop is unknown, or the
// scheme is another one.
func NewDigest(c Challenge) *Digest {
	if c.Scheme != "digest" {
		return nil
	}
	d := &Digest{
		Realm:  c.Params["realm"],
		Stale:  strings.EqualFold(c.Params["stale"], "true"),
		cnonce: rand.Text(),
		challenge: digest.Challenge{
			Realm:     c.Params["realm"],
			Nonce:     c.Params["nonce"],
			Opaque:    c.Params["opaque"],
			Algorithm: c.Params["algorithm"],
			Userhash:  strings.EqualFold(c.Params["userhash"], "true"),
		},
	}
	if n := len(d.challenge.Algorithm) - len(sessionSuffix); n > 0 &&
		strings.EqualFold(d.challenge.Algorithm[n:], sessionSuffix) {
		d.session, d.challenge.Algorithm = true, d.challenge.Algorithm[:n]
	}
	for q := range strings.SplitSeq(c.Params["qop"], ",") {
		if q = strings.ToLower(strings.TrimSpace(q)); q != "" {
			d.challenge.QOP = append(d.challenge.QOP, q)
		}
	}
	if !digest.CanDigest(&d.challenge) || d.session && len(d.challenge.QOP) == 0 { // cnonce is sent with qop
		return nil
	}
	return d
}

// Authorization returns the value of the field Authorization or Proxy-Authorization for a request with
// a request target.
func (d *Digest) Authorization(r *http.Request, target, user, password string) (string, error) {
	o := digest.Options{
		Method: r.Method, URI: target, GetBody: r.GetBody,
		Username: user, Password: password, Count: int(d.count.Add(1)), Cnonce: d.cnonce,
	}
	if d.session {
		o.A1 = d.sessionKey(user, password)
	}
	c, err := digest.Digest(&d.challenge, o)
	if err != nil {
		return "", err
	}
	if d.session {
		c.Algorithm += sessionSuffix
	}
	return c.String(), nil
}

// sessionKey returns the hash of A1 (RFC 7616, section 3.4.2).
func (d *Digest) sessionKey(user, password string) string {
	h := newHash(d.challenge.Algorithm)
	sum := func(parts ...string) string {
		h.Reset()
		h.Write([]byte(strings.Join(parts, ":")))
		return hex.EncodeToString(h.Sum(nil))
	}
	return sum(sum(user, d.Realm, password), d.challenge.Nonce, d.cnonce)
}

func newHash(algorithm string) hash.Hash {
	switch strings.ToUpper(algorithm) {
	case "SHA-256":
		return sha256.New()
	case "SHA-512":
		return sha512.New()
	case "SHA-512-256":
		return sha512.New512_256()
	}
	return md5.New()
}
