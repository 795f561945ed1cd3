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

// list follows the entries from "pub" and "names", and compares the files found with the tree. It
// recognizes files by their content.
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
		if w.found[name] || strings.HasPrefix(path.Base(name), ".") { // servers may hide these
			continue
		}
		t.Errorf("no entry for %q, with content %.40q...", name, content)
	}
	t.listingBody(c)
}

// listingBody checks that the response to Get of a directory, if it succeeds, is a listing.
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

// contents maps contents to names, for the files below pub and names that have a URL.
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

// maxDepth exceeds the depth of the tree. It ends walks in cycles.
const maxDepth = 6

// list reads the listing of directory dir and follows its entries.
func (w *walk) list(rawURL, dir string, depth int) {
	w.Helper()
	if depth > maxDepth {
		w.Fatalf("the listings are deeper than the tree: %s", rawURL)
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
			w.Errorf("List %s: the URL of entry %q is %q, which is not absolute", rawURL, entry.Name,
				entry.URL)
			continue
		}
		if entry.Kind == fetch.EntryListing {
			if name := strings.TrimSuffix(entry.Name, "/"); name != "." && name != ".." {
				w.list(entry.URL.String(), path.Join(dir, name), depth+1)
				continue
			}
			w.Errorf("List %s: entry %q must be omitted or have Rel \"parent\"", rawURL, entry.Name)
			continue
		}
		w.fetch(entry, dir)
	}
}

// fetch gets the file of an entry, which must be in dir.
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
		w.Errorf("entry %q: %d bytes, the listing has %d", entry.Name, got.Len(), entry.Size)
	}
	name, ok := w.byContent[got.String()]
	switch {
	case !ok:
		w.Errorf("entry %q of %q is not a file of the tree; its content is %.40q", entry.Name, dir,
			got.String())
	case w.found[name]:
		w.Errorf("entry %q of %q is %q, as an earlier entry", entry.Name, dir, name)
	case path.Base(path.Dir(name)) != path.Base(dir) && path.Dir(name) != dir:
		w.Errorf("entry %q of %q is %q, in another directory", entry.Name, dir, name)
	}
	w.found[name] = true
}

// listBreak stops reading a listing at its first entry.
func listBreak(t *caseTest) {
	rawURL := t.url("names")
	c := t.client(nil)
	if !t.scheme(c, rawURL).Can(fetch.OpList) {
		t.Skip("the scheme has no OpList")
	}
	t.within("a listing abandoned at its first entry", func() {
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
	t.checkRecovery(c)
}

// listSecrets reads listings with a login in the URL. Their text is saved and archived, so it must
// contain neither the user nor the password.
func listSecrets(t *caseTest) {
	u := t.parse(t.url("pub"))
	if !t.scheme(t.client(nil), u.String()).Can(fetch.OpList) {
		t.Skip("the scheme has no OpList")
	}
	if u.Host() == "" {
		t.Skip("the URLs cannot contain a password")
	}
	u = t.withLogin(u)
	login, rest, _ := strings.Cut(strings.TrimPrefix(u.String(), u.Scheme()+"://"), "@")
	address, _, _ := strings.Cut(rest, "/")
	c := t.client(nil)
	for _, op := range []fetch.Op{fetch.OpList, fetch.OpGet} {
		resp, err := c.Do(t.context(), &fetch.Request{URL: u, Op: op})
		switch {
		case fetch.CodeOf(err) == fetch.ErrURL:
			t.Skip("the URLs cannot contain a password")
		case err != nil && op == fetch.OpGet:
			continue // a directory need not have a body
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
				t.Errorf("%s %s: the text of the listing contains the login: %q", op, u.Redacted(), line)
			}
		}
	}
}

// withLogin returns u with a login that the server accepts. It is the login of u, or else the
// credential that the harness returns for the driver's challenge. A server without challenges
// accepts any login; FTP servers accept any password for "anonymous".
func (t *caseTest) withLogin(u uri.URI) uri.URI {
	t.Helper()
	login := u.Userinfo()
	if !login.HasPassword {
		login = uri.Userinfo{Name: "anonymous", Password: secret, HasName: true, HasPassword: true}
		if o := t.options(); o.Credentials != nil {
			known := o.Credentials
			o.Credentials = fetch.CredentialsFunc(func(ctx context.Context,
				ch fetch.Challenge) (fetch.Credential, error) {
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
	return t.parse(u.Scheme() + "://" + uri.Escape(login.Name) + ":" + uri.Escape(login.Password) + "@" +
		rest)
}

// listLimit lists with a Policy.MaxSize below the size of the listing, and then an endless listing.
func listLimit(t *caseTest) {
	rawURL := t.url("names")
	if !t.scheme(t.client(nil), rawURL).Can(fetch.OpList) {
		t.Skip("the scheme has no OpList")
	}
	n, _, err := t.listUpTo(rawURL, 100)
	if fetch.CodeOf(err) != fetch.ErrTooLarge {
		t.Errorf("a listing of more than 100 bytes: %d entries, error %v, want one of class %q", n, err,
			fetch.ErrTooLarge)
	}
	if t.site.Fault != nil && t.site.Can != nil && t.site.Can(servers.Endless) {
		const limit = 256 << 10
		t.site.Fault(servers.Endless)
		t.within("an endless listing", func() {
			n, received, err := t.listUpTo(rawURL, limit)
			if !hasCode(err, fetch.ErrTooLarge, fetch.ErrProtocol) {
				t.Errorf("an endless listing: %d entries, error %v, want one of class %q or %q", n, err,
					fetch.ErrTooLarge, fetch.ErrProtocol)
			}
			if received > 2*limit {
				t.Errorf("%d bytes of an endless listing were read, with Policy.MaxSize %d", received, limit)
			}
		})
	}
	t.checkRecovery(t.client(nil))
}

// listUpTo lists with a size limit. It returns the number of entries, the number of bytes received
// from connections, and the error.
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
