package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/protocols/external"
	"github.com/urlget/urlget/protocols/ftp"
	"github.com/urlget/urlget/protocols/gemini"
	"github.com/urlget/urlget/protocols/gopher"
	"github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/protocols/imap"
	"github.com/urlget/urlget/protocols/ldap"
	"github.com/urlget/urlget/protocols/mailto"
	"github.com/urlget/urlget/protocols/mid"
	"github.com/urlget/urlget/protocols/nfs"
	"github.com/urlget/urlget/protocols/nntp"
	"github.com/urlget/urlget/protocols/pop"
	"github.com/urlget/urlget/protocols/sftp"
	"github.com/urlget/urlget/protocols/telnet"
	"github.com/urlget/urlget/protocols/wais"
	"github.com/urlget/urlget/protocols/ws"
	"github.com/urlget/urlget/protocols/z3950"
)

// This file is the only one that may name schemes: it sets the options of drivers.

// guessed is the scheme of what is written like a web address without one, and guessedWithPort that
// of one with a port other than that of TLS.
const (
	guessed         = "https"
	guessedWithPort = "http"
)

// A greeting is how servers of another protocol begin, as it stands in an error.
type greeting struct {
	text   string // in the error
	scheme string // of the protocol
	hint   string // URL stands for the URL with that scheme
}

var greetings = []greeting{
	{`SSH-`, "sftp", "SSH servers greet like that: try URL"},
	{`\x15\x03`, "https", "the server speaks TLS: try URL"},
	{`ftp`, "ftp", "FTP servers greet like that: try URL"},
	{`FTP`, "ftp", "FTP servers greet like that: try URL"},
	{`HTTP/1.`, "http", "that is HTTP: try URL"},
	{`does not speak HTTP`, "", "is the port right? another service listens there"},
}

// defaultGateways retrieve what persistent names mean, from the resolvers that those who give the
// names keep for everybody. --gateway takes their place, name by name.
func defaultGateways() map[string]string {
	return map[string]string{
		"doi":          "https://doi.org/",
		"hdl":          "https://hdl.handle.net/",
		"urn:ietf:rfc": "https://www.rfc-editor.org/rfc/rfc{}.txt",
	}
}

// perHost returns how many transfers one host gets at once if the user does not say it: what
// browsers take of HTTP, and little of what makes a session of each connection.
func perHost(scheme string) int {
	switch scheme {
	case "http", "https":
		return 6
	}
	return 2
}

// isAnswer reports whether what comes by a scheme is an answer to a question, which people read and
// do not keep.
func isAnswer(scheme string) bool {
	switch scheme {
	case "finger", "whois", "dict", "cso":
		return true
	}
	return false
}

// minConns is how many connections with one server every driver makes if they are needed.
const minConns = 4

// settings are what the flags say.
type settings struct {
	// What is done with the content.
	output           string
	dir              string
	resume, newer    bool
	keep             bool // -nc
	rng              string
	view             string
	checksum         string
	sha256           bool
	sync             download.Sync
	errorContent     bool
	tries            int
	retryWait        seconds
	many             many
	list             listFlags
	send             sending
	cookies          cookieFiles
	log              logging
	pinned           pins
	maxTime          seconds
	socks5           string
	configFile       string
	noConfig         bool
	referer          string
	json             bool
	quiet, verbose   bool
	fields           bool // stat prints the reply's
	replies, trace   bool
	colors           colorMode
	human, long      bool
	recursive        bool // ls -R
	progress         progressMode
	timeout          seconds
	connect, read    seconds
	agent            string
	header           []string
	user, password   string
	passwordFile     string
	hasPassword      bool // if it is known, empty as it may be
	ask              bool
	netrc, noNetrc   bool
	netrcFile        string
	insecure         bool
	ca, cert, key    string
	maxSize, rate    size
	lineEnds         fetch.LineEnds
	maxRedirect      int
	proxy            string
	tunnel           bool
	noProxy          string
	gateway, resolve []string
	bareNames        bool // no default gateways
	ipv4, ipv6       bool
	bind             string
	ports            ports
	redirects        redirects
	private          bool
	compose          bool
	parts, text      bool
	part             number

	tree    treeSettings
	driver  driverSettings
	archive archiveSettings

	flags *pflag.FlagSet // of the command that runs
}

// given reports whether the user wrote the flag.
func (s *settings) given(name string) bool { return s.flags != nil && s.flags.Changed(name) }

// driverSettings are what flags say to drivers.
type driverSettings struct {
	conns      int // with one server that there may be at once; where it matters, more than a few
	web        http.Options
	http3      bool
	ftp        ftp.Options
	gemini     gemini.Options
	gopher     gopher.Options
	mailboxes  []string
	news       nntp.Options
	nfs        nfs.Options
	programs   programs
	ssh        sftp.Options
	wais       wais.Options
	login      bool
	transcript transcript
	termType   string // to tell servers of sessions; "" is that of the environment
}

// addDriverFlags defines the flags that belong to drivers.
func addDriverFlags(f *pflag.FlagSet, d *driverSettings) {
	f.BoolVar(&d.web.HTTP1, "http1", false, "speak HTTP/1.1, also to servers that have HTTP/2")
	f.BoolVar(&d.web.HTTP2, "http2", false, "insist on HTTP/2 with servers of https; without it, a single URL comes by HTTP/1.1")
	f.BoolVar(&d.http3, "http3", false, "ask servers of https by HTTP/3 first, and by TCP where that fails")
	f.BoolVar(&d.web.Compressed, "compressed", false, "ask HTTP servers for compressed content, and decode it")
	f.BoolVar(&d.ftp.Active, "ftp-active", false, "let FTP servers connect to us for data (EPRT, PORT)")
	f.StringVar(&d.ftp.Account, "ftp-account", "", "tell FTP servers that ask for it the account `NAME`")
	f.Var(&choice[ftp.TLSMode]{&d.ftp.TLS, []string{ftp.TLSOff: "off", ftp.TLSTry: "try", ftp.TLSRequire: "require"}},
		"ftp-tls", "ask FTP servers for TLS: `MODE` is try, require or off")
	f.Var(&choice[ftp.Pipelining]{&d.ftp.Pipelining,
		[]string{ftp.PipeliningAuto: "auto", ftp.PipeliningOn: "on", ftp.PipeliningOff: "off"}},
		"ftp-pipelining", "send FTP commands ahead of replies: `MODE` is auto, on or off")
	f.BoolVar(&d.ftp.GuessType, "ftp-guess-type", false, "retrieve by FTP as text what its suffix says is text")
	f.StringVar(&d.gemini.Certificates, "tofu", knownCertificates(), "remember the certificates of Gemini servers in `FILE`")
	if home, err := os.UserHomeDir(); err == nil { // help and man pages are for everybody
		tofu := f.Lookup("tofu")
		tofu.DefValue = strings.Replace(tofu.DefValue, home, "~", 1)
	}
	f.BoolVar(&d.gopher.Attributes, "attributes", false, "ask Gopher+ servers for the attributes of items, not their content")
	f.StringVar(&d.news.Server, "news-server", "", "look news up at `SERVER` (host, host:port or URL); else $NNTPSERVER")
	f.Var((*number)(&d.wais.MaxHits), "max-hits", "ask WAIS servers for the best `N` documents of a search, not 100")
	f.Var((*number)(&d.news.Newest), "newest", "list only the last `N` articles of a newsgroup")
	f.Var((*date)(&d.news.Since), "since", "list only articles since `DATE`, such as 2026-01-31 or 2026-01-31T12:00:00Z")
	f.BoolVar(&d.news.StartTLS, "starttls", false, "begin TLS with news, mail and LDAP servers before anything else is said")
	f.BoolVar(&d.news.AllowPlaintext, "allow-plaintext-login", false, "let passwords travel to servers of news, mail, LDAP and Z39.50 without TLS")
	f.Var((*several)(&d.mailboxes), "mailbox", "find messages in `FILE`, an mbox or Maildir")
	f.Var((*several)(&d.ssh.Identities), "identity", "log in to SSH servers with the private key in `FILE`")
	f.Var((*several)(&d.ssh.KnownHosts), "known-hosts", "know SSH servers by the keys in `FILE`, not those in ~/.ssh/known_hosts")
	f.BoolVar(&d.ssh.NoConfig, "no-ssh-config", false, "do not read ~/.ssh/config")
	f.Var((*nfsUser)(&d.nfs), "nfs-user", "ask NFS servers as user `UID[:GID,...]`, not as nobody")
	f.Uint16Var(&d.nfs.MountPort, "nfs-mount-port", 0, "find what NFS servers export at port `N`, without their port mapper")
	f.BoolVar(&d.login, "login", false, "log in to sessions with the user and password of the URL, in clear")
	f.StringVar(&d.transcript.name, "transcript", "", "keep both directions of sessions in `FILE`, passwords too")
	f.Var(&d.programs, "driver", "let a program serve an experimental scheme, as in `x-SCHEME=PROGRAM`")
}

// knownCertificates returns the file for the certificates of servers that are trusted since they
// were met first, as the XDG Base Directory Specification has it; "" if nobody has a home.
func knownCertificates() string {
	data := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		data = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(data, "urlget", "certificates")
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

// Write appends to the file, which only its owner may read, also if it was there before: it holds
// what was typed. It stays open as long as the program runs.
func (t *transcript) Write(p []byte) (int, error) {
	if t.file == nil {
		file, err := os.OpenFile(t.name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return 0, err
		}
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			if err := file.Chmod(0o600); err != nil && runtime.GOOS != "windows" {
				file.Close()
				return 0, err
			}
		}
		t.file = file
	}
	return t.file.Write(p)
}

// composeDraft returns the message that a URL proposes.
func composeDraft(u uri.URI) ([]byte, error) { return mailto.Draft(u) }

// config returns the options of the drivers. piped says that what is sent to sessions is not typed:
// it is text, whose lines end on the network with CR LF. p asks the user at the terminal.
func (s *settings) config(piped bool, p prompt) protocols.Config {
	d, user := &s.driver, s.user
	web := &d.web
	web.MaxIdle = d.conns
	if s.cookies.jar != nil {
		web.Jar = s.cookies.jar
	}
	d.ssh.User = user
	d.ssh.TrustKey = func(ctx context.Context, key sftp.HostKey) (bool, error) {
		if !p.possible() {
			return false, nil
		}
		answer, err := p.ask(ctx, "The SSH server "+key.Host+" is not known. Its key is\n"+key.Fingerprint+" ("+key.Type+").\nTrust it from now on (yes/no)? ", false)
		return strings.EqualFold(strings.TrimSpace(answer), "yes"), err
	}
	d.ssh.Passphrase = func(ctx context.Context, file string) (string, error) {
		return p.ask(ctx, "Passphrase of "+fetch.Printable(file)+": ", true)
	}
	if d.conns > minConns {
		d.ftp.MaxConns, d.news.MaxConns = d.conns, d.conns
	}
	return protocols.Config{
		External: &external.Options{Programs: d.programs},
		FTP:      &d.ftp,
		Gemini:   &d.gemini,
		Gopher:   &d.gopher,
		HTTP:     web,
		HTTP3:    d.http3,
		IMAP:     &imap.Options{StartTLS: d.news.StartTLS, AllowPlaintext: d.news.AllowPlaintext},
		LDAP:     &ldap.Options{StartTLS: d.news.StartTLS, AllowPlaintext: d.news.AllowPlaintext},
		Mailto:   &mailto.Options{Mailboxes: d.mailboxes},
		Mid:      &mid.Options{Mailboxes: d.mailboxes},
		NFS:      &d.nfs,
		NNTP:     &d.news,
		Z3950:    &z3950.Options{AllowPlaintext: d.news.AllowPlaintext},
		POP:      &pop.Options{StartTLS: d.news.StartTLS, AllowPlaintext: d.news.AllowPlaintext},
		SFTP:     &d.ssh,
		WAIS:     &d.wais,
		WS:       &ws.Options{Jar: web.Jar},
		Telnet:   &telnet.Options{CRLF: piped, Login: d.login, TermType: d.termType, Transcript: d.transcript.writer()},
	}
}

// nfsUser is the value of --nfs-user: a user, and the groups that the user is in.
type nfsUser nfs.Options

func (u *nfsUser) String() string { return "" }
func (u *nfsUser) Type() string   { return "user" }

// Set parses a user such as 1000, 1000:100 or 1000:100,27.
func (u *nfsUser) Set(text string) error {
	uid, gids, grouped := strings.Cut(text, ":")
	all := []string{uid}
	if grouped {
		all = append(all, strings.Split(gids, ",")...)
	}
	ids := make([]uint32, len(all))
	for i, id := range all {
		n, err := strconv.ParseUint(id, 10, 32)
		if err != nil {
			return errors.New("want numbers such as 1000 or 1000:100,27")
		}
		ids[i] = uint32(n)
	}
	u.User = &nfs.User{UID: ids[0], GID: ids[0]}
	if grouped {
		u.User.GID, u.User.GIDs = ids[1], ids[2:]
	}
	return nil
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

// redirects is the value of --allow-redirect, which may be given several times.
type redirects []string

func (r *redirects) String() string { return "" }
func (r *redirects) Type() string   { return "scheme" }

func (r *redirects) Set(text string) error {
	for _, word := range strings.Split(strings.ToLower(text), ",") {
		if u, err := uri.Parse(word + ":x"); err != nil || u.Scheme() != word {
			return errors.New("want a scheme such as gopher")
		}
		if word == "data" {
			return errors.New("redirects to data are never followed")
		}
		*r = append(*r, word)
	}
	return nil
}

// A choice is the value of a flag that takes one of some words, which are in the order of the
// constants that they stand for.
type choice[T ~uint8] struct {
	value *T
	words []string
}

func (c *choice[T]) String() string { return c.words[*c.value] }
func (c *choice[T]) Type() string   { return "mode" }

func (c *choice[T]) Set(text string) error {
	i := slices.Index(c.words, text)
	if i < 0 {
		last := len(c.words) - 1
		return errors.New("want " + strings.Join(c.words[:last], ", ") + " or " + c.words[last])
	}
	*c.value = T(i)
	return nil
}

// addFlags defines the flags of all commands that look at URLs.
func addFlags(f *pflag.FlagSet, s *settings) {
	f.BoolVarP(&s.quiet, "quiet", "q", false, "print nothing but errors and what was asked for")
	f.BoolVarP(&s.verbose, "verbose", "v", false, "say more: decisions, and where the entries of listings lead")
	f.BoolVar(&s.json, "json", false, "print JSON Lines on standard output")
	f.Var(&choice[colorMode]{&s.colors, []string{"auto", "always", "never"}}, "color", "colour messages: `MODE` is auto, always or never")
	f.Var(&choice[progressMode]{&s.progress, []string{"bar", "plain", "json", "none"}}, "progress", "show how transfers go: `MODE` is bar, plain, json or none")
	addListingFlags(f, s)

	f.StringVarP(&s.agent, "user-agent", "U", "", "call yourself `AGENT`")
	f.VarP((*several)(&s.header), "header", "H", "send a header field, as in `'Name: value'`")
	f.StringVar(&s.referer, "referer", "", "say that `URL` led here")
	f.StringVarP(&s.user, "user", "u", "", "log in as `USER`, or with USER:PASSWORD")
	f.StringVar(&s.password, "password", "", "log in with `PASSWORD`")
	f.StringVar(&s.passwordFile, "password-file", "", "log in with the password in the first line of `FILE`")
	f.BoolVar(&s.ask, "ask-password", false, "ask for the password at the terminal")
	f.BoolVar(&s.netrc, "netrc", false, "insist on the netrc file in the home directory")
	f.StringVar(&s.netrcFile, "netrc-file", "", "take logins from `FILE`")
	f.BoolVar(&s.noNetrc, "no-netrc", false, "do not read the netrc file")

	f.Var((*lineEnds)(&s.lineEnds), "text-line-ends", "let the lines of text end as `HOW` says, in every protocol: lf, crlf or as-is")
	f.StringVar(&s.view, "view", "", "ask for the view `TYPE` of what has several, as in 'text/html;lang=De_DE'")
	addSendFlags(f, s)
	addCookieFlags(f, s)
	addConfigFlags(f, s)
	addLogFlags(f, s)

	f.StringVar(&s.proxy, "proxy", "", "go through the proxy at `URL` (http, https, connect, socks4, socks4a, socks5)")
	f.StringVar(&s.noProxy, "no-proxy", "", "use no proxy, or none for the hosts in `LIST`, as in no_proxy")
	f.Lookup("no-proxy").NoOptDefVal = "*"
	f.StringVar(&s.socks5, "socks5", "", "go through the SOCKS5 proxy at `HOST:PORT`, which resolves names")
	f.BoolVar(&s.tunnel, "proxy-tunnel", false, "tunnel everything through an http proxy by CONNECT")
	f.Var((*several)(&s.gateway), "gateway", "retrieve URLs of a scheme from a gateway, as in `SCHEME=URL`")
	f.BoolVar(&s.bareNames, "no-default-gateways", false, "do not ask the public resolvers of doi, hdl and urn:ietf:rfc")

	f.BoolVar(&s.trace, "trace", false, "print the protocol conversation on standard error, secrets masked")
	addDriverFlags(f, &s.driver)
}

// addListFlags defines the flags that only listings have.
func addListFlags(f *pflag.FlagSet, s *settings) {
	f.BoolVarP(&s.long, "long", "l", false, "show modes, targets of links, numbers and authors of articles")
	f.BoolVarP(&s.human, "human-readable", "h", false, "print sizes as 1.5K, 23M")
	f.BoolVarP(&s.recursive, "recursive", "R", false, "list what is below too")
	f.Bool("help", false, "print the help")
}

// addAcceptedFlags defines flags of wget and curl that name how it always works here.
func addAcceptedFlags(f *pflag.FlagSet, _ *settings) {
	for _, name := range []string{"location L", "fail f", "remote-header-name J", "content-disposition", "trust-server-names", "show-error"} {
		long, letter, _ := strings.Cut(name, " ")
		f.BoolP(long, letter, false, "")
		f.Lookup(long).Hidden = true
	}
}

// addNetworkFlags defines the flags of the commands that use the network.
func addNetworkFlags(f *pflag.FlagSet, s *settings) {
	f.BoolVarP(&s.replies, "server-response", "S", false, "print the servers' replies as they were sent")

	f.VarP(&s.timeout, "timeout", "T", "wait at most `SECONDS` for a connection, a reply, more data")
	f.Var(&s.connect, "connect-timeout", "wait at most `SECONDS` for a connection")
	f.Var(&s.read, "read-timeout", "wait at most `SECONDS` for a reply or more data")
	f.Var(&s.maxTime, "max-time", "give up a URL that is not done within `SECONDS`")
	s.retryWait = seconds(time.Minute)
	s.tries = defaultTries
	f.VarP(&count{&s.tries, 0, 0}, "tries", "t", "try `N` times; 0 is without end")
	f.Var(&s.retryWait, "retry-max-wait", "give up if a server asks to wait longer than `SECONDS`")

	f.BoolVar(&s.insecure, "insecure", false, "do not check certificates")
	f.BoolVar(&s.insecure, "no-check-certificate", false, "the same as --insecure")
	f.StringVar(&s.ca, "ca-certificate", "", "trust the certificate authorities in `FILE` (PEM) and no others")
	f.StringVar(&s.cert, "certificate", "", "show the certificate in `FILE` (PEM)")
	f.Var(&s.pinned, "pinned", "insist on the server's public key, as in `sha256//BASE64`")
	f.StringVar(&s.key, "private-key", "", "its private key is in `FILE` (PEM); else with the certificate")

	f.Var(&s.maxSize, "max-size", "refuse what is larger than `SIZE`, decoded or not")
	s.maxRedirect = defaultRedirects
	f.Var(&count{&s.maxRedirect, 0, -1}, "max-redirect", "follow at most `N` redirects")

	f.Var((*several)(&s.resolve), "resolve", "take an address for a host, as in `HOST:PORT:ADDR`")
	f.BoolVarP(&s.ipv4, "inet4-only", "4", false, "use only IPv4")
	f.BoolVarP(&s.ipv6, "inet6-only", "6", false, "use only IPv6")
	f.StringVar(&s.bind, "bind-address", "", "connect from the local `ADDRESS`")
	f.Var(&s.rate, "limit-rate", "receive at most `SIZE` a second")
}

// addPolicyFlags defines the flags that loosen the rules of safety.
func addPolicyFlags(f *pflag.FlagSet, s *settings) {
	f.Var(&s.ports, "allow-port", "allow port `N`, which belongs to another service")
	f.Var(&s.redirects, "allow-redirect", "follow redirects to `SCHEME` too, besides http, https, ftp and ftps")
	f.BoolVar(&s.private, "allow-private", false, "let public resources lead to private addresses")
}

// addOutputFlags defines the flags that say where content goes.
func addOutputFlags(f *pflag.FlagSet, s *settings) {
	f.StringVarP(&s.output, "output-document", "O", "", "write to `FILE`; \"-\" is standard output")
	f.StringVarP(&s.dir, "directory-prefix", "P", "", "save files in `DIR`")
}

const (
	defaultRedirects = 20
	defaultTries     = 5
)

// socksURL reads the value of --socks5.
func socksURL(hostport string) (uri.URI, error) { return proxyURL("socks5://"+hostport, false) }

// proxyURL reads the value of --proxy.
func proxyURL(text string, tunnel bool) (uri.URI, error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
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
