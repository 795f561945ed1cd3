// Package httpauth reads the challenges of HTTP servers and proxies (RFC 9110, section 11), and writes
// the credentials of the authentication schemes Basic (RFC 7617) and Digest (RFC 7616).
package httpauth

import (
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/urlget/urlget/internal/quoted"
)

// A Challenge is one challenge of a WWW-Authenticate or Proxy-Authenticate field (RFC 9110, section
// 11.6.1).
type Challenge struct {
	Scheme string            // lower case
	Params map[string]string // by lower-case name
}

// Challenges returns the challenges in all fields of one name. A malformed challenge is skipped,
// with the rest of its field.
func Challenges(fields []string) []Challenge {
	var all []Challenge
	for _, f := range fields {
		p := challengeParser{rest: f}
		for p.next() {
			all = append(all, p.found)
		}
	}
	return all
}

// A challengeParser parses a field. Commas separate challenges as well as parameters, so a name is
// a parameter only if "=" follows it.
type challengeParser struct {
	rest  string
	found Challenge
}

// next reads one challenge: a scheme, and either parameters or a token68, which is skipped.
func (p *challengeParser) next() bool {
	p.skip(" \t,")
	scheme := p.token()
	if scheme == "" {
		return false
	}
	p.found = Challenge{Scheme: strings.ToLower(scheme), Params: make(map[string]string)}
	p.skipOpaque()
	for {
		p.skip(" \t,")
		before := p.rest
		name := p.token()
		p.skip(" \t")
		if name == "" || !strings.HasPrefix(p.rest, "=") {
			p.rest = before // the next challenge, or malformed
			return true
		}
		p.rest = p.rest[1:]
		p.skip(" \t")
		value, ok := p.value()
		if !ok {
			p.rest = ""
			return true
		}
		p.found.Params[strings.ToLower(name)] = value
	}
}

func (p *challengeParser) skip(set string) { p.rest = strings.TrimLeft(p.rest, set) }

// skipOpaque skips a token68, the unnamed value that some schemes have instead of parameters.
func (p *challengeParser) skipOpaque() {
	value, rest, _ := strings.Cut(p.rest, ",")
	value = strings.TrimRight(strings.Trim(value, " \t"), "=")
	if value != "" && strings.IndexFunc(value, func(r rune) bool { return !isToken68(r) }) < 0 {
		p.rest = rest
	}
}

func (p *challengeParser) token() string {
	n := strings.IndexFunc(p.rest, func(r rune) bool { return !httpguts.IsTokenRune(r) })
	if n < 0 {
		n = len(p.rest)
	}
	token := p.rest[:n]
	p.rest = p.rest[n:]
	return token
}

func (p *challengeParser) value() (text string, ok bool) {
	if !strings.HasPrefix(p.rest, `"`) {
		return p.token(), true
	}
	text, p.rest, ok = quoted.Cut(p.rest)
	return text, ok
}

func isToken68(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' ||
		strings.ContainsRune("-._~+/", r)
}
