package fetch

import (
	"net/url"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch/uri"
)

// A gateway serves URLs of a scheme, or of a URN namespace, through URLs of another scheme (RFC
// 1738, section 4).
type gateway struct {
	match  string // "wais:", "urn:ietf:"
	target string // with "{}" for the rest of the URL, or a prefix of the URL
}

func sortedGateways(m map[string]string) []gateway {
	var list []gateway
	for name, target := range m {
		list = append(list, gateway{match: strings.ToLower(name) + ":", target: target})
	}
	slices.SortFunc(list, func(a, b gateway) int {
		if d := len(b.match) - len(a.match); d != 0 {
			return d
		}
		return strings.Compare(a.match, b.match)
	})
	return list
}

// throughGateway returns the gateway's URL for u. Ok is false if no gateway is configured for u.
// User and password are not sent to the gateway.
func (c *Client) throughGateway(u uri.URI) (target uri.URI, ok bool, err error) {
	if len(c.gateways) == 0 {
		return uri.URI{}, false, nil
	}
	full := u.WithoutFragment().WithoutUserinfo().String()
	for _, g := range c.gateways {
		if len(full) < len(g.match) || !strings.EqualFold(full[:len(g.match)], g.match) {
			continue
		}
		if before, _, _ := strings.Cut(g.target, "{}"); strings.HasPrefix(full, before) {
			return uri.URI{}, false, nil // it is the gateway's own URL
		}
		rest := strings.TrimPrefix(full[len(g.match):], "//")
		target, err := uri.Parse(g.expand(rest))
		if err != nil {
			return uri.URI{}, false, ErrURL.Errorf("gateway for %s %w", g.match, err)
		}
		return target, true, nil
	}
	return uri.URI{}, false, nil
}

func (g gateway) expand(rest string) string {
	before, after, ok := strings.Cut(g.target, "{}")
	if !ok {
		return g.target + rest
	}
	if strings.Contains(before, "?") {
		rest = url.QueryEscape(rest)
	}
	return before + rest + after
}
