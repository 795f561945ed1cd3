package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/cmd/urlget/internal/tty"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	browse "github.com/urlget/urlget/serve"
)

// serveCommand returns the command that shows URLs in the browser.
func (a *app) serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve [flags] [DIR | FILE.warc.gz... | URL]",
		Short: "Show what URLs name in the browser, whatever their scheme",
		Long: `Serve shows what URLs name in the browser: directories, menus, newsgroups, search
results, messages, pages and files of every scheme, from the net or from archives
(WARC files). It prints the address to open, which has a token: nobody else gets
in. It listens on this machine alone, and ends with Ctrl-C.`,
		Example: `  urlget serve
  urlget serve --open gopher://gopher.example/
  urlget serve ~/mirror
  urlget serve --replay-only site.warc.gz`,
		Args: cobra.ArbitraryArgs,
		RunE: a.serve,
	}
	a.define(cmd, flags.Serve)
	return cmd
}

// serve shows pages until it is interrupted.
func (a *app) serve(cmd *cobra.Command, args []string) error {
	a.opts.Use(cmd.Flags())
	if err := a.configure(cmd); err != nil {
		return err
	}
	addr, err := loopback(a.opts.Serve.Listen)
	if err != nil {
		return err
	}
	opts := browse.Options{Bookmarks: a.opts.Serve.Bookmarks}
	if opts.Bookmarks == "" {
		opts.Bookmarks = defaultBookmarks()
	}
	for _, arg := range args {
		switch {
		case isArchive(arg):
			a.opts.Archive.Replay = append(a.opts.Archive.Replay, arg)
		case !opts.Start.IsZero():
			return failure.Usagef("%q is one argument too many", arg)
		default:
			if opts.Start, err = beginning(arg); err != nil {
				return err
			}
		}
	}
	if a.opts.Serve.Terminal && a.opts.Archive.ReplayOnly {
		return failure.Usagef("--terminal opens sessions, and --replay-only sends nothing")
	}
	if a.opts.Trust.Insecure && !a.opts.Report.Quiet {
		a.con.Warn("certificates are not checked (--insecure)")
	}
	a.inOrder, a.prompt = true, tty.Prompt{} // who is asked sits before the browser
	a.opts.Driver.Web.Compressed = true      // pages are rewritten, which those that are coded cannot be
	ctx, err := a.openArchives(cmd.Context(), args, false)
	if err != nil {
		return err
	}
	opts.Archive, opts.ArchiveOnly = a.archives.replay, a.opts.Archive.ReplayOnly
	clients, err := a.serveClients(a.opts.Serve.Terminal)
	if err != nil {
		return err
	}
	opts.Client, opts.Foreign, opts.Sessions = clients.own, clients.foreign, clients.sessions
	a.client = opts.Client
	defer opts.Foreign.Close()
	if opts.Sessions != nil {
		defer opts.Sessions.Close()
	}

	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return failure.File(err)
	}
	return a.serveOn(ctx, l, opts, a.opts.Serve.Open)
}

// serveClients are the clients of the pages.
type serveClients struct{ own, foreign, sessions *fetch.Client }

// serveClients returns the client of the user, that of strangers, which has no logins, and that of
// sessions, if there are any.
func (n *network) serveClients(terminal bool) (c serveClients, err error) {
	opts, err := n.options()
	if err != nil {
		return c, err
	}
	opts.Recorder = joined(opts.Recorder, browse.Recorder)
	if r := n.archives.replay; r != nil { // in place of the one that knows a single time
		opts.Middleware = append(opts.Middleware[:len(opts.Middleware)-1:len(opts.Middleware)-1], browse.Archived(r, n.opts.Archive.ReplayOnly))
	}
	theirs := *opts
	theirs.Credentials = nil
	if opts.TLS != nil {
		theirs.TLS = opts.TLS.Clone()
		theirs.TLS.Certificates = nil
	}
	if n.config.Sectioned() { // fields that the user sends are next to the first
		theirs.Middleware = slices.Delete(slices.Clone(opts.Middleware), 1, 2)
	}
	opts.Credentials = ownLogins{opts.Credentials}
	c.own = n.clientWith(opts)
	theirs.Places = c.own // a page on a private host leads to private hosts
	c.foreign = n.clientWith(&theirs)
	if terminal {
		live, policy := theirs, *theirs.Policy
		policy.AllowSessions = true // the pages ask
		live.Policy, live.Timeouts.Idle = &policy, -1
		n.opts.Driver.TermType = "xterm" // which is what the pages do best
		c.sessions = n.clientWith(&live)
	}
	return c, nil
}

func joined(first, second fetch.Recorder) fetch.Recorder {
	if first == nil {
		return second
	}
	return fetch.JoinRecorders(first, second)
}

// ownLogins gives the user's logins to what the user named, and to what that leads to at the same
// origin.
type ownLogins struct{ fetch.Credentials }

func (l ownLogins) Credential(ctx context.Context, ch fetch.Challenge) (fetch.Credential, error) {
	if ch.Foreign {
		return fetch.Credential{}, fetch.ErrAuth
	}
	return l.Credentials.Credential(ctx, ch)
}

// loopback checks that an address to listen at is of this machine alone.
func loopback(text string) (string, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port = "127.0.0.1", strings.TrimPrefix(text, ":")
	}
	if host == "" || host == "localhost" {
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || strings.Trim(port, "0123456789") != "" || port == "" {
		return "", failure.Usagef("--listen: want ADDRESS:PORT, as in 127.0.0.1:8080, not %q", text)
	}
	if !ip.IsLoopback() {
		return "", failure.Hinted("--listen: "+host+" is not on this machine alone, and what is served is for its user", "ssh -L reaches it from elsewhere")
	}
	return net.JoinHostPort(host, port), nil
}

// beginning returns the URL that an argument means: itself, or that of a directory or file.
func beginning(arg string) (uri.URI, error) {
	if _, err := os.Stat(arg); err == nil {
		path, err := filepath.Abs(arg)
		if err != nil {
			return uri.URI{}, failure.File(err)
		}
		return uri.File{Path: filepath.ToSlash(path)}.URI()
	}
	u, err := uri.ParseLoose(arg)
	if err != nil {
		return u, err
	}
	if !u.IsAbs() {
		return u, failure.Hinted(fmt.Sprintf("%q is no directory, no archive and no URL", arg), "")
	}
	return u, nil
}

// defaultBookmarks returns the file for bookmarks, beside the configuration; "" if nobody has a
// home.
func defaultBookmarks() string {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "urlget", "bookmarks")
}

// serveOn serves on l until ctx ends.
func (n *network) serveOn(ctx context.Context, l net.Listener, opts browse.Options, open bool) error {
	host := l.Addr().String()
	_, port, _ := net.SplitHostPort(host)
	opts.Hosts = []string{host, net.JoinHostPort("localhost", port)}
	handler := browse.New(opts)
	if port == "80" { // which browsers leave out
		for _, with := range opts.Hosts {
			opts.Hosts = append(opts.Hosts, strings.TrimSuffix(with, ":80"))
		}
	}
	// A download may take any time, so that writing has no bound; the bounds on what servers do hold.
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 1 << 20, BaseContext: func(net.Listener) context.Context { return ctx }}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		server.Close()
		close(stopped)
	})
	address := handler.Address(host)
	if _, err := fmt.Fprintln(n.std.out, address); err != nil {
		l.Close()
		return failure.File(err)
	}
	if open {
		if err := openBrowser(ctx, handler.AddressOnce(host)); err != nil {
			n.say("the browser cannot be started: %v", err)
		}
	}
	err := server.Serve(l)
	if !stop() {
		<-stopped
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return failure.File(err)
}

// openBrowser opens an address with what the system has for it.
func openBrowser(ctx context.Context, address string) error {
	name, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), name, args...)
	cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait()
	return nil
}
