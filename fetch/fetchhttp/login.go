package fetchhttp

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch/retry"
)

// Values of the login of SOCKS5 (RFC 1929).
const (
	socksPassword     = 2
	socksLoginVersion = 1
	socksLoginFailed  = 1
)

func (p *Proxy) isRight(user, password string) bool {
	same := func(a, b string) int {
		x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
		return subtle.ConstantTimeCompare(x[:], y[:])
	}
	return p.Login != nil && same(user, p.Login.User)&same(password, p.Login.Password) == 1
}

var (
	errWrongLogin = errors.New("the user or password is wrong")
	errTooMany    = errors.New("too many wrong logins, or too many connections")
)

// login checks the login of a client. After wrong ones from its address, it waits before that. A client
// that has logged in does not wait.
func (p *Proxy) login(ctx context.Context, client, user, password string) error {
	v := visitOf(ctx)
	if v.isMember() && p.isRight(user, password) {
		return nil
	}
	from := network(client)
	wait := p.attempts.begin(from, time.Now())
	if wait > maxTurn {
		return errTooMany
	}
	if err := retry.Sleep(ctx, wait); err != nil {
		return err
	}
	if !p.isRight(user, password) {
		if p.Logger != nil {
			p.Logger.Warn("a login was refused", "client", client) // the user may be a password
		}
		return errWrongLogin
	}
	p.attempts.succeeded(from)
	if !v.admit() {
		return errTooMany
	}
	return nil
}

// authorize reports whether a request has the login that is required (RFC 9110, section 11.7), and
// otherwise answers it and ends the connection. The login is removed from the request.
func (p *Proxy) authorize(w http.ResponseWriter, r *http.Request) bool {
	if p.Login == nil {
		return true
	}
	name, challenge, status := "Proxy-Authorization", "Proxy-Authenticate", http.StatusProxyAuthRequired
	if r.Method != http.MethodConnect && r.URL.Scheme == "" { // a request for the address of the proxy
		name, challenge, status = "Authorization", "Www-Authenticate", http.StatusUnauthorized
	}
	given := r.Header.Get(name)
	r.Header.Del(name)
	if given != "" {
		kind, text, _ := strings.Cut(given, " ")
		both, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
		user, password, _ := strings.Cut(string(both), ":")
		if !strings.EqualFold(kind, "Basic") || err != nil {
			user, password = "", "" // which no Login has
		}
		switch err := p.login(r.Context(), r.RemoteAddr, user, password); {
		case err == nil:
			return true
		case errors.Is(err, errTooMany):
			w.Header().Set("Connection", "close")
			w.Header().Set("Retry-After", strconv.Itoa(int(maxTurn/time.Second)))
			http.Error(w, err.Error(), http.StatusTooManyRequests)
			return false
		}
	}
	w.Header().Set("Connection", "close")
	w.Header().Set(challenge, `Basic realm="urlget proxy"`)
	http.Error(w, "a login is required", status)
	return false
}

const (
	// The wait after a wrong login is doubled with each of an address. maxTurn limits the wait for the
	// logins before.
	minDelay, maxDelay = 250 * time.Millisecond, 8 * time.Second
	maxTurn            = 30 * time.Second
	// forgetTime is the time after which wrong logins of an address no longer count.
	forgetTime = 10 * time.Minute
	// maxAttempts limits the addresses that are remembered.
	maxAttempts = 4096
)

// attempts counts the wrong logins of each network since the last right one. The logins of one network
// are checked one after the other.
type attempts struct {
	mu   sync.Mutex
	from map[netip.Prefix]*attempt
}

type attempt struct {
	wrong int       // logins that were not right, or are not yet
	next  time.Time // the turn of the next login
}

// begin returns how long a login from an address waits for its turn. If that is longer than maxTurn, the
// login is not counted.
func (a *attempts) begin(from netip.Prefix, now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	one := a.from[from]
	if one == nil || now.Sub(one.next) > forgetTime {
		a.make(now)
		one = &attempt{next: now}
		a.from[from] = one
	}
	turn := now
	if one.next.After(now) {
		turn = one.next
	}
	wait := turn.Sub(now)
	if wait > maxTurn {
		return wait
	}
	delay := min(minDelay<<min(one.wrong, 10), maxDelay)
	one.wrong++
	one.next = turn.Add(delay)
	return wait
}

// make makes room for another network. The caller has locked a.
func (a *attempts) make(now time.Time) {
	if a.from == nil {
		a.from = make(map[netip.Prefix]*attempt)
	}
	for from, one := range a.from {
		if len(a.from) < maxAttempts {
			return
		}
		if now.Sub(one.next) > forgetTime {
			delete(a.from, from)
		}
	}
	for from := range a.from { // any
		if len(a.from) < maxAttempts {
			return
		}
		delete(a.from, from)
	}
}

func (a *attempts) succeeded(from netip.Prefix) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.from, from)
}

// network returns the network of a client: its address, or the 64 bits of an IPv6 address that a site has.
func network(hostPort string) netip.Prefix {
	host, _, _ := net.SplitHostPort(hostPort)
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Prefix{}
	}
	addr = addr.Unmap().WithZone("")
	bits := 32
	if addr.Is6() {
		bits = 64
	}
	from, _ := addr.Prefix(bits) // such a size is valid
	return from
}

var errSOCKSLogin = errors.New("fetchhttp: the SOCKS client did not log in")

// socksLogin reads the login of a SOCKS5 client and answers it (RFC 1929, section 2).
func socksLogin(c io.ReadWriter, isRight func(user, password string) bool) error {
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
	if version != socksLoginVersion || !isRight(user, password) {
		c.Write([]byte{socksLoginVersion, socksLoginFailed})
		return errSOCKSLogin
	}
	_, err = c.Write([]byte{socksLoginVersion, socksSucceeded})
	return err
}
