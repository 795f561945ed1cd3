package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/textproto"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/middleware"
	"github.com/urlget/urlget/fetch/uri"
)

type networkFlags struct {
	header         []string
	agent          string
	proxy, noProxy string
	insecure       bool
	ca             string
	knownHosts     []string
	tofu           string
	readTimeout    seconds
	speedLimit     int64 // in bytes per second
	speedTime      seconds
	set            *pflag.FlagSet
}

func (n *networkFlags) define(f *pflag.FlagSet) {
	n.set = f
	n.readTimeout, n.speedTime = seconds(time.Minute), seconds(5*time.Minute)
	f.StringArrayVarP(&n.header, "header", "H", nil,
		"send the header field `'Name: value'` to every server, unless the job has that field")
	f.StringVarP(&n.agent, "user-agent", "U", "", "identify as `AGENT`")
	f.StringVar(&n.proxy, "proxy", "",
		"use the proxy at `URL` (http, https, connect, socks4, socks4a, socks5)")
	f.StringVar(&n.noProxy, "no-proxy", "",
		"disable proxies, or only for the hosts in `LIST` (as in no_proxy)")
	f.Lookup("no-proxy").NoOptDefVal = "*"
	f.Var(&n.readTimeout, "read-timeout", "set the timeout for a reply or more data to `SECONDS`")
	f.Int64Var(&n.speedLimit, "speed-limit", 100,
		"end a transfer slower than `N` bytes per second for --speed-time; 0 disables it")
	f.Var(&n.speedTime, "speed-time", "set the time for --speed-limit to `SECONDS`")
	f.BoolVar(&n.insecure, "insecure", false, "do not verify TLS certificates")
	f.BoolVar(&n.insecure, "no-check-certificate", false, "the same as --insecure")
	f.StringVar(&n.ca, "ca-certificate", "", "trust only the certificate authorities in `FILE` (PEM)")
	f.StringArrayVar(&n.knownHosts, "known-hosts", nil,
		"verify SSH host keys with `FILE` instead of ~/.ssh/known_hosts")
	f.StringVar(&n.tofu, "tofu", "", "store trusted certificates of Gemini servers in `FILE`")
}

// secretFields are header fields that belong to one server. A worker would send them to any.
var secretFields = []string{"Authorization", "Cookie", "Host", "Proxy-Authorization"}

func (n *networkFlags) apply(opts *fetch.Options, logger *slog.Logger) error {
	if strings.ContainsAny(n.agent, "\r\n\x00") {
		return usage("--user-agent: must not contain a line break or NUL")
	}
	opts.Identity.UserAgent = n.agent
	if n.speedLimit < 0 {
		return usage("--speed-limit must be 0 or more")
	}
	read := time.Duration(n.readTimeout)
	if read == 0 {
		read = -1
	}
	opts.Timeouts.Reply, opts.Timeouts.Idle = read, read
	fields, err := n.fields()
	if err != nil {
		return err
	}
	if len(fields) > 0 {
		opts.Middleware = append(opts.Middleware, addFields(fields))
	}
	if n.speedLimit > 0 && n.speedTime > 0 {
		limit := middleware.SpeedLimit(n.speedLimit, time.Duration(n.speedTime))
		opts.Middleware = append(opts.Middleware, limit)
	}
	if opts.TLS, err = n.tls(logger); err != nil {
		return err
	}
	return n.applyProxy(opts, logger)
}

func (n *networkFlags) fields() (textproto.MIMEHeader, error) {
	fields := textproto.MIMEHeader{}
	err := (&job.Job{URL: uri.MustParse("http://h/"), Header: n.header}).Validate()
	if wrong := (*job.FieldError)(nil); errors.As(err, &wrong) {
		return nil, usage("--header: %s", wrong.Reason)
	}
	if err != nil {
		return nil, err
	}
	for _, field := range n.header {
		name, value, _ := strings.Cut(field, ":")
		name = textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name))
		if slices.Contains(secretFields, name) {
			return nil, usage("--header: every server that a job names would receive %s; "+
				"put it into the jobs", name)
		}
		fields.Add(name, strings.TrimSpace(value))
	}
	return fields, nil
}

// addFields returns a middleware that adds header fields to requests without them.
func addFields(fields textproto.MIMEHeader) fetch.Middleware {
	return func(next fetch.Driver) fetch.Driver {
		return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
			all := *req
			all.Header = textproto.MIMEHeader{}
			for name, values := range fields {
				all.Header[name] = values
			}
			for name, values := range req.Header {
				all.Header[textproto.CanonicalMIMEHeaderKey(name)] = values
			}
			return next.Open(ctx, &all)
		})
	}
}

func (n *networkFlags) tls(logger *slog.Logger) (*tls.Config, error) {
	if !n.insecure && n.ca == "" {
		return nil, nil
	}
	if n.insecure {
		logger.Warn("TLS certificates are not verified")
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: n.insecure}
	var err error
	if n.ca != "" {
		cfg.RootCAs, err = authorities(n.ca)
	}
	return cfg, err
}

func authorities(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fileError(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fileError(fmt.Errorf("%s does not contain a certificate in PEM format", file))
	}
	return pool, nil
}

// applyProxy sets the proxy. Without flags, that of the environment is used.
func (n *networkFlags) applyProxy(opts *fetch.Options, logger *slog.Logger) error {
	if n.set.Changed("no-proxy") {
		opts.NoProxy = cmp.Or(n.noProxy, ",") // an empty list replaces that of the environment
	}
	var p uri.URI
	switch {
	case n.noProxy == "*":
		opts.NoProxy = ""
	case n.proxy == "":
		return nil
	default:
		text := n.proxy
		if !strings.Contains(text, "://") {
			text = "http://" + text
		}
		var err error
		if p, err = uri.ParseLoose(text); err != nil {
			return usage("--proxy: %v", err)
		}
		if p.Host() == "" {
			return usage("--proxy: %s has no host", p.Redacted())
		}
		if !n.set.Changed("no-proxy") {
			opts.NoProxy = cmp.Or(os.Getenv("no_proxy"), os.Getenv("NO_PROXY"))
		}
		if !opts.Policy.AllowPrivate {
			logger.Warn("jobs with host names are refused, because the proxy would resolve the names; " +
				"--allow-private allows them")
		}
	}
	opts.Proxy = func(uri.URI) (uri.URI, error) { return p, nil }
	return nil
}

func hint(e *fetch.Error) string {
	switch e.Reason.Kind {
	case fetch.ReasonPrivate:
		return "start the worker with --allow-private to allow it"
	case fetch.ReasonPort:
		return fmt.Sprintf("start the worker with --allow-port %d to allow it", e.Reason.Port)
	case fetch.ReasonProxy:
		return "start the worker with --allow-private to let the proxy resolve names, or with --no-proxy"
	case fetch.ReasonHostKey:
		return e.Hint + " (~/.ssh/known_hosts of the worker, or --known-hosts FILE)"
	}
	return e.Hint
}
