package main

import (
	"cmp"
	"context"
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

	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/cmd/urlget/internal/tty"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/drain"
	browse "github.com/urlget/urlget/serve"
)

func serveCommand(p *program) *cobra.Command {
	return p.define(flags.Serve, &cobra.Command{
		Use:   "serve [flags] [DIR | FILE.warc.gz... | URL]",
		Short: "Browse URLs of any scheme in a web browser",
		Long: `Browse URLs of any scheme in a web browser: directories, menus, newsgroups,
search results, messages, pages and files, from the network or from WARC files.
The command prints the address to open. The address contains a secret token
that grants access. The server listens on the loopback interface only; stop it
with Ctrl-C.

With --webdav, the server exports the tree of a URL or directory instead, so
that a file manager can mount it. With --as-proxy, the server is a proxy:
other programs retrieve URLs of any scheme through it, and --warc records them.`,
		Example: `  urlget serve
  urlget serve --open gopher://gopher.example/
  urlget serve ~/mirror
  urlget serve --replay-only site.warc.gz
  urlget serve --webdav ftp://ftp.example/pub/
  urlget serve --as-proxy=127.0.0.1:8080 --warc visited`,
		Args: cobra.ArbitraryArgs,
		RunE: p.runs(runServe),
	})
}

func runServe(p *program, cmd *cobra.Command, args []string) error {
	if err := p.configure(cmd); err != nil {
		return err
	}
	o, n := p.opts, p.net
	addr, err := listenAddress(&o.Serve, cmd.Flags().Changed("listen"))
	if err != nil {
		return err
	}
	start, err := serveArguments(o, args)
	if err != nil {
		return err
	}
	if err := o.Check(p.table); err != nil {
		return err
	}
	if o.Trust.Insecure && !o.Report.Quiet {
		p.rep.con.Warn("certificates are not verified (--insecure)")
	}
	n.sequential, n.dialog.Prompt = true, tty.Prompt{} // the user is at the browser, not at the terminal
	ctx, err := n.openArchives(cmd.Context(), args)
	if err != nil {
		return err
	}
	switch {
	case o.Serve.Proxy != "":
		return serveProxy(ctx, n, addr)
	case o.Serve.WebDAV:
		return serveWebDAV(ctx, n, addr, start)
	}
	return servePages(ctx, n, addr, start)
}

// serveArguments adds the archives of args to those that are replayed, and returns the start URL.
func serveArguments(o *flags.Options, args []string) (start uri.URI, err error) {
	for _, arg := range args {
		switch {
		case isArchive(arg):
			o.Archive.Replay = append(o.Archive.Replay, arg)
		case !start.IsZero() || o.Serve.Proxy != "":
			return start, failure.Usagef("unexpected argument %q", arg)
		default:
			if start, err = startURL(arg); err != nil {
				return start, err
			}
		}
	}
	return start, nil
}

func servePages(ctx context.Context, n *network, addr string, start uri.URI) error {
	opts, err := pageOptions(n.opts)
	if err != nil {
		return err
	}
	opts.Start = start
	n.opts.Driver.Web.Compressed = true // pages are rewritten, so they must be decoded
	opts.Archive, opts.ArchiveOnly, opts.At = n.archives.replay, n.opts.Archive.ReplayOnly, n.opts.Archive.At
	if err := addClients(n, &opts); err != nil {
		return err
	}
	defer opts.Client.Close()
	defer opts.Foreign.Close()
	if opts.Sessions != nil {
		defer opts.Sessions.Close()
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return failure.File(err)
	}
	return serveOn(ctx, n, l, opts)
}

func pageOptions(all *flags.Options) (opts browse.Options, err error) {
	o := &all.Serve
	opts = browse.Options{Bookmarks: cmp.Or(o.Bookmarks, flags.ConfigFile("bookmarks")), History: o.History,
		Identities: flags.ConfigFile("identities"), Insecure: all.Trust.Insecure}
	if o.Queue != nil {
		q, err := newQueueWatcher(o.Queue)
		if err != nil {
			return opts, err
		}
		opts.Queue = q.watch
	}
	return opts, nil
}

// addClients adds the client for the user, the client for other requests, which has no credentials, and the
// client for sessions, if enabled.
func addClients(n *network, to *browse.Options) error {
	opts, err := n.options()
	if err != nil {
		return err
	}
	opts.MaxErrorBody = maxErrorPage
	if before := opts.Recorder; before != nil {
		opts.Recorder = fetch.JoinRecorders(before, browse.Recorder())
	} else {
		opts.Recorder = browse.Recorder()
	}
	opts.Middleware = n.observers()
	if r := n.archives.replay; r != nil {
		how := replay.Options{Only: n.opts.Archive.ReplayOnly, Near: n.opts.Archive.Near}
		opts.Middleware = append(opts.Middleware, browse.Archived(r, how))
	}
	opts.Middleware = n.addCache(opts.Middleware)
	opts.Middleware = n.addTimeGates(opts.Middleware, browse.Date)
	foreign := n.withoutSecrets(opts)
	opts.Credentials, opts.TLS = ownLogins{opts.Credentials}, browse.Identify(opts.TLS)
	to.Client = n.clientWith(opts)
	foreign.Places = to.Client // pages on a private host may link to private hosts
	to.Foreign = n.clientWith(&foreign)
	if n.opts.Serve.Terminal {
		sessions, policy := foreign, *foreign.Policy
		policy.AllowSessions = true // the page asks the user
		sessions.Policy, sessions.Timeouts.Idle = &policy, -1
		n.opts.Driver.TermType = "xterm" // best supported by the page's terminal
		to.Sessions = n.clientWith(&sessions)
	}
	return nil
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
func listenAddress(o *flags.Pages, changed bool) (string, error) {
	flag, text := "--listen", o.Listen
	if p := o.Proxy; p != "" && p != flags.AnyPort {
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
	if !ip.IsLoopback() && o.Login == "" {
		return "", failure.Hinted(flag+": "+host+" is not a loopback address",
			"use ssh -L for access from another machine, or --as-proxy with --require-login")
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

func serveOn(ctx context.Context, n *network, l net.Listener, opts browse.Options) error {
	host := l.Addr().String()
	opts.Hosts = hostsOf(host)
	handler := browse.New(opts)
	defer handler.Close()
	if err := announce(n.rep.std.out, l, handler.Address(host)); err != nil {
		return err
	}
	if n.opts.Serve.Open {
		if err := openBrowser(ctx, handler.AddressOnce(host)); err != nil {
			n.rep.say("cannot start the browser: %v", err)
		}
	}
	return serveHTTP(ctx, l, handler)
}

// hostsOf returns the values of the Host field for a server at addr. Browsers omit the default port.
func hostsOf(addr string) []string {
	_, port, _ := net.SplitHostPort(addr)
	hosts := []string{addr, net.JoinHostPort("localhost", port)}
	if port == "80" {
		hosts = append(hosts, strings.TrimSuffix(addr, ":80"), "localhost")
	}
	return hosts
}

// announce prints the address to open, or closes l.
func announce(out io.Writer, l net.Listener, address string) error {
	_, err := fmt.Fprintln(out, address)
	if err != nil {
		l.Close()
	}
	return failure.File(err)
}

// serveHTTP serves on l until ctx ends. A download may take any time, so there is no write timeout. The
// client's timeouts still apply.
func serveHTTP(ctx context.Context, l net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute,
		IdleTimeout: 2 * time.Minute}
	return failure.File(drain.Serve(ctx, server, l))
}

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
