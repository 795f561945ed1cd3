// Package serve shows the resources of all schemes as web pages: directories, menus, newsgroups,
// search results, messages, pages and files. They come from the network or from WARC files.
//
// Content from servers is never trusted. It is escaped, or shown in a frame without scripts and
// without an origin. Every link on a page is signed and names the resource that it was on. The
// client policy therefore applies to links as it does to redirects, and only typed URLs are trusted
// as the user's. The guarantees are listed in docs/serve.md.
package serve

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/base64"
	"fmt"
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

// Options configure a Server.
type Options struct {
	// Client retrieves the URLs that the user enters, and links from them to the same origin. It is
	// required. Its options should include [Recorder], so that pages can show conversations, and
	// [Archived] if Archive is set.
	Client *fetch.Client
	// Foreign retrieves links to another origin, and all links followed from there. It must not
	// have credentials or cookies of the user. Its option Places should be Client, so that pages of
	// private hosts can link to private hosts. If Foreign is nil, such links are refused.
	Foreign *fetch.Client
	// Sessions opens interactive sessions, such as telnet, on pages with a terminal. The user
	// confirms each of them. If Sessions is nil, pages do not open sessions. It should have
	// Policy.AllowSessions, and neither credentials nor an idle timeout.
	Sessions *fetch.Client
	// Hosts lists the accepted values of the Host header field, such as "127.0.0.1:8080". Requests
	// with other values are refused, as a defence against DNS rebinding.
	Hosts []string
	// Token is the secret in the address that the user opens. If it is empty, New generates a
	// random one.
	Token string
	// Start is a URL that the home page links to, such as a directory. It is optional.
	Start uri.URI
	// Archive is the archive that the clients replay, used to list captures. It is optional.
	Archive *replay.Archive
	// ArchiveOnly reports that the clients replay the archive and send no requests.
	ArchiveOnly bool
	// At is the date for which URLs that the user enters are shown; zero means the latest captures. See
	// [Date].
	At time.Time
	// Bookmarks is the name of the bookmarks file. A missing file stands for one with some public
	// servers to try. If the name is empty, these bookmarks cannot be changed.
	Bookmarks string
	// History is the name of a file that keeps the history. It lists the URLs that the user visited or
	// follows, so that only the user may read it. If the name is empty, the history is in memory only.
	History string
	// Identities is the name of a directory with the client certificates that the user made on the
	// pages. If it is empty, pages do not offer them. Client needs the TLS configuration of
	// [Identify].
	Identities string
	// Queue reports the state of a queue for the page /queue. It calls report with each sample, and
	// with each failure to get one, until ctx ends. It is called once, at the first request of the
	// page, and ctx ends with Close. If Queue is nil, the server does not have the page.
	Queue func(ctx context.Context, report func(QueueSample, error))
	// Insecure reports that the clients do not verify certificates.
	Insecure bool
}

// A Server is an http.Handler that shows URLs.
type Server struct {
	Options
	key        []byte // signs links
	active     chan struct{}
	rate       *rate.Limiter
	bodies     bodyCache
	history    history
	marks      bookmarks
	identities identities
	logins     logins
	readings   readings
	queue      queueHistory
	mux        *http.ServeMux

	delay time.Duration // maxDelay, except in tests

	indexing chan struct{} // holds an element while index is built or read
	index    *textIndex    // of the archive; nil until the first search

	mementoPath string // see newMementoPath

	oneTimeTokens tickets[struct{}]  // one-time tokens of AddressOnce
	tickets       tickets[address]   // sessions about to start
	sessions      chan struct{}      // one element for each open session
	submissions   tickets[submitted] // form submissions about to be sent
}

const (
	// maxActive is the number of resources retrieved at once. Other requests wait.
	maxActive = 32
	// maxRate limits retrievals per second, and maxBurst those that may start at the same time.
	maxRate, maxBurst = 100, 500
	// maxWait limits how long a request waits to start.
	maxWait = 30 * time.Second
)

// New returns a Server with the given options.
func New(opts Options) *Server {
	s := &Server{Options: opts, key: []byte(newID()), delay: maxDelay,
		active: make(chan struct{}, maxActive), rate: rate.NewLimiter(maxRate, maxBurst),
		sessions: make(chan struct{}, maxSessions), indexing: make(chan struct{}, 1)}
	if s.Token == "" {
		s.Token = newID()
	}
	s.mementoPath = newMementoPath(s.Token)
	s.marks.file, s.history.file, s.identities.dir = opts.Bookmarks, opts.History, opts.Identities
	s.mux = http.NewServeMux()
	for pattern, f := range map[string]http.HandlerFunc{
		"GET /{$}":          s.home,
		"GET /view":         s.view,
		"GET /search":       s.search,
		"GET /download":     s.download,
		"GET /thread":       s.showThread,
		"GET /captures":     s.captures,
		"GET /archive":      s.archive,
		"GET /archive/text": s.searchText,
		"GET /history":      s.showHistory,
		"GET /identities":   s.showIdentities,
		"POST /identities":  s.chooseIdentity,
		"GET /queue":        s.showQueue,
		"GET /keys":         s.showKeys,
		"GET /following":    s.showFollowing,
		"POST /following":   s.changeFollowing,
		"POST /follow":      func(w http.ResponseWriter, r *http.Request) { s.setFollowed(w, r, true) },
		"POST /unfollow":    func(w http.ResponseWriter, r *http.Request) { s.setFollowed(w, r, false) },
		"POST /go":          s.open,
		"POST /form":        s.submitForm,
		"GET /sent":         s.send,
		"POST /session":     s.session,
		"GET /terminal":     s.terminal,
		"POST /login":       s.login,
		"POST /bookmark":    s.bookmark,
		"POST /unbookmark":  s.unbookmark,
		"POST /forget":      s.forget,
		"POST /typeface":    s.chooseFace,
	} {
		s.mux.Handle(pattern, s.requireToken(f))
	}
	s.mux.HandleFunc("GET /content", s.content)
	s.mux.HandleFunc("POST /submit", s.submit)
	s.mux.HandleFunc("GET /static/{hash}/{name}", serveStatic)
	return s
}

// Address returns the URL that the user opens first. The host is one of Options.Hosts.
func (s *Server) Address(host string) string { return plainWeb + host + "/?token=" + s.Token }

// AddressOnce is like Address with a one-time token that expires after a minute. Programs pass it
// to a browser as an argument, which other users of the machine can see.
func (s *Server) AddressOnce(host string) string {
	return plainWeb + host + "/?token=" + s.oneTimeTokens.add(struct{}{})
}

func newID() string {
	b := make([]byte, 24)
	rand.Read(b) // rand.Read never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

//go:embed pages
var pageFiles embed.FS

// pages returns the templates of all pages. They are parsed on first use.
var pages = sync.OnceValue(func() *template.Set {
	return template.Must(template.ParseFS(pageFiles, "pages/*.html"))
})

// Close ends the calls of Options.Queue.
func (s *Server) Close() error {
	s.queue.close()
	return nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !slices.Contains(s.Hosts, strings.ToLower(r.Host)) {
		http.Error(w, "Unknown host name. Open the address that urlget printed.",
			http.StatusMisdirectedRequest)
		return
	}
	setSecurityHeaders(w, r)
	if rest, ok := strings.CutPrefix(r.RequestURI, s.mementoPath+"/"); ok && s.Archive != nil {
		s.serveMemento(w, r, rest)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// acquire waits until a retrieval may start. The caller calls done at its end.
func (s *Server) acquire(ctx context.Context) (done func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxWait, &fetch.Error{Code: fetch.ErrBusy,
		Err: fmt.Errorf("%d other resources are being retrieved", maxActive)})
	defer cancel()
	if err := s.rate.Wait(ctx); err != nil {
		return nil, &fetch.Error{Code: fetch.ErrBusy,
			Err: fmt.Errorf("more than %d requests per second", maxRate)}
	}
	select {
	case s.active <- struct{}{}:
		return func() { <-s.active }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

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

func (s *Server) do(ctx context.Context, a address, req *fetch.Request) (*fetch.Response, error) {
	c, err := s.client(a)
	if err != nil {
		return nil, err
	}
	if ctx, err = s.prepare(ctx, a, req); err != nil {
		return nil, err
	}
	if a.part == "" {
		return c.Do(ctx, req)
	}
	if resp, err := s.cached(a); resp != nil {
		return resp, err
	}
	req.Range, req.Ranges, req.IfChanged = fetch.Range{}, nil, fetch.Validator{}
	resp, err := c.Do(ctx, req)
	if err != nil {
		return nil, err
	}
	if err := openPart(resp, a.part); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// prepare makes req the request for an address. It returns the context for it, with the capture that
// the address wants and the identity that the user chose for its server.
func (s *Server) prepare(ctx context.Context, a address, req *fetch.Request) (context.Context, error) {
	req.URL, req.From, req.View = a.url, a.from, a.view
	if !a.foreign {
		req.URL = s.logins.with(a.url)
	}
	return s.withIdentity(context.WithValue(ctx, captureKey{}, capture{at: a.at, live: a.live}), a)
}
