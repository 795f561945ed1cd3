package http

import (
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/urlget/urlget/internal/quoted"
)

// A challenge is one challenge of a WWW-Authenticate or Proxy-Authenticate field (RFC 9110, section
// 11.6.1).
type challenge struct {
	scheme string            // lower case
	params map[string]string // by lower-case name
}

// parseChallenges reads the challenges in all fields of one name. A malformed challenge is skipped,
// with the rest of its field.
func parseChallenges(fields []string) []challenge {
	var all []challenge
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
	found challenge
}

// next reads one challenge: a scheme, and either parameters or a token68, which is skipped.
func (p *challengeParser) next() bool {
	p.skip(" \t,")
	scheme := p.token()
	if scheme == "" {
		return false
	}
	p.found = challenge{scheme: strings.ToLower(scheme), params: make(map[string]string)}
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
		p.found.params[strings.ToLower(name)] = value
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

// value reads a token or a quoted string.
func (p *challengeParser) value() (text string, ok bool) {
	if !strings.HasPrefix(p.rest, `"`) {
		return p.token(), true
	}
	text, p.rest, ok = quoted.Cut(p.rest)
	return text, ok
}

func isToken68(r rune) bool {
	return r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._~+/", r))
}
