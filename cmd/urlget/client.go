package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols"
)

// newClient returns a client as the flags want it.
func (a *app) newClient() (*fetch.Client, error) {
	opts, err := a.options()
	if err != nil {
		return nil, err
	}
	return a.clientWith(opts), nil
}

// clientWith returns a client with the drivers as the flags want them.
func (a *app) clientWith(opts *fetch.Options) *fetch.Client {
	drivers := protocols.With(a.set.config(!a.input.terminal(), a.prompt))
	return fetch.New(opts, append([]fetch.Loader{drivers}, a.more...)...)
}

// options turns the flags into the client's options.
func (a *app) options() (*fetch.Options, error) {
	s := &a.set
	opts := &fetch.Options{
		Policy: &fetch.Policy{AllowPorts: s.ports, AllowPrivate: s.private, AllowRedirects: s.redirects,
			MaxSize: int64(s.maxSize)},
		Credentials:  a.archives.noting(a.credentials()),
		Identity:     fetch.Identity{UserAgent: s.agent},
		Timeouts:     s.timeouts(),
		MaxRedirects: s.maxRedirect,
		TextLineEnds: s.lineEnds,
		Middleware:   a.middleware(),
	}
	opts.NoRedirects = s.maxRedirect == 0
	opts.ProxyTunnel, opts.NoProxy = s.tunnel, s.noProxy
	a.con.silent = s.quiet
	opts.Logger = slog.New(warnings{a.con, s.verbose})
	var err error
	if opts.Network, err = s.network(); err != nil {
		return nil, err
	}
	if opts.TLS, err = s.tls(); err != nil {
		return nil, err
	}
	if opts.Proxy, err = s.proxyFunc(); err != nil {
		return nil, err
	}
	if a.config.sectioned() && !a.typedFlag("proxy") && !a.typedFlag("no-proxy") && !a.typedFlag("socks5") {
		others := opts.Proxy
		if others == nil {
			others = fetch.ProxyFromEnvironment
		}
		opts.Proxy = a.config.sectionProxy(others)
	}
	opts.Recorder = a.recorder(opts.Proxy)
	opts.Gateways, err = s.gateways()
	return opts, err
}

// recorder returns what prints the conversations and what tells the scheduler of hosts; nil if
// neither is wanted.
func (a *app) recorder(proxy func(uri.URI) (uri.URI, error)) fetch.Recorder {
	var list []fetch.Recorder
	if !a.inOrder {
		list = append(list, a.meet(proxied(proxy)))
	}
	if a.set.trace {
		list = append(list, fetch.Trace(a.con.trace))
	}
	if a.set.replies {
		list = append(list, a.con.replies())
	}
	if a.set.verbose {
		list = append(list, a.con.narrate())
	}
	if a.con.tty != nil {
		list = append(list, stages)
	}
	if a.archives.capture != nil {
		list = append(list, a.archives.capture.Recorder)
	}
	if list == nil {
		return nil
	}
	return fetch.JoinRecorders(list...)
}

// timeouts returns the bounds of waits. A flag for one of them comes before --timeout; 0 seconds
// are no bound.
func (s *settings) timeouts() fetch.Timeouts {
	pick := func(special seconds, name string) time.Duration {
		switch {
		case s.given(name) && special == 0, !s.given(name) && s.given("timeout") && s.timeout == 0:
			return -1
		case s.given(name):
			return time.Duration(special)
		}
		return time.Duration(s.timeout)
	}
	read := pick(s.read, "read-timeout")
	return fetch.Timeouts{Connect: pick(s.connect, "connect-timeout"), Reply: read, Idle: read}
}

func (s *settings) network() (fetch.Network, error) {
	n := fetch.Network{Hosts: make(map[string]netip.Addr)}
	switch {
	case s.ipv4 && s.ipv6:
		return n, usage("-4 and -6 exclude each other")
	case s.ipv4:
		n.Family = 4
	case s.ipv6:
		n.Family = 6
	}
	if s.bind != "" {
		addr, err := netip.ParseAddr(s.bind)
		if err != nil {
			return n, usage("--bind-address: %q is not an address", s.bind)
		}
		n.Local = addr
	}
	for _, text := range s.resolve {
		host, addr, err := parseResolve(text)
		if err != nil {
			return n, err
		}
		n.Hosts[host] = addr
	}
	return n, nil
}

// parseResolve reads a value of --resolve, HOST:PORT:ADDR, in which IPv6 addresses may stand in
// brackets. The host is returned in its canonical form.
func parseResolve(text string) (hostport string, addr netip.Addr, err error) {
	wrong := usage("--resolve: want HOST:PORT:ADDR, not %q", text)
	host, rest := "", ""
	ok := false
	if strings.HasPrefix(text, "[") {
		host, rest, ok = strings.Cut(text[1:], "]:")
	} else {
		host, rest, ok = strings.Cut(text, ":")
	}
	port, literal, ok2 := strings.Cut(rest, ":")
	if _, err := strconv.ParseUint(port, 10, 16); err != nil || !ok || !ok2 || host == "" {
		return "", addr, wrong
	}
	if literal = strings.Trim(literal, "[]"); literal != "" {
		addr, err = netip.ParseAddr(literal)
	}
	if err != nil || !addr.IsValid() {
		return "", addr, wrong
	}
	u, err := uri.ParseLoose("//" + net.JoinHostPort(host, port))
	if err != nil {
		return "", addr, wrong
	}
	return net.JoinHostPort(u.Host(), port), addr, nil
}

// tls returns the TLS configuration, nil if the flags say nothing of it.
func (s *settings) tls() (*tls.Config, error) {
	if !s.insecure && s.ca == "" && s.cert == "" && s.key == "" && s.pinned == nil {
		return nil, nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: s.insecure}
	if s.pinned != nil {
		cfg.VerifyConnection = s.pinned.verify
	}
	if s.ca != "" {
		pem, err := os.ReadFile(s.ca)
		if err != nil {
			return nil, fileError(err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fileError(fmt.Errorf("%s holds no certificate in PEM form", s.ca))
		}
	}
	if s.key != "" && s.cert == "" {
		return nil, usage("--private-key without --certificate")
	}
	if s.cert != "" {
		key := s.key
		if key == "" {
			key = s.cert
		}
		pair, err := tls.LoadX509KeyPair(s.cert, key)
		if err != nil {
			return nil, fileError(err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}

// proxyFunc returns how proxies are chosen; nil means the environment.
func (s *settings) proxyFunc() (func(uri.URI) (uri.URI, error), error) {
	switch {
	case s.socks5 != "" && s.proxy != "":
		return nil, usage("--proxy and --socks5 exclude each other")
	case s.socks5 != "" && (strings.Contains(s.socks5, "/") || s.noProxy == "*" || s.tunnel):
		return nil, usage("--socks5: want HOST:PORT, and neither --no-proxy nor --proxy-tunnel")
	case s.socks5 != "":
		p, err := socksURL(s.socks5)
		if err != nil {
			return nil, err
		}
		return func(uri.URI) (uri.URI, error) { return p, nil }, nil
	case s.noProxy == "*" && s.proxy != "":
		return nil, usage("--proxy and --no-proxy exclude each other")
	case s.noProxy == "*":
		return func(uri.URI) (uri.URI, error) { return uri.URI{}, nil }, nil
	case s.proxy != "":
		p, err := proxyURL(s.proxy, s.tunnel)
		if err != nil {
			return nil, err
		}
		return func(uri.URI) (uri.URI, error) { return p, nil }, nil
	}
	return nil, nil
}

func (s *settings) gateways() (map[string]string, error) {
	m := make(map[string]string)
	if !s.bareNames {
		m = defaultGateways()
	}
	for _, text := range s.gateway {
		scheme, target, ok := strings.Cut(text, "=")
		if !ok {
			return nil, usage("--gateway: want SCHEME=URL") // it may hold a password
		}
		if u, err := uri.Parse(scheme + ":x"); err != nil || !u.IsAbs() {
			return nil, usage("--gateway: %q is no scheme", scheme)
		}
		switch u, err := uri.ParseLoose(strings.Replace(target, "{}", "", 1)); {
		case err != nil:
			return nil, usage("--gateway: %v", err)
		case !u.IsAbs():
			return nil, usage("--gateway: the URL for %s has no scheme", scheme)
		}
		m[strings.ToLower(scheme)] = target
	}
	return m, nil
}

// job returns what the flags say of each URL.
func (s *settings) job(op fetch.Op) (*job.Job, error) {
	if strings.ContainsAny(s.agent, "\r\n\x00") {
		return nil, usage("--user-agent: there is a line break or a NUL in it")
	}
	j := &job.Job{Op: op, View: s.view, Header: s.header, Exists: s.exists(), Segments: int(s.many.segments)}
	if s.referer != "" {
		j.Header = append(j.Header[:len(j.Header):len(j.Header)], "Referer: "+s.referer)
	}
	if s.rng != "" {
		var err error
		if j.Ranges, err = parseRanges(s.rng); err != nil {
			return nil, usage("--range: want A-B, A-, A or -N, counted from 0, or several divided by commas, not %q", s.rng)
		}
		if len(j.Ranges) == 1 {
			j.Range, j.Ranges = j.Ranges[0], nil
		}
	}
	return j, nil
}

// parseRanges reads ranges with commas between them.
func parseRanges(text string) ([]fetch.Range, error) {
	var list []fetch.Range
	for word := range strings.SplitSeq(text, ",") {
		r, err := parseRange(strings.TrimSpace(word))
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// parseRange reads A-B, the first and the last byte, A- or A, all from A on, or -N, the last N
// bytes.
func parseRange(text string) (fetch.Range, error) {
	wrong := errors.New("not a range")
	first, last, _ := strings.Cut(text, "-")
	a, errA := strconv.ParseUint(first, 10, 62)
	b, errB := strconv.ParseUint(last, 10, 62)
	switch {
	case first == "" && errB == nil && b > 0:
		return fetch.Range{Offset: -int64(b)}, nil
	case errA != nil:
		return fetch.Range{}, wrong
	case last == "":
		return fetch.Range{Offset: int64(a)}, nil
	case errB != nil || b < a:
		return fetch.Range{}, wrong
	}
	return fetch.Range{Offset: int64(a), Length: int64(b-a) + 1}, nil
}
