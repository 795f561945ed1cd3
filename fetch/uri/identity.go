package uri

import "strings"

// plainSchemes maps schemes over TLS to the same protocol without it. Only pairs whose URLs name the
// same resources are in it: sites move from one to the other, and link to both. Keys are stored, so
// a new pair would change what the states of crawls and mirrors know.
var plainSchemes = map[string]string{"https": "http", "ftps": "ftp", "gophers": "gopher", "nntps": "nntp", "snews": "news"}

// PlainScheme returns the scheme of u or, if that is the secure form of another one, the other one.
func (u URI) PlainScheme() string {
	s := u.Scheme()
	if plain, ok := plainSchemes[s]; ok {
		return plain
	}
	return s
}

// IsSecure reports whether the scheme of u is the secure form of another one (see PlainScheme).
func (u URI) IsSecure() bool {
	_, ok := plainSchemes[u.Scheme()]
	return ok
}

// IsData reports whether u is a data URL (RFC 2397), which holds its content itself.
func (u URI) IsData() bool { return u.Scheme() == "data" }

// Key returns the identity of the resource that u names, whoever asks and with or without TLS: the
// normalized URL (see Normalize) without login and fragment, and with PlainScheme. Crawls, mirrors
// and queued crawls store it.
func (u URI) Key() string {
	text := u.WithoutUserinfo().WithoutFragment().Normalize().String()
	if u.IsSecure() {
		return u.PlainScheme() + strings.TrimPrefix(text, u.Scheme())
	}
	return text
}

// Site returns the part of Key that all URLs of a server share.
func (u URI) Site() string {
	key := u.Key()
	if i := strings.Index(key, "://"); i >= 0 {
		if j := strings.IndexByte(key[i+3:], '/'); j >= 0 {
			return key[:i+3+j]
		}
	}
	return strings.TrimSuffix(key, u.URLPath())
}

// SameSite reports whether u and v have the same Site.
func (u URI) SameSite(v URI) bool {
	if u.host != "" && u.host == v.host && u.port == v.port && u.Scheme() == v.Scheme() {
		return true // the usual case, without building either Site
	}
	return u.Site() == v.Site()
}

// TreePath returns the path of u in the hierarchy of its server, with a leading slash: the
// normalized path or, for gopher, the selector.
func (u URI) TreePath() string {
	if u.PlainScheme() != "gopher" {
		return u.Normalize().Path()
	}
	g, err := ParseGopher(u)
	if err != nil {
		return u.URLPath()
	}
	return "/" + strings.TrimPrefix(g.Selector, "/")
}
