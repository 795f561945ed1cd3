package fetchhttp

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strings"
)

// Values of the login of SOCKS5 (RFC 1929).
const (
	socksPassword     = 2
	socksLoginVersion = 1
	socksLoginFailed  = 1
)

func (p *Proxy) admits(user, password string) bool {
	same := func(a, b string) int {
		x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
		return subtle.ConstantTimeCompare(x[:], y[:])
	}
	return p.Login != nil && same(user, p.Login.User)&same(password, p.Login.Password) == 1
}

// authorize reports whether a request has the login that is required (RFC 9110, section 11.7), and
// otherwise answers it. The login is removed from the request.
func (p *Proxy) authorize(w http.ResponseWriter, r *http.Request) bool {
	if p.Login == nil {
		return true
	}
	name, challenge, status := "Proxy-Authorization", "Proxy-Authenticate", http.StatusProxyAuthRequired
	if r.Method != http.MethodConnect && r.URL.Scheme == "" { // a request for the address of the proxy
		name, challenge, status = "Authorization", "Www-Authenticate", http.StatusUnauthorized
	}
	kind, text, _ := strings.Cut(r.Header.Get(name), " ")
	login, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	user, password, _ := strings.Cut(string(login), ":")
	r.Header.Del(name)
	if strings.EqualFold(kind, "Basic") && err == nil && p.admits(user, password) {
		return true
	}
	w.Header().Set(challenge, `Basic realm="urlget proxy"`)
	http.Error(w, "a login is required", status)
	return false
}

var errSOCKSLogin = errors.New("fetchhttp: the SOCKS client did not log in")

// socksLogin reads the login of a SOCKS5 client and answers it (RFC 1929, section 2).
func (p *Proxy) socksLogin(c io.ReadWriter) error {
	var b [256]byte
	field := func() (string, error) {
		if _, err := io.ReadFull(c, b[:1]); err != nil {
			return "", err
		}
		n := int(b[0])
		_, err := io.ReadFull(c, b[:n])
		return string(b[:n]), err
	}
	if _, err := io.ReadFull(c, b[:1]); err != nil {
		return err
	}
	version := b[0]
	user, err := field()
	if err != nil {
		return err
	}
	password, err := field()
	if err != nil {
		return err
	}
	if version != socksLoginVersion || !p.admits(user, password) {
		c.Write([]byte{socksLoginVersion, socksLoginFailed})
		return errSOCKSLogin
	}
	_, err = c.Write([]byte{socksLoginVersion, socksSucceeded})
	return err
}
