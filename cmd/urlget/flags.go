package main

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/protocols/external"
	"github.com/urlget/urlget/protocols/ftp"
	"github.com/urlget/urlget/protocols/gopher"
	"github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/protocols/ldap"
	"github.com/urlget/urlget/protocols/mailto"
	"github.com/urlget/urlget/protocols/mid"
	"github.com/urlget/urlget/protocols/nntp"
	"github.com/urlget/urlget/protocols/telnet"
)

// This file is the only one that may name schemes: it sets the options of
// drivers.

// guessed is the scheme of what is written like a web address without one.
const guessed = "https"

// settings are what the flags say.
type settings struct {
	// What is done with the content.
	output           string
	dir              string
	resume, newer    bool
	keep             bool // -nc
	rng              string
	checksum         string
	tries            int
	wait             seconds
	input            string
	form, formFile   []string
	json             bool
	quiet, verbose   bool
	replies, trace   bool
	timeout          seconds
	connect, read    seconds
	agent            string
	header           []string
	user, password   string
	ask              bool
	netrc, noNetrc   bool
	netrcFile        string
	insecure         bool
	ca, cert, key    string
	maxSize, rate    size
	maxRedirect      int
	proxy            string
	noProxy, tunnel  bool
	gateway, resolve []string
	ipv4, ipv6       bool
	bind             string
	ports            ports
	private          bool
	compose          bool
	parts, text      bool
	part             number

	driver driverSettings

	flags *pflag.FlagSet // of the command that runs
}

// given reports whether the user wrote the flag.
func (s *settings) given(name string) bool { return s.flags != nil && s.flags.Changed(name) }

// driverSettings are what flags say to drivers.
type driverSettings struct {
	compressed bool
	ftp        ftp.Options
	gopher     gopher.Options
	mailboxes  []string
	news       nntp.Options
	programs   programs
	login      bool
	transcript transcript
}

// addDriverFlags defines the flags that belong to drivers.
func addDriverFlags(f *pflag.FlagSet, d *driverSettings) {
	f.BoolVar(&d.compressed, "compressed", false, "ask HTTP servers for compressed content, and decode it")
	f.BoolVar(&d.ftp.Active, "ftp-active", false, "let FTP servers connect to us for data (EPRT, PORT)")
	f.StringVar(&d.ftp.Account, "ftp-account", "", "tell FTP servers that ask for it the account `NAME`")
	f.Var((*ftpTLS)(&d.ftp.TLS), "ftp-tls", "ask FTP servers for TLS: `MODE` is try, require or off")
	f.BoolVar(&d.ftp.GuessType, "ftp-guess-type", false, "retrieve by FTP as text what its suffix says is text")
	f.BoolVar(&d.ftp.TextLineEnds, "ftp-text", false, "give text retrieved by FTP local line ends")
	f.StringVar(&d.gopher.View, "view", "", "ask Gopher+ servers for the view `TYPE`, as in 'text/html;lang=De_DE'")
	f.BoolVar(&d.gopher.Attributes, "attributes", false, "ask Gopher+ servers for the attributes of items, not their content")
	f.StringVar(&d.news.Server, "news-server", "", "look news up at `SERVER` (host, host:port or URL); else $NNTPSERVER")
	f.Var((*number)(&d.news.Newest), "newest", "list only the last `N` articles of a newsgroup")
	f.Var((*date)(&d.news.Since), "since", "list only articles since `DATE`, such as 2026-01-31 or 2026-01-31T12:00:00Z")
	f.BoolVar(&d.news.UnixLines, "unix-lines", false, "deliver news with LF at the ends of lines, not CR LF")
	f.BoolVar(&d.news.StartTLS, "starttls", false, "begin TLS with news and LDAP servers before anything else is said")
	f.BoolVar(&d.news.AllowClear, "allow-clear", false, "let passwords travel to news and LDAP servers without TLS")
	f.StringArrayVar(&d.mailboxes, "mailbox", nil, "find messages in `FILE`, an mbox or Maildir")
	f.BoolVar(&d.login, "login", false, "log in to sessions with the user and password of the URL, in clear")
	f.StringVar(&d.transcript.name, "transcript", "", "keep both directions of sessions in `FILE`, passwords too")
	f.Var(&d.programs, "driver", "let a program serve an experimental scheme, as in `x-SCHEME=PROGRAM`")
}

// A transcript is a file that begins to exist when something is written to it.
type transcript struct {
	name string
	file *os.File
}

// writer returns nil if no file is wanted.
func (t *transcript) writer() io.Writer {
	if t.name == "" {
		return nil
	}
	return t
}

// Write appends to the file, which only its owner may read: it holds what was
// typed. It stays open as long as the program runs.
func (t *transcript) Write(p []byte) (int, error) {
	if t.file == nil {
		file, err := os.OpenFile(t.name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return 0, err
		}
		t.file = file
	}
	return t.file.Write(p)
}

// composeDraft returns the message that a URL proposes.
func composeDraft(u uri.URI) ([]byte, error) { return mailto.Draft(u) }

// config returns the options of the drivers. piped says that what is sent to
// sessions is not typed: it is text, whose lines end on the network with CR LF.
func (d *driverSettings) config(piped bool) protocols.Config {
	return protocols.Config{
		External: &external.Options{Programs: d.programs},
		FTP:      &d.ftp,
		Gopher:   &d.gopher,
		HTTP:     &http.Options{Compressed: d.compressed},
		LDAP:     &ldap.Options{StartTLS: d.news.StartTLS, AllowClear: d.news.AllowClear},
		Mailto:   &mailto.Options{Mailboxes: d.mailboxes},
		Mid:      &mid.Options{Mailboxes: d.mailboxes},
		NNTP:     &d.news,
		Telnet:   &telnet.Options{CRLF: piped, Login: d.login, Transcript: d.transcript.writer()},
	}
}

// programs is the value of --driver.
type programs map[string]string

func (p *programs) String() string { return "" }
func (p *programs) Type() string   { return "scheme=program" }

func (p *programs) Set(text string) error {
	scheme, program, ok := strings.Cut(text, "=")
	if scheme = strings.ToLower(scheme); !ok || program == "" || !strings.HasPrefix(scheme, external.Prefix) {
		return errors.New("want " + external.Prefix + "SCHEME=PROGRAM")
	}
	if *p == nil {
		*p = make(programs)
	}
	(*p)[scheme] = program
	return nil
}

// ftpTLS is the value of --ftp-tls.
type ftpTLS ftp.TLSMode

var ftpTLSModes = []string{ftp.TLSOff: "off", ftp.TLSTry: "try", ftp.TLSRequire: "require"}

func (m *ftpTLS) String() string { return ftpTLSModes[*m] }
func (m *ftpTLS) Type() string   { return "mode" }

func (m *ftpTLS) Set(text string) error {
	i := slices.Index(ftpTLSModes, text)
	if i < 0 {
		return errors.New("want try, require or off")
	}
	*m = ftpTLS(i)
	return nil
}

// addFlags defines the flags of all commands that look at URLs.
func addFlags(f *pflag.FlagSet, s *settings) {
	f.BoolVarP(&s.quiet, "quiet", "q", false, "print nothing but errors and what was asked for")
	f.BoolVarP(&s.verbose, "verbose", "v", false, "say more: decisions, and where the entries of listings lead")
	f.BoolVar(&s.json, "json", false, "print JSON Lines on standard output")
	f.StringVarP(&s.input, "input-file", "i", "", "read URLs from `FILE` (\"-\" for standard input), one a line")

	f.StringVarP(&s.agent, "user-agent", "U", "", "call yourself `AGENT`")
	f.StringArrayVar(&s.header, "header", nil, "send a header field, as in `'Name: value'`")
	f.StringVar(&s.user, "user", "", "log in as `USER`")
	f.StringVar(&s.password, "password", "", "log in with `PASSWORD`")
	f.BoolVar(&s.ask, "ask-password", false, "ask for the password at the terminal")
	f.BoolVar(&s.netrc, "netrc", false, "insist on the netrc file in the home directory")
	f.StringVar(&s.netrcFile, "netrc-file", "", "take logins from `FILE`")
	f.BoolVar(&s.noNetrc, "no-netrc", false, "do not read the netrc file")

	f.StringArrayVar(&s.form, "form", nil, "answer a question of a form, as in `'Name=value'`")
	f.StringArrayVar(&s.formFile, "form-file", nil, "answer with the content of a file, as in `'Name=PATH'`")

	f.StringVar(&s.proxy, "proxy", "", "go through the proxy at `URL` (http, https, connect, socks5, socks5h)")
	f.BoolVar(&s.noProxy, "no-proxy", false, "use no proxy, whatever the environment says")
	f.BoolVarP(&s.tunnel, "proxy-tunnel", "p", false, "tunnel everything through an http proxy by CONNECT")
	f.StringArrayVar(&s.gateway, "gateway", nil, "retrieve URLs of a scheme from a gateway, as in `SCHEME=URL`")

	f.BoolVar(&s.trace, "trace", false, "print the protocol conversation on standard error, secrets masked")
	addDriverFlags(f, &s.driver)
}

// addNetworkFlags defines the flags of the commands that use the network.
func addNetworkFlags(f *pflag.FlagSet, s *settings) {
	f.BoolVarP(&s.replies, "server-response", "S", false, "print the servers' replies and header fields")

	f.VarP(&s.timeout, "timeout", "T", "wait at most `SECONDS` for a connection, a reply, more data")
	f.Var(&s.connect, "connect-timeout", "wait at most `SECONDS` for a connection")
	f.Var(&s.read, "read-timeout", "wait at most `SECONDS` for a reply or more data")

	f.BoolVarP(&s.insecure, "insecure", "k", false, "do not check certificates")
	f.BoolVar(&s.insecure, "no-check-certificate", false, "the same as --insecure")
	f.StringVar(&s.ca, "ca-certificate", "", "trust the certificate authorities in `FILE` (PEM) and no others")
	f.StringVar(&s.cert, "certificate", "", "show the certificate in `FILE` (PEM)")
	f.StringVar(&s.key, "private-key", "", "its private key is in `FILE` (PEM); else with the certificate")

	f.Var(&s.maxSize, "max-size", "refuse what is larger than `SIZE`, decoded or not")
	f.IntVar(&s.maxRedirect, "max-redirect", defaultRedirects, "follow at most `N` redirects")

	f.StringArrayVar(&s.resolve, "resolve", nil, "take an address for a host, as in `HOST:PORT:ADDR`")
	f.BoolVarP(&s.ipv4, "inet4-only", "4", false, "use only IPv4")
	f.BoolVarP(&s.ipv6, "inet6-only", "6", false, "use only IPv6")
	f.StringVar(&s.bind, "bind-address", "", "connect from the local `ADDRESS`")
	f.Var(&s.rate, "limit-rate", "receive at most `SIZE` a second")
}

// addPolicyFlags defines the flags that loosen the rules of safety.
func addPolicyFlags(f *pflag.FlagSet, s *settings) {
	f.Var(&s.ports, "allow-port", "allow port `N`, which belongs to another service")
	f.BoolVar(&s.private, "allow-private", false, "let public resources lead to private addresses")
}

// addOutputFlags defines the flags that say where content goes.
func addOutputFlags(f *pflag.FlagSet, s *settings) {
	f.StringVarP(&s.output, "output-document", "O", "", "write to `FILE`; \"-\" is standard output")
	f.StringVarP(&s.dir, "directory-prefix", "P", "", "save files in `DIR`")
}

// addRetrievalFlags defines the flags that only retrieving files has.
func addRetrievalFlags(f *pflag.FlagSet, s *settings) {
	f.BoolVarP(&s.resume, "continue", "c", false, "continue a file that is incomplete")
	f.BoolVarP(&s.newer, "timestamping", "N", false, "retrieve only what is newer than the file")
	f.BoolVar(&s.keep, "no-clobber", false, "skip what exists as a file (also -nc)")
	f.IntVarP(&s.tries, "tries", "t", defaultTries, "try `N` times; 0 is without end")
	f.VarP(&s.wait, "wait", "w", "wait `SECONDS` between retrievals")
	f.StringVar(&s.rng, "range", "", "retrieve only the octets `A-B`, counted from 0")
	f.StringVar(&s.checksum, "checksum", "", "check the file, as in `ALGO:HEX`")
	f.BoolVar(&s.parts, "parts", false, "list the parts of a message")
	f.Var(&s.part, "part", "retrieve part `N` of a message, decoded")
	f.BoolVar(&s.text, "text", false, "retrieve the readable text of a message")
	f.BoolVar(&s.compose, "compose", false, "print the message that a mail address proposes; send nothing")
}

const (
	defaultRedirects = 20
	defaultTries     = 5
)

// proxyURL reads the value of --proxy.
func proxyURL(text string, tunnel bool) (uri.URI, error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	if rest, ok := strings.CutPrefix(text, "http:"); ok && tunnel {
		text = "connect:" + rest
	}
	p, err := uri.ParseLoose(text)
	switch {
	case err != nil:
		return uri.URI{}, usage("--proxy: %v", err)
	case p.Host() == "":
		return uri.URI{}, usage("--proxy: %s names no host", p.Redacted())
	case tunnel && p.Scheme() == "https":
		return uri.URI{}, usage("--proxy-tunnel needs a proxy that is spoken to in clear (http)")
	}
	return p, nil
}
