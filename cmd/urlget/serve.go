package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
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

// serveCommand returns the serve command.
func (a *app) serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve [flags] [DIR | FILE.warc.gz... | URL]",
		Short: "Browse URLs of any scheme in a web browser",
		Long: `Browse URLs of any scheme in a web browser: directories, menus, newsgroups,
search results, messages, pages and files, from the network or from WARC files.
The command prints the address to open. The address contains a secret token
that grants access. The server listens on the loopback interface only; stop it
with Ctrl-C.

With --webdav, the server exports the tree of a URL or directory instead, so that
a file manager can mount it. With --as-proxy, the server is a proxy instead:
other programs retrieve URLs of any scheme through it, and --warc records them.`,
		Example: `  urlget serve
  urlget serve --open gopher://gopher.example/
  urlget serve ~/mirror
  urlget serve --replay-only site.warc.gz
  urlget serve --webdav ftp://ftp.example/pub/
  urlget serve --as-proxy=127.0.0.1:8080 --warc visited`,
		Args: cobra.ArbitraryArgs,
		RunE: a.serve,
	}
	a.define(cmd, flags.Serve)
	return cmd
}

// serve serves pages until it is interrupted.
func (a *app) serve(cmd *cobra.Command, args []string) error {
	a.opts.Use(cmd.Flags())
	if err := a.configure(cmd); err != nil {
		return err
	}
	addr, err := a.listenAddress(cmd.Flags().Changed("listen"))
	if err != nil {
		return err
	}
	start, err := a.serveArguments(args)
	if err != nil {
		return err
	}
	if err := a.opts.Check(a.table); err != nil {
		return err
	}
	if a.opts.Trust.Insecure && !a.opts.Report.Quiet {
		a.con.Warn("certificates are not verified (--insecure)")
	}
	a.sequential, a.prompt = true, tty.Prompt{} // the user is at the browser, not at the terminal
	ctx, err := a.openArchives(cmd.Context(), args, false)
	if err != nil {
		return err
	}
	if a.opts.Serve.Proxy != "" {
		return a.serveProxy(ctx, addr)
	}
	if a.opts.Serve.WebDAV {
		return a.serveWebDAV(ctx, addr, start)
	}
	opts, err := a.pageOptions()
	if err != nil {
		return err
	}
	opts.Start = start
	a.opts.Driver.Web.Compressed = true // pages are rewritten, so they must be decoded
	opts.Archive, opts.ArchiveOnly, opts.At = a.archives.replay, a.opts.Archive.ReplayOnly, a.opts.Archive.At
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

// serveArguments adds the archives of args to those that are replayed, and returns the start URL.
func (a *app) serveArguments(args []string) (start uri.URI, err error) {
	for _, arg := range args {
		switch {
		case isArchive(arg):
			a.opts.Archive.Replay = append(a.opts.Archive.Replay, arg)
		case !start.IsZero() || a.opts.Serve.Proxy != "":
			return start, failure.Usagef("unexpected argument %q", arg)
		default:
			if start, err = startURL(arg); err != nil {
				return start, err
			}
		}
	}
	return start, nil
}

// pageOptions returns the options for pages that flags set, without clients and archives.
func (a *app) pageOptions() (opts browse.Options, err error) {
	o := a.opts.Serve
	opts = browse.Options{Bookmarks: cmp.Or(o.Bookmarks, flags.ConfigFile("bookmarks")), History: o.History,
		Identities: flags.ConfigFile("identities"), Insecure: a.opts.Trust.Insecure}
	if o.Queue != nil {
		q, err := newQueueWatcher(o.Queue)
		if err != nil {
			return opts, err
		}
		opts.Queue = q.watch
	}
	return opts, nil
}

// serveClients holds the clients of the server.
type serveClients struct{ own, foreign, sessions *fetch.Client }

// serveClients returns the client for the user, the client for other requests, which has no
// credentials, and the client for sessions, if enabled.
func (n *network) serveClients(terminal bool) (c serveClients, err error) {
	opts, err := n.options()
	if err != nil {
		return c, err
	}
	opts.MaxErrorBody = maxErrorPage
	opts.Recorder = joinRecorders(opts.Recorder, browse.Recorder())
	opts.Middleware = n.observers()
	if r := n.archives.replay; r != nil {
		opts.Middleware = append(opts.Middleware, browse.Archived(r, n.opts.Archive.ReplayOnly))
	}
	opts.Middleware = n.addCache(opts.Middleware)
	opts.Middleware = n.addTimeGates(opts.Middleware, browse.Date)
	foreign := n.withoutSecrets(opts)
	opts.Credentials, opts.TLS = ownLogins{opts.Credentials}, browse.Identify(opts.TLS)
	c.own = n.clientWith(opts)
	foreign.Places = c.own // pages on a private host may link to private hosts
	c.foreign = n.clientWith(&foreign)
	if terminal {
		sessions, policy := foreign, *foreign.Policy
		policy.AllowSessions = true // the page asks the user
		sessions.Policy, sessions.Timeouts.Idle = &policy, -1
		n.opts.Driver.TermType = "xterm" // best supported by the page's terminal
		c.sessions = n.clientWith(&sessions)
	}
	return c, nil
}

// withoutSecrets returns a copy of opts without logins, client certificates and the header fields of the
// configuration file.
func (n *network) withoutSecrets(opts *fetch.Options) fetch.Options {
	foreign := *opts
	foreign.Credentials = nil
	if opts.TLS != nil {
		foreign.TLS = opts.TLS.Clone()
		foreign.TLS.Certificates = nil
	}
	if n.config.Sectioned() { // the user's header fields run second
		foreign.Middleware = slices.Delete(slices.Clone(opts.Middleware), 1, 2)
	}
	return foreign
}

func joinRecorders(first, second fetch.Recorder) fetch.Recorder {
	if first == nil {
		return second
	}
	return fetch.JoinRecorders(first, second)
}

// ownLogins provides the user's credentials for URLs that the user named, and for links within the
// same origin.
type ownLogins struct{ fetch.Credentials }

func (l ownLogins) Credential(ctx context.Context, ch fetch.Challenge) (fetch.Credential, error) {
	if ch.Foreign {
		return fetch.Credential{}, fetch.ErrAuth
	}
	return l.Credentials.Credential(ctx, ch)
}

// listenAddress returns the address of --as-proxy or --listen. Only a server with a login may have another
// one than a loopback address.
func (a *app) listenAddress(changed bool) (string, error) {
	flag, text := "--listen", a.opts.Serve.Listen
	if p := a.opts.Serve.Proxy; p != "" && p != flags.AnyPort {
		if changed {
			return "", failure.Usagef("--as-proxy=ADDRESS and --listen cannot be combined")
		}
		flag, text = "--as-proxy", p
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port = "127.0.0.1", strings.TrimPrefix(text, ":")
	}
	if host == "" || host == "localhost" {
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || strings.Trim(port, "0123456789") != "" || port == "" {
		return "", failure.Usagef("%s: %q is not ADDRESS:PORT, such as 127.0.0.1:8080", flag, text)
	}
	if !ip.IsLoopback() && a.opts.Serve.Login == "" {
		return "", failure.Hinted(flag+": "+host+" is not a loopback address", "use ssh -L for access from another machine, or --as-proxy with --require-login")
	}
	return net.JoinHostPort(host, port), nil
}

// startURL returns the start URL of an argument: the URL itself, or that of a directory or file.
func startURL(arg string) (uri.URI, error) {
	if _, err := os.Stat(arg); err == nil {
		return fileURL(arg)
	}
	u, err := uri.ParseLoose(arg)
	if err != nil {
		return u, err
	}
	if !u.IsAbs() {
		return u, failure.Hinted(fmt.Sprintf("%q is not a directory, an archive or a URL", arg), "")
	}
	return u, nil
}

// serveOn serves on l until ctx ends.
func (n *network) serveOn(ctx context.Context, l net.Listener, opts browse.Options, open bool) error {
	host := l.Addr().String()
	_, port, _ := net.SplitHostPort(host)
	opts.Hosts = []string{host, net.JoinHostPort("localhost", port)}
	handler := browse.New(opts)
	defer handler.Close()
	if port == "80" { // browsers omit the default port
		for _, with := range opts.Hosts {
			opts.Hosts = append(opts.Hosts, strings.TrimSuffix(with, ":80"))
		}
	}
	// A download may take any time, so there is no write timeout. The client's timeouts still apply.
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
			n.say("cannot start the browser: %v", err)
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

// openBrowser opens an address with the default browser of the system.
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
