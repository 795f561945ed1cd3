package main

import (
	"cmp"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/cmd/urlget/internal/config"
	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/cmd/urlget/internal/tty"
	"github.com/urlget/urlget/crawl/schedule"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/cookies"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/protocols/http/hsts"
)

// A network creates clients. It holds the servers, proxies, archives and credentials that the user
// named, and all that is closed at the end of the run.
type network struct {
	opts       *flags.Options
	rep        *reporter
	dialog     *dialog
	config     *config.File // nil until it is read
	logins     logins
	jar        *cookies.Jar // nil without a cookie file
	hsts       *hsts.Store  // nil if http URLs are requested as they are
	transcript transcript
	archives   archives
	loaders    []fetch.Loader // schemes in addition to the built-in ones
	sequential bool           // transfers run one at a time
	hosts      *schedule.Scheduler
	closing    []func() error
}

// atEnd calls f when the run ends. It reports the error.
func (n *network) atEnd(f func() error) { n.closing = append(n.closing, f) }

// close ends the run. The archives are closed last, after the requests.
func (n *network) close() {
	n.atEnd(n.archives.close)
	for _, f := range n.closing {
		if err := f(); err != nil {
			n.rep.fail("", err)
		}
	}
}

// typedFlag reports whether a flag is from the command line, not from the configuration file.
func (n *network) typedFlag(name string) bool { return n.opts.Given(name) && !n.config.Applied(name) }

// maxErrorPage limits how much of an error page is kept, in bytes.
const maxErrorPage = 64 << 10

func (n *network) newClient() (*fetch.Client, error) {
	opts, err := n.options()
	if err != nil {
		return nil, err
	}
	return n.clientWith(opts), nil
}

func (n *network) clientWith(opts *fetch.Options) *fetch.Client {
	drivers := protocols.With(n.driverConfig())
	return fetch.New(opts, append([]fetch.Loader{drivers}, n.loaders...)...)
}

func (n *network) options() (*fetch.Options, error) {
	s := n.opts
	opts := &fetch.Options{
		Policy: &fetch.Policy{AllowPorts: s.Limits.Ports, AllowPrivate: s.Limits.Private,
			AllowRedirects: s.Limits.Redirects,
			MaxSize:        s.Limits.MaxSize},
		Credentials:  restrictingLogins{n.credentials(), &n.archives},
		Identity:     fetch.Identity{UserAgent: s.Request.Agent},
		Timeouts:     timeouts(s),
		MaxRedirects: s.Network.MaxRedirect,
		TextLineEnds: s.Request.LineEnds,
		Middleware:   n.middleware(),
		Fallback:     fallback(s),
	}
	if s.Output.ErrorContent {
		opts.MaxErrorBody = maxErrorPage
	}
	opts.NoRedirects = s.Network.MaxRedirect == 0
	opts.ProxyTunnel, opts.NoProxy = s.Proxy.Tunnel, directHosts(s)
	n.rep.con.Silent = s.Report.Quiet
	opts.Logger = n.rep.con.Logger(s.Report.Verbose)
	var err error
	if opts.Network, err = dialingOptions(s); err != nil {
		return nil, err
	}
	if opts.TLS = n.logins.tls.Clone(); !n.logins.tlsLoaded {
		if opts.TLS, err = tlsConfig(s, nil); err != nil {
			return nil, err
		}
	}
	if opts.Proxy, err = proxyFunc(s); err != nil {
		return nil, err
	}
	if n.config.Sectioned() && !n.typedFlag("proxy") && !n.typedFlag("no-proxy") && !n.typedFlag("socks5") {
		others := opts.Proxy
		if others == nil {
			others = fetch.ProxyFromEnvironment
		}
		opts.Proxy = n.config.Proxy(others)
	}
	opts.Recorder = n.recorder(opts.Proxy)
	opts.Gateways, err = gateways(s)
	return opts, err
}

// recorder returns the recorder that prints protocol traffic and reports hosts to the scheduler, or
// nil if neither is enabled.
func (n *network) recorder(proxy func(uri.URI) (uri.URI, error)) fetch.Recorder {
	var list []fetch.Recorder
	if !n.sequential {
		list = append(list, n.recordHosts(proxied(proxy)))
	}
	if n.opts.Report.Trace {
		list = append(list, fetch.RecordLines(n.rep.con.Trace))
	}
	if n.opts.Report.Replies || n.opts.Report.Verbose {
		list = append(list, n.rep.con.Replies())
	}
	if n.opts.Report.Verbose {
		list = append(list, reportConnections(n.rep.con))
	}
	if n.rep.con.Drawn() {
		list = append(list, tty.Stages)
	}
	if n.opts.Archive.WARC != "" || n.opts.Archive.Cache != "" {
		list = append(list, &n.archives)
	}
	if list == nil {
		return nil
	}
	return fetch.JoinRecorders(list...)
}

// timeouts returns the timeouts. A specific flag overrides --timeout; 0 seconds disable a timeout.
func timeouts(o *flags.Options) fetch.Timeouts {
	pick := func(special time.Duration, name string) time.Duration {
		switch {
		case o.Given(name) && special == 0, !o.Given(name) && o.Given("timeout") && o.Network.Timeout == 0:
			return -1
		case o.Given(name):
			return special
		}
		return o.Network.Timeout
	}
	read := pick(o.Network.ReadTimeout, "read-timeout")
	return fetch.Timeouts{Connect: pick(o.Network.ConnectTimeout, "connect-timeout"), Reply: read, Idle: read}
}

// leastSpeed returns the least rate of a body in bytes per second, and the time for which it may be
// below; 0 for no limit. Single transfers have curl's defaults: no limit, or the one of the two flags
// that is missing. The servers of a tree are not chosen by the user.
func leastSpeed(o *flags.Options) (rate int64, during time.Duration) {
	rate, during = 0, 30*time.Second
	switch {
	case o.Tree.On():
		rate, during = 100, 5*time.Minute
	case o.Given("speed-time"):
		rate = 1
	}
	if o.Given("speed-limit") {
		rate = o.Network.SpeedLimit
	}
	if o.Given("speed-time") {
		during = o.Network.SpeedTime
	}
	if rate == 0 || during == 0 {
		return 0, 0
	}
	return rate, during
}

func dialingOptions(o *flags.Options) (fetch.Network, error) {
	n := fetch.Network{Hosts: make(map[string]netip.Addr)}
	switch {
	case o.Network.IPv4:
		n.Family = 4
	case o.Network.IPv6:
		n.Family = 6
	}
	if o.Network.Bind != "" {
		addr, err := netip.ParseAddr(o.Network.Bind)
		if err != nil {
			return n, failure.Usagef("--bind-address: %q is not an address", o.Network.Bind)
		}
		n.Local = addr
	}
	for _, text := range o.Network.Resolve {
		host, addr, err := parseResolve(text)
		if err != nil {
			return n, err
		}
		n.Hosts[host] = addr
	}
	return n, nil
}

// parseResolve parses a value of --resolve, HOST:PORT:ADDR. IPv6 addresses may be in brackets. The
// host is returned in canonical form.
func parseResolve(text string) (hostport string, addr netip.Addr, err error) {
	wrong := failure.Usagef("--resolve: %q is not HOST:PORT:ADDR", text)
	m := resolveValue().FindStringSubmatch(text)
	if m == nil {
		return "", addr, wrong
	}
	_, portErr := strconv.ParseUint(m[2], 10, 16)
	addr, addrErr := netip.ParseAddr(strings.Trim(m[3], "[]"))
	u, hostErr := uri.ParseLoose("//" + m[1] + ":" + m[2])
	if errors.Join(portErr, addrErr, hostErr) != nil {
		return "", addr, wrong
	}
	return net.JoinHostPort(u.Host(), m[2]), addr, nil
}

var resolveValue = lazyRegexp(`^(\[[^\]]+\]|[^:]+):(\d+):(.+)$`)

// tlsConfig returns the configuration for the flags. If ask is nil, an encrypted key is not used.
func tlsConfig(o *flags.Options, ask prompter) (*tls.Config, error) {
	if !o.Trust.Insecure && o.Trust.CA == "" && o.Trust.Certificate == "" && o.Trust.Key == "" &&
		o.Trust.Pinned == nil {
		return nil, nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: o.Trust.Insecure}
	if o.Trust.Pinned != nil {
		cfg.VerifyConnection = o.Trust.Pinned.Verify
	}
	if o.Trust.CA != "" {
		pool, err := readAuthorities(o.Trust.CA)
		if err != nil {
			return nil, err
		}
		cfg.RootCAs = pool
	}
	if o.Trust.Certificate != "" {
		pair, err := readClientCertificate(o.Trust.Certificate, cmp.Or(o.Trust.Key, o.Trust.Certificate), ask)
		if err != nil {
			return nil, err
		}
		if pair != nil {
			cfg.Certificates = []tls.Certificate{*pair}
		}
	}
	return cfg, nil
}

// directHosts returns the hosts that are reached without a proxy: those of --no-proxy, or else those of
// the environment. The client itself uses the environment only for the proxies there.
func directHosts(o *flags.Options) string {
	switch {
	case o.Given("no-proxy"):
		return cmp.Or(o.Proxy.None, ",") // an empty list replaces that of the environment
	case o.Proxy.URL != "" || o.Proxy.SOCKS5 != "":
		return cmp.Or(os.Getenv("no_proxy"), os.Getenv("NO_PROXY"))
	}
	return ""
}

// proxyFunc returns the function that chooses proxies, or nil for the environment variables.
func proxyFunc(o *flags.Options) (func(uri.URI) (uri.URI, error), error) {
	var p uri.URI
	var err error
	switch {
	case o.Proxy.SOCKS5 != "":
		p, err = flags.SOCKSURL(o.Proxy.SOCKS5)
	case o.Proxy.None == "*":
	case o.Proxy.URL != "":
		p, err = flags.ProxyURL(o.Proxy.URL)
	default:
		return nil, nil
	}
	return func(uri.URI) (uri.URI, error) { return p, nil }, err
}

func gateways(o *flags.Options) (map[string]string, error) {
	m := make(map[string]string)
	if !o.Proxy.NoGateways {
		m = flags.DefaultGateways()
	}
	for _, text := range o.Proxy.Gateways {
		scheme, target, ok := strings.Cut(text, "=")
		if !ok {
			return nil, failure.Usagef("--gateway: must be SCHEME=URL") // the value may contain a password
		}
		if u, err := uri.Parse(scheme + ":x"); err != nil || !u.IsAbs() {
			return nil, failure.Usagef("--gateway: %q is not a scheme", scheme)
		}
		switch u, err := uri.ParseLoose(strings.Replace(target, "{}", "", 1)); {
		case err != nil:
			return nil, failure.Usagef("--gateway: %v", err)
		case !u.IsAbs():
			return nil, failure.Usagef("--gateway: the URL for %s has no scheme", scheme)
		}
		m[strings.ToLower(scheme)] = target
	}
	return m, nil
}
