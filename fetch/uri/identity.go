package uri

import "strings"

// plainScheme returns the form without TLS of a scheme over TLS, or "". It has only pairs whose URLs name
// the same resources: sites move from one to the other, and link to both. Keys are stored, so a new
// pair would invalidate the state of crawls and mirrors.
func plainScheme(secure string) string {
	switch secure {
	case "https", "ftps", "gophers", "nntps", "davs", "webdavs":
		return secure[:len(secure)-1]
	case "snews":
		return "news"
	}
	return ""
}

// PlainScheme returns the scheme of u, or its form without TLS if it is a scheme over TLS.
func (u URI) PlainScheme() string {
	s := u.Scheme()
	if plain := plainScheme(s); plain != "" {
		return plain
	}
	return s
}

// IsSecure reports whether the scheme of u is the form over TLS of another scheme (see
// PlainScheme).
func (u URI) IsSecure() bool {
	return plainScheme(u.Scheme()) != ""
}

// IsData reports whether u is a data URL (RFC 2397), which contains its own content.
func (u URI) IsData() bool { return u.Scheme() == "data" }

// Key returns the identity of the resource at u, regardless of the user and of TLS: the normalized
// URL (see Normalize) with PlainScheme as its scheme, and without login and fragment. Crawls,
// mirrors and queued crawls store it.
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
		return true // the common case, without building either Site
	}
	return u.Site() == v.Site()
}

// TreePath returns the path of u in the hierarchy of its server: the normalized path or, for gopher,
// the selector with a leading slash. For a gopher URL that [ParseGopher] refuses, for example because
// it has a login, TreePath returns URLPath.
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

// TreeDir returns the TreePath of the directory that u names or is in, with a slash at its end. A
// gopher menu is a directory, regardless of its selector.
func (u URI) TreeDir() string {
	p := u.TreePath()
	if u.PlainScheme() == "gopher" {
		if g, err := ParseGopher(u); err == nil && g.Type == '1' {
			return strings.TrimSuffix(p, "/") + "/"
		}
	}
	return p[:strings.LastIndexByte(p, '/')+1]
}
