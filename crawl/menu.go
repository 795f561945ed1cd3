package crawl

import "github.com/urlget/urlget/fetch/uri"

// rootMenu returns seed if both URLs are the root menu of a server, otherwise u. A root menu that is
// not the seed gets an empty selector.
func rootMenu(u, seed uri.URI) uri.URI {
	g, err := uri.ParseGopher(u)
	if err != nil || !isRootMenu(g) {
		return u
	}
	if s, err := uri.ParseGopher(seed); err == nil && isRootMenu(s) && u.SameSite(seed) && s.Plus == g.Plus {
		return seed.WithoutUserinfo()
	}
	g.Selector = ""
	root, err := g.URI()
	if err != nil {
		return u
	}
	return root
}

// OtherRoot returns the item of the root menu with its other selector: it is empty or a slash. For
// other items it returns false.
func OtherRoot(g uri.Gopher) (uri.Gopher, bool) {
	if !isRootMenu(g) {
		return g, false
	}
	if g.Selector == "" {
		g.Selector = "/"
	} else {
		g.Selector = ""
	}
	return g, true
}

func isRootMenu(g uri.Gopher) bool {
	return g.Type == '1' && (g.Selector == "" || g.Selector == "/") && g.Search == "" && g.Form == nil
}
