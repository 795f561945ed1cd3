// Package serve shows what URLs name to a browser, whatever their scheme: directories, menus,
// newsgroups, search results, messages, pages and files, from the net or from WARC files.
//
// What comes from servers is never trusted. It is escaped, or shown in a frame without scripts and
// without an origin. Every link on a page is signed and says which resource led to it, so that the
// policy of the client holds for what is clicked as it does for redirects, and only what the user
// typed counts as the user's. docs/serve.md tells what is promised.
package serve

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/template"
)

// Options say what a Server shows.
type Options struct {
	// Client retrieves what the user names, and what that leads to at the same origin. Its options
	// should have [Recorder], so that pages can show conversations, and [Archived] if there is an
	// Archive. It is required.
	Client *fetch.Client
	// Foreign retrieves what leads to another origin, and everything from there on. It must have
	// neither credentials nor cookies of the user. Its option Places should be Client, so that pages
	// of private hosts can lead to private hosts. Nil refuses such links.
	Foreign *fetch.Client
	// Sessions opens sessions (telnet and such) for pages that are terminals, each after the user has
	// said so there; nil opens none. It should have no credentials, Policy.AllowSessions, and no idle
	// timeout, as people need time to think.
	Sessions *fetch.Client
	// Hosts are the values of the field Host that requests may have, such as "127.0.0.1:8080".
	// Others are refused: they are what DNS rebinding looks like.
	Hosts []string
	// Token is what the address that is given to the user has to contain; "" makes a random one.
	Token string
	// Start is a URL that the first page leads to, such as a directory; zero for none.
	Start uri.URI
	// Archive is what the clients answer from, for its captures to be shown; nil for none.
	Archive *replay.Archive
	// ArchiveOnly says that the clients answer from nothing else.
	ArchiveOnly bool
	// Bookmarks is the file that keeps bookmarks, which need not exist; "" keeps none.
	Bookmarks string
}

// A Server is an http.Handler that shows URLs.
type Server struct {
	Options
	key     []byte // of signatures
	active  chan struct{}
	rate    *rate.Limiter
	kept    keeper
	history history
	marks   bookmarks
	logins  logins
	mux     *http.ServeMux

	once     tickets[struct{}]  // for addresses that work once
	tickets  tickets[address]   // for sessions
	sessions chan struct{}      // one element each
	answered tickets[submitted] // forms of pages that are about to be sent
}

const (
	// maxActive is how many resources are retrieved at once. Others wait for their turn.
	maxActive = 32
	// maxRate and maxBurst are how many resources pages may ask for a second, and at once.
	maxRate, maxBurst = 100, 500
	// maxTurn is how long a request waits for its turn.
	maxTurn = 30 * time.Second
)

// New returns a Server.
func New(opts Options) *Server {
	s := &Server{Options: opts, key: random(32), active: make(chan struct{}, maxActive), rate: rate.NewLimiter(maxRate, maxBurst),
		sessions: make(chan struct{}, maxSessions)}
	if s.Token == "" {
		s.Token = newID()
	}
	s.marks.file = opts.Bookmarks
	s.mux = http.NewServeMux()
	for pattern, f := range map[string]http.HandlerFunc{
		"GET /{$}":         s.home,
		"GET /view":        s.view,
		"GET /search":      s.search,
		"GET /download":    s.download,
		"GET /captures":    s.captures,
		"GET /archive":     s.archive,
		"GET /history":     s.showHistory,
		"POST /go":         s.open,
		"POST /form":       s.answer,
		"GET /sent":        s.send,
		"POST /session":    s.session,
		"GET /terminal":    s.terminal,
		"POST /login":      s.login,
		"POST /bookmark":   s.bookmark,
		"POST /unbookmark": s.unbookmark,
		"POST /forget":     s.forget,
	} {
		s.mux.Handle(pattern, s.guarded(f))
	}
	s.mux.HandleFunc("GET /content", s.content)
	s.mux.HandleFunc("POST /submit", s.submit)
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err) // the name is wrong
	}
	s.mux.Handle("GET /static/", http.StripPrefix("/static/", http.FileServerFS(files)))
	return s
}

// Address returns the address that the user opens first, at a host of Options.Hosts.
func (s *Server) Address(host string) string { return plainWeb + host + "/?token=" + s.Token }

// AddressOnce is Address with a token that is good for one visit, within a minute. Programs pass it
// to a browser as an argument, which other users of the machine can see.
func (s *Server) AddressOnce(host string) string {
	return plainWeb + host + "/?token=" + s.once.add(struct{}{})
}

// newID returns a name that nobody can guess.
func newID() string { return base64.RawURLEncoding.EncodeToString(random(24)) }

// random returns n bytes that nobody can guess.
func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // which never fails
	return b
}

//go:embed static
var static embed.FS

//go:embed pages
var pageFiles embed.FS

// pages returns the templates of all pages. Programs that show none do not parse them.
var pages = sync.OnceValue(func() *template.Set { return template.Must(template.ParseFS(pageFiles, "pages/*.html")) })

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !slices.Contains(s.Hosts, strings.ToLower(r.Host)) {
		http.Error(w, "This is urlget, which is not called that. Open the address that it printed.", http.StatusMisdirectedRequest)
		return
	}
	secure(w, r)
	s.mux.ServeHTTP(w, r)
}

// turn waits until one more resource may be retrieved. Done ends that.
func (s *Server) turn(ctx context.Context) (done func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxTurn, &fetch.Error{Code: fetch.ErrBusy,
		Err: fmt.Errorf("%d others are being retrieved", maxActive)})
	defer cancel()
	if err := s.rate.Wait(ctx); err != nil {
		return nil, &fetch.Error{Code: fetch.ErrBusy, Err: fmt.Errorf("pages ask for more than %d resources a second", maxRate)}
	}
	select {
	case s.active <- struct{}{}:
		return func() { <-s.active }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// client returns the client for what an address leads to.
func (s *Server) client(a address) (*fetch.Client, error) {
	switch {
	case !a.foreign:
		return s.Client, nil
	case s.Foreign == nil:
		return nil, &fetch.Error{Op: "get", URL: a.url.Redacted(), Code: fetch.ErrPolicy,
			Err: fmt.Errorf("%s leads to another server", a.from.Redacted()), Hint: "type the URL"}
	}
	return s.Foreign, nil
}

// do performs a request for an address.
func (s *Server) do(ctx context.Context, a address, req *fetch.Request) (*fetch.Response, error) {
	c, err := s.client(a)
	if err != nil {
		return nil, err
	}
	req.URL, req.From, req.View = a.url, a.from, a.view
	if !a.foreign {
		req.URL = s.logins.with(a.url)
	}
	return c.Do(context.WithValue(ctx, atKey{}, a.at), req)
}

// logins are what the user said when a server asked, for as long as the program runs.
type logins struct {
	mu  sync.Mutex
	all map[uri.Origin]uri.URI // a URL with the login
}

const maxLogins = 1000

// take keeps the login of u, and returns u without the password.
func (l *logins) take(u uri.URI) uri.URI {
	if _, ok := u.Password(); !ok {
		return u
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil || len(l.all) >= maxLogins {
		l.all = make(map[uri.Origin]uri.URI)
	}
	l.all[u.Origin()] = u
	return u.WithoutPassword()
}

// with returns u with the login for its origin, if there is one for its user.
func (l *logins) with(u uri.URI) uri.URI {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, ok := l.all[u.Origin()]
	if !ok {
		return u
	}
	name, named := u.User()
	if same, _ := known.User(); named && same != name {
		return u
	}
	return u.WithUserinfoOf(known)
}
