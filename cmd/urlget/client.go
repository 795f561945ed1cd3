package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/textproto"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
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
	drivers := protocols.With(a.set.driver.config(!a.input.terminal()))
	return fetch.New(opts, append([]fetch.Loader{drivers}, a.more...)...)
}

// options turns the flags into the client's options.
func (a *app) options() (*fetch.Options, error) {
	s := &a.set
	opts := &fetch.Options{
		Policy:       &fetch.Policy{AllowPorts: s.ports, AllowPrivate: s.private, MaxSize: int64(s.maxSize)},
		Credentials:  a.credentials(),
		Identity:     fetch.Identity{UserAgent: s.agent},
		Timeouts:     s.timeouts(),
		MaxRedirects: s.maxRedirect,
		Middleware:   a.middleware(),
	}
	if s.maxRedirect <= 0 {
		opts.MaxRedirects = -1 // to the library, 0 is its default
	}
	if s.trace {
		opts.Trace = a.con.trace
	}
	if s.verbose {
		opts.Logger = slog.New(slog.NewTextHandler(a.con, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: withoutTime}))
	}
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
	opts.Gateways, err = s.gateways()
	return opts, err
}

func withoutTime(groups []string, attr slog.Attr) slog.Attr {
	if len(groups) == 0 && attr.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return attr
}

// timeouts returns the bounds of waits. A flag for one of them comes before
// --timeout; 0 seconds are no bound.
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

// parseResolve reads a value of --resolve, HOST:PORT:ADDR, in which IPv6
// addresses may stand in brackets. The host is returned in its canonical form.
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
	if !s.insecure && s.ca == "" && s.cert == "" && s.key == "" {
		return nil, nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: s.insecure}
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
	case s.noProxy && s.proxy != "":
		return nil, usage("--proxy and --no-proxy exclude each other")
	case s.noProxy:
		return func(uri.URI) (uri.URI, error) { return uri.URI{}, nil }, nil
	case s.proxy != "":
		p, err := proxyURL(s.proxy, s.tunnel)
		if err != nil {
			return nil, err
		}
		return func(uri.URI) (uri.URI, error) { return p, nil }, nil
	case s.tunnel:
		return func(u uri.URI) (uri.URI, error) {
			p, err := fetch.ProxyFromEnvironment(u)
			if err != nil || p.IsZero() {
				return p, err
			}
			return proxyURL(p.String(), true)
		}, nil
	}
	return nil, nil
}

func (s *settings) gateways() (map[string]string, error) {
	m := make(map[string]string)
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
		m[scheme] = target
	}
	return m, nil
}

// request returns the request for u that the flags describe.
func (s *settings) request(u uri.URI, op fetch.Op) (*fetch.Request, error) {
	req := &fetch.Request{URL: u, Op: op, Header: make(textproto.MIMEHeader), Form: make(map[string][]string)}
	if strings.ContainsAny(s.agent, "\r\n\x00") {
		return nil, usage("--user-agent: there is a line break or a NUL in it")
	}
	for _, field := range s.header {
		name, value, ok := strings.Cut(field, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, usage("--header: want 'Name: value'") // it may hold a secret
		}
		if strings.ContainsAny(field, "\r\n\x00") {
			return nil, usage("--header: %s has a line break or a NUL in it", name)
		}
		req.Header.Add(name, strings.TrimSpace(value))
	}
	for _, answer := range s.form {
		name, value, ok := strings.Cut(answer, "=")
		if !ok {
			return nil, usage("--form: want 'Name=value'") // it may hold a secret
		}
		req.Form[name] = append(req.Form[name], value)
	}
	for _, answer := range s.formFile {
		name, path, ok := strings.Cut(answer, "=")
		if !ok {
			return nil, usage("--form-file: want 'Name=PATH', not %q", answer)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, fileError(err)
		}
		req.Form[name] = append(req.Form[name], string(content))
	}
	if len(req.Header) == 0 {
		req.Header = nil
	}
	if len(req.Form) == 0 {
		req.Form = nil
	}
	if s.rng != "" {
		var err error
		if req.Range, err = parseRange(s.rng); err != nil {
			return nil, usage("--range: want A-B or A-, counted from 0, not %q", s.rng)
		}
	}
	return req, nil
}

// parseRange reads A-B, the first and the last octet, or A-, all from A on.
func parseRange(text string) (fetch.Range, error) {
	first, last, ok := strings.Cut(text, "-")
	a, err := strconv.ParseInt(first, 10, 62)
	if err != nil || !ok {
		return fetch.Range{}, errors.New("not a range")
	}
	if last == "" {
		return fetch.Range{Offset: a}, nil
	}
	b, err := strconv.ParseInt(last, 10, 62)
	if err != nil || b < a || a < 0 {
		return fetch.Range{}, errors.New("not a range")
	}
	return fetch.Range{Offset: a, Length: b - a + 1}, nil
}
