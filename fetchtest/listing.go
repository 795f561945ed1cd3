package fetchtest

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers"
)

// list walks from "pub" and "names" by the entries alone, and compares what it finds with the tree.
// Files are known by their content.
func list(t *caseTest) {
	c := t.client(nil)
	w := &walk{caseTest: t, client: c, ctx: t.context(), byContent: t.contents(), found: map[string]bool{}}
	for _, dir := range []string{"pub", "names"} {
		rawURL := t.url(dir)
		if !t.scheme(c, rawURL).Can(fetch.OpList) {
			t.Skip("the scheme has no OpList")
		}
		w.list(rawURL, dir, 0)
	}
	for content, name := range w.byContent {
		if w.found[name] || strings.HasPrefix(path.Base(name), ".") { // servers may hide those
			continue
		}
		t.Errorf("no entry leads to %q, which holds %.40q...", name, content)
	}
	t.listingBody(c)
}

// listingBody checks that Get of a directory, if the protocol has that, tells that it is a listing.
func (t *caseTest) listingBody(c *fetch.Client) {
	t.Helper()
	resp, err := c.Get(t.context(), t.url("pub"))
	if err != nil || resp.Kind != fetch.KindListing {
		if err == nil {
			resp.Body.Close()
		}
		return
	}
	defer resp.Body.Close()
	if resp.Entries == nil {
		t.Error("Get of a directory: a listing without Entries")
	}
	if n, err := io.Copy(io.Discard, resp.Body); n == 0 || err != nil {
		t.Errorf("Get of a directory: the body has %d bytes and error %v", n, err)
	}
}

// contents maps the contents of the files below pub and names to their names, as far as they can be
// named.
func (t *caseTest) contents() map[string]string {
	t.Helper()
	m := map[string]string{}
	for _, dir := range []string{"pub", "names"} {
		err := fs.WalkDir(t.tree, dir, func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && t.site.URL(name) != "" {
				m[string(t.content(name))] = name
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// A walk follows the entries of listings.
type walk struct {
	*caseTest
	client    *fetch.Client
	ctx       context.Context
	byContent map[string]string
	found     map[string]bool
}

// maxDepth is deeper than the tree, and ends walks that go in circles.
const maxDepth = 6

// list reads one listing, which is that of the directory dir.
func (w *walk) list(rawURL, dir string, depth int) {
	w.Helper()
	if depth > maxDepth {
		w.Fatalf("the listings go deeper than the tree: %s", rawURL)
	}
	var entries []fetch.Entry
	for entry, err := range w.client.List(w.ctx, rawURL) {
		if err != nil {
			w.Errorf("List %s: %v", rawURL, err)
			return
		}
		entries = append(entries, entry)
	}
	for _, entry := range entries {
		if entry.Rel == "parent" {
			continue
		}
		switch entry.Kind {
		case fetch.EntryText, fetch.EntryError, fetch.EntrySearch, fetch.EntrySession:
			continue
		}
		if !entry.URL.IsAbs() {
			w.Errorf("List %s: the URL of entry %q is %q, which is not absolute", rawURL, entry.Name, entry.URL)
			continue
		}
		if entry.Kind == fetch.EntryListing {
			if name := strings.TrimSuffix(entry.Name, "/"); name != "." && name != ".." {
				w.list(entry.URL.String(), path.Join(dir, name), depth+1)
				continue
			}
			w.Errorf("List %s: entry %q should be left out or have Rel \"parent\"", rawURL, entry.Name)
			continue
		}
		w.fetch(entry, dir)
	}
}

// fetch gets what an entry names. It must be a file of the directory.
func (w *walk) fetch(entry fetch.Entry, dir string) {
	w.Helper()
	resp, err := w.client.Get(w.ctx, entry.URL.String())
	if err != nil {
		w.Errorf("entry %q: %v", entry.Name, err)
		return
	}
	defer resp.Body.Close()
	var got bytes.Buffer
	if _, err := got.ReadFrom(resp.Body); err != nil {
		w.Errorf("entry %q: reading the body: %v", entry.Name, err)
		return
	}
	if entry.Size >= 0 && entry.Size != int64(got.Len()) {
		w.Errorf("entry %q: %d bytes came, the listing says %d", entry.Name, got.Len(), entry.Size)
	}
	name, ok := w.byContent[got.String()]
	switch {
	case !ok:
		w.Errorf("entry %q of %q leads to no file of the tree, but to %.40q", entry.Name, dir, got.String())
	case w.found[name]:
		w.Errorf("entry %q of %q leads to %q, as an earlier one did", entry.Name, dir, name)
	case path.Base(path.Dir(name)) != path.Base(dir) && path.Dir(name) != dir:
		w.Errorf("entry %q of %q leads to %q, in another directory", entry.Name, dir, name)
	}
	w.found[name] = true
}

// listBreak leaves a listing at its first entry.
func listBreak(t *caseTest) {
	rawURL := t.url("names")
	c := t.client(nil)
	if !t.scheme(c, rawURL).Can(fetch.OpList) {
		t.Skip("the scheme has no OpList")
	}
	t.within("a listing left at its first entry", func() {
		n := 0
		for _, err := range c.List(t.context(), rawURL) {
			if err != nil {
				t.Errorf("List: %v", err)
			}
			n++
			break
		}
		if n == 0 {
			t.Error("the listing is empty")
		}
	})
	t.recovers(c)
}

// listSecrets reads the text of listings, which is saved and archived, with a login in the URL. It
// must name neither the user nor the password.
func listSecrets(t *caseTest) {
	u := t.parse(t.url("pub"))
	if !t.scheme(t.client(nil), u.String()).Can(fetch.OpList) {
		t.Skip("the scheme has no OpList")
	}
	if u.Host() == "" {
		t.Skip("the URLs have no place for a password")
	}
	u = t.withLogin(u)
	login, rest, _ := strings.Cut(strings.TrimPrefix(u.String(), u.Scheme()+"://"), "@")
	address, _, _ := strings.Cut(rest, "/")
	c := t.client(nil)
	for _, op := range []fetch.Op{fetch.OpList, fetch.OpGet} {
		resp, err := c.Do(t.context(), &fetch.Request{URL: u, Op: op})
		switch {
		case fetch.CodeOf(err) == fetch.ErrURL:
			t.Skip("the URLs have no place for a password")
		case err != nil && op == fetch.OpGet:
			continue // a directory need not have content
		case err != nil:
			t.Fatalf("%s %s: %v", op, u.Redacted(), err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Errorf("%s %s: reading the body: %v", op, u.Redacted(), err)
		}
		for line := range bytes.Lines(text) {
			if bytes.Contains(line, []byte(login)) || bytes.Contains(line, []byte("@"+address)) {
				t.Errorf("%s %s: the text of the listing shows the login: %q", op, u.Redacted(), line)
			}
		}
	}
}

// withLogin returns u with a login that the server accepts: that of u or, if it has none, the one
// that the harness answers the driver's challenge with. A server without challenges accepts any;
// FTP servers accept any password of this user.
func (t *caseTest) withLogin(u uri.URI) uri.URI {
	t.Helper()
	login := u.Userinfo()
	if !login.HasPassword {
		login = uri.Userinfo{Name: "anonymous", Password: secret, HasName: true, HasPassword: true}
		if o := t.options(); o.Credentials != nil {
			known := o.Credentials
			o.Credentials = fetch.CredentialsFunc(func(ctx context.Context, ch fetch.Challenge) (fetch.Credential, error) {
				cred, err := known.Credential(ctx, ch)
				if err == nil {
					login.Name, login.Password = cred.User, cred.Password
				}
				return cred, err
			})
			for _, err := range t.client(o).List(t.context(), u.String()) {
				if err != nil {
					t.Fatalf("List: %v", err)
				}
			}
		}
	}
	_, rest, _ := strings.Cut(u.WithoutUserinfo().String(), "://")
	return t.parse(u.Scheme() + "://" + uri.Escape(login.Name) + ":" + uri.Escape(login.Password) + "@" + rest)
}

// listLimit lists with a Policy.MaxSize that is less than the listing, and less than one without
// end.
func listLimit(t *caseTest) {
	rawURL := t.url("names")
	if !t.scheme(t.client(nil), rawURL).Can(fetch.OpList) {
		t.Skip("the scheme has no OpList")
	}
	n, _, err := t.listUpTo(rawURL, 100)
	if fetch.CodeOf(err) != fetch.ErrTooLarge {
		t.Errorf("a listing of more than 100 bytes: %d entries, error %v, want one of class %q", n, err, fetch.ErrTooLarge)
	}
	if t.site.Fault != nil && t.site.Can != nil && t.site.Can(servers.Endless) {
		const limit = 256 << 10
		t.site.Fault(servers.Endless)
		t.within("a listing without end", func() {
			n, received, err := t.listUpTo(rawURL, limit)
			if !hasCode(err, fetch.ErrTooLarge, fetch.ErrProtocol) {
				t.Errorf("a listing without end: %d entries, error %v, want one of class %q or %q", n, err,
					fetch.ErrTooLarge, fetch.ErrProtocol)
			}
			if received > 2*limit {
				t.Errorf("%d bytes were read of a listing without end, with Policy.MaxSize %d", received, limit)
			}
		})
	}
	t.recovers(t.client(nil))
}

// listUpTo lists with a limit. It returns how many entries came, how many bytes were read from
// connections, and the error.
func (t *caseTest) listUpTo(rawURL string, limit int64) (entries int, received int64, err error) {
	t.Helper()
	o, counted := t.counting()
	policy := fetch.Policy{}
	if o.Policy != nil {
		policy = *o.Policy
	}
	policy.MaxSize = limit
	o.Policy = &policy
	for _, err = range t.client(o).List(t.context(), rawURL) {
		if err == nil {
			entries++
		}
	}
	return entries, counted.received(), err
}
