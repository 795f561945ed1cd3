package fetch

import (
	"context"

	"github.com/urlget/urlget/fetch/uri"
)

// Traits are properties of a scheme for the client and the packages above it, so that they need not
// know its name. A driver sets them when it registers the scheme. The zero value describes servers
// without a hierarchy, without documents with links and without robots.txt.
type Traits struct {
	// RedirectTarget is set if redirects from any scheme may lead to this scheme. Other schemes
	// must be listed in Policy.AllowRedirects.
	RedirectTarget bool
	// Tree is set if the slashes of a path separate directories that can be retrieved. Package
	// serve links to the parent directory.
	Tree bool
	// Pages is set if documents have links, and a directory is also a document, such as index.html.
	// Mirrors and archives save both, and crawls follow the links. In schemes with neither Pages
	// nor Menus, only listings are followed.
	Pages bool
	// HTML is set if most pages are HTML and a site may have a /sitemap.xml. Crawls request it, and
	// also read the links of files found in a listing.
	HTML bool
	// Menus is set if directories are gopher menus, in the format of RFC 1436. Mirrors, queues and
	// archives save them as documents and follow their items. Mirrors rewrite their links.
	Menus bool
	// Robots is the path of the robots exclusion file on a server, such as "/robots.txt", or "".
	// Crawls and queues request and obey it.
	Robots string
	// Screens is set if sessions are full screens of an IBM terminal, with the keys Clear, PA1 and
	// PF1. Package serve shows buttons for them.
	Screens bool
	// Logins is set if every request logs in, even if its URL has no password. Archives of such
	// requests are readable only by their owner.
	Logins bool
	// Stateless is set if a login belongs to a request and not to a connection. Anonymous requests then
	// share connections with the user's own.
	Stateless bool
	// FirstUse is set if the certificate of a server is stored at the first visit and compared at later
	// ones, unless certificate authorities are configured.
	FirstUse bool
	// Identities is set if a server asks for a client certificate where it needs one, and no connection
	// is used for two requests. Package serve lets the user choose the certificate for a server.
	Identities bool
}

// HasLinks reports whether documents have links to follow: Pages or Menus.
func (t Traits) HasLinks() bool { return t.Pages || t.Menus }

// IndexName returns the file name that crawls and mirrors use for the page of a directory, whose
// URL ends in a slash: index.html, or "" without Pages.
func (t Traits) IndexName() string {
	if !t.Pages {
		return ""
	}
	return "index.html"
}

// Traits returns the traits of the scheme of u, or the zero value if it has no driver.
func (c *Client) Traits(u uri.URI) Traits {
	s, _ := c.registry.Lookup(u.Scheme())
	return s.Traits
}

// TraitsOf returns the traits of the scheme of an exchange. Ctx is the context of the exchange, as
// passed to a Recorder or a driver.
func TraitsOf(ctx context.Context) Traits { return provenanceOf(ctx).traits }
