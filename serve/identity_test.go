package serve_test

import (
	"crypto/tls"
	"crypto/x509"
	"html"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/geminid"
	"github.com/urlget/urlget/serve"
)

// A guestbook is a Gemini server that notes the names in client certificates.
type guestbook struct {
	*servers.Server
	mu    sync.Mutex
	names []string
}

func newGuestbook(t *testing.T, replies map[string]string) *guestbook {
	cfg, _ := servers.Certificate()
	cfg = cfg.Clone()
	cfg.ClientAuth = tls.RequestClientCert
	g := &guestbook{}
	g.Server = geminid.Start(t, geminid.Options{TLS: cfg, Replies: replies, Seen: func(state tls.ConnectionState) {
		name := ""
		if len(state.PeerCertificates) > 0 {
			name = state.PeerCertificates[0].Subject.CommonName
		}
		g.mu.Lock()
		g.names = append(g.names, name)
		g.mu.Unlock()
	}})
	return g
}

// last returns the name in the latest request, or "" without a certificate.
func (g *guestbook) last() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.names) == 0 {
		return "no request"
	}
	return g.names[len(g.names)-1]
}

// withIdentities sets the directory for identities.
func withIdentities(dir string) func(*serve.Options, *fetch.Options) {
	return func(opts *serve.Options, common *fetch.Options) {
		opts.Identities = dir
		common.TLS = serve.Identify(common.TLS)
	}
}

// fieldsOf returns the hidden fields of the form on a page that has all words.
func fieldsOf(t *testing.T, p page, words ...string) url.Values {
	t.Helper()
	for form := range strings.SplitSeq(p.text, "<form") {
		form, _, _ = strings.Cut(form, "</form>")
		found := true
		for _, word := range words {
			found = found && strings.Contains(form, word)
		}
		if !found {
			continue
		}
		values := url.Values{}
		for _, m := range hidden.FindAllStringSubmatch(form, -1) {
			values.Set(m[1], html.UnescapeString(m[2]))
		}
		return values
	}
	t.Fatalf("no form with %q in %s", words, p.text)
	return nil
}

func TestIdentitiesAreMadeAndChosen(t *testing.T) {
	t.Parallel()
	replies := map[string]string{"/": "20 text/gemini\r\n# Club\n=> /members", "/members": "60 Who are you?", "/hi": "20 text/plain\r\nhi"}
	club, other := newGuestbook(t, replies), newGuestbook(t, replies)
	dir := filepath.Join(t.TempDir(), "identities")
	u := start(t, withIdentities(dir))

	refused := u.open(club.URL + "/members")
	refused.want(t, http.StatusForbidden, "Choose an identity", "<p>Who are you?</p>",
		"<title>127.0.0.1 asks for an identity</title>")
	refused.without(t, `role="alert"`)
	choice := u.get(refused.find(t, "/identities?"))
	choice.want(t, http.StatusOK, "There are no identities yet.", "No identity is sent to 127.0.0.1")
	form := fieldsOf(t, refused, "Make and use it") // in one click from the request for it
	form.Set("name", "Ada L.")
	form.Set("new", "1")
	u.post("/identities", form).want(t, http.StatusForbidden, "Identity: Ada L.")
	if got := club.last(); got != "Ada L." {
		t.Errorf("the server got the certificate of %q", got)
	}
	u.open(club.URL+"/hi").want(t, http.StatusOK, "Identity: Ada L.", "pinned: stored at the first visit")
	if got := club.last(); got != "Ada L." {
		t.Errorf("the next page was retrieved as %q", got)
	}

	if u.open(other.URL + "/hi"); other.last() != "" {
		t.Errorf("another server got the certificate of %q", other.last())
	}
	if u.post("/identities", fieldsOf(t, u.open(other.URL+"/members"), "Use Ada L. for 127.0.0.1")); other.last() != "Ada L." {
		t.Errorf("after one click, the other server got the certificate of %q", other.last())
	}
	again := start(t, withIdentities(dir)) // a later run
	if again.open(club.URL + "/hi"); club.last() != "Ada L." {
		t.Errorf("a later run sent %q", club.last())
	}
	page := u.open(club.URL + "/hi")
	stop := fieldsOf(t, u.get(page.find(t, "/identities?")), "Stop using")
	if u.post("/identities", stop); club.last() != "" {
		t.Errorf("after it is no longer used, the identity %q was sent", club.last())
	}
	u.get("/identities").want(t, http.StatusOK, "Ada L.", dir)
}

func TestIdentitiesAreFilesForTheCommand(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "identities")
	u := start(t, withIdentities(dir))
	u.post("/identities", url.Values{"name": {"Ada"}, "new": {"1"}}).want(t, http.StatusOK, "Ada")
	file := filepath.Join(dir, "Ada.pem")
	cert, err := tls.LoadX509KeyPair(file, file)
	if err != nil {
		t.Fatal(err)
	}
	if got := cert.Leaf; got.Subject.CommonName != "Ada" || got.IsCA || got.ExtKeyUsage[0] != x509.ExtKeyUsageClientAuth || got.NotAfter.Year() != 9999 {
		t.Errorf("the certificate is %+v", got)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info.Mode(), err)
	}
	u.post("/identities", url.Values{"name": {"Ada"}, "new": {"1"}}).want(t, http.StatusBadRequest, "exists")
	if after, err := tls.LoadX509KeyPair(file, file); err != nil || !after.Leaf.Equal(cert.Leaf) {
		t.Errorf("the identity was replaced: %v", err)
	}
	for _, name := range []string{"", "../Eve", ".hidden", "a/b", "a\nb", strings.Repeat("x", 65), "\u202eevil"} {
		u.post("/identities", url.Values{"name": {name}, "new": {"1"}}).want(t, http.StatusBadRequest, "identity")
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("the directory has %v", files)
	}
}

// Another server cannot make a request with the identity of the user, by a link or a redirect.
func TestIdentitiesStayWithTheirServers(t *testing.T) {
	t.Parallel()
	club := newGuestbook(t, map[string]string{"/": "20 text/gemini\r\nhome", "/leave?all": "20 text/plain\r\nleft", "/a": "30 /b", "/b": "20 text/plain\r\nb"})
	evil := newGuestbook(t, map[string]string{"/": "20 text/gemini\r\n=> " + club.URL + "/leave?all Click", "/to": "30 " + club.URL + "/leave?all"})
	u := start(t, withIdentities(filepath.Join(t.TempDir(), "identities")))
	choice := u.get(u.open(club.URL+"/").find(t, "/identities?"))
	form := fieldsOf(t, choice, "Make and use it")
	form.Set("name", "Ada")
	form.Set("new", "1")
	u.post("/identities", form)
	if club.last() != "Ada" {
		t.Fatalf("the server got %q", club.last())
	}
	if u.open(club.URL + "/a"); club.last() != "Ada" {
		t.Errorf("a redirect of the server itself: %q", club.last())
	}

	foreign := u.get(u.open(evil.URL+"/").find(t, "/leave?all"))
	foreign.want(t, http.StatusOK, "left")
	if club.last() != "" || evil.last() != "" {
		t.Errorf("a link of another server got the identities %q and %q", evil.last(), club.last())
	}
	if u.open(evil.URL + "/to"); club.last() != "" {
		t.Errorf("a redirect of another server got the identity %q", club.last())
	}
	choice = u.get(foreign.find(t, "/identities?"))
	u.post("/identities", fieldsOf(t, choice, "Stop using")).want(t, http.StatusOK, "home")
	again := fieldsOf(t, choice, "Stop using")
	again.Set("name", "Ada")
	if page := u.post("/identities", again); !strings.Contains(page.text, "home") || club.last() != "Ada" {
		t.Errorf("the choice on a foreign page led to %s as %q", page.text, club.last())
	}
	forged := fieldsOf(t, choice, "Stop using")
	forged.Set("u", evil.URL+"/")
	u.post("/identities", forged).want(t, http.StatusForbidden, "not signed")
}
