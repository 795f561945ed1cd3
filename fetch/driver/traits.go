package driver

// Traits are properties of a scheme that the client and the packages above it act on, so that they
// need not know its name. A driver declares them when it registers the scheme. In the zero value a
// server has no hierarchy, no documents with links and no rules for robots.
type Traits struct {
	// RedirectTarget is true if a redirect from any scheme may lead to the scheme. To others,
	// Policy.AllowRedirects has to name them.
	RedirectTarget bool
	// Tree is true if the slashes of a path divide directories that can be retrieved themselves.
	// Package serve links to the directory above.
	Tree bool
	// Pages is true if documents have links, and a directory is a document too, such as index.html.
	// Mirrors and archives save both and crawls follow the links; in schemes with neither Pages nor
	// Menus only listings are followed.
	Pages bool
	// HTML is true if most pages are HTML, and the pages of a site may be listed in /sitemap.xml.
	// Crawls ask for that, and read links also of files that a listing named.
	HTML bool
	// Menus is true if directories are gopher menus, in the format of RFC 1436. Mirrors, queues and
	// archives save them as documents and follow their items; mirrors rewrite their links.
	Menus bool
	// Robots is the path of the rules for robots on a server, such as "/robots.txt"; "" if there are
	// none. Crawls and queues request and obey them.
	Robots string
	// Screens is true if sessions are full screens of an IBM terminal, with the keys Clear, PA1 and
	// PF1. Package serve has buttons for them.
	Screens bool
	// Logins is true if every request logs in, also with a URL that names no password. Archives of
	// such requests are readable by their owner alone.
	Logins bool
}

// HasLinks reports whether documents have links to follow: Pages or Menus.
func (t Traits) HasLinks() bool { return t.Pages || t.Menus }
