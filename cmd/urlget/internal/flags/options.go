package flags

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/ftp"
	"github.com/urlget/urlget/protocols/gemini"
	"github.com/urlget/urlget/protocols/gopher"
	"github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/protocols/ipfs"
	"github.com/urlget/urlget/protocols/nfs"
	"github.com/urlget/urlget/protocols/nntp"
	"github.com/urlget/urlget/protocols/s3"
	"github.com/urlget/urlget/protocols/sftp"
	"github.com/urlget/urlget/protocols/wais"
)

// Options holds the values of all flags, by purpose.
type Options struct {
	Output  Output
	Log     Log
	Report  Report
	Listing Listing
	Lock    LockFile
	List    URLList
	Many    Many
	Tree    Tree
	Archive Archive
	Request Request
	Send    Send
	Cookies Cookies
	HSTS    HSTS
	Network Network
	Proxy   Proxy
	Trust   Trust
	Login   Login
	Limits  Limits
	Mail    Mail
	Driver  Driver
	Serve   Pages
	Config  Config
	Head    bool
	Version bool

	set *pflag.FlagSet // of the command that runs
}

// Output holds the options for the destination of content.
type Output struct {
	Document     string
	Dir          string
	Continue     bool
	Newer        bool
	NoClobber    bool
	Sync         download.Sync
	Checksum     string
	SHA256       bool
	ErrorContent bool
}

// Exists returns the handling of an existing file.
func (o *Options) Exists() download.Exists {
	switch {
	case o.Output.NoClobber:
		return download.Skip
	case o.Output.Newer: // also with -c, which then resumes only NAME.part
		return download.Newer
	case o.Output.Continue:
		return download.Resume
	case o.Output.Document != "":
		return download.Overwrite
	}
	return download.NewName
}

// Log holds the options for the destination of messages.
type Log struct {
	File, Append string
	Background   bool
	Brief        bool
}

// Report holds the options for messages and events.
type Report struct {
	Quiet, Verbose bool
	JSON           bool
	Replies, Trace bool
	Fields         bool // header fields, with --head
	Licenses       bool // of the modules, with the command version
	Color          ColorMode
	Progress       ProgressMode
}

// Values of --color.
const (
	ColorAuto ColorMode = iota
	ColorAlways
	ColorNever
)

// A ColorMode controls when to use colors.
type ColorMode uint8

// Values of --progress.
const (
	ProgressBar ProgressMode = iota
	ProgressPlain
	ProgressJSON // events on standard error
	ProgressNone
)

// A ProgressMode is a way to show progress.
type ProgressMode uint8

// Listing holds the options for printed listings.
type Listing struct{ Human, Long, Recursive bool }

// LockFile holds the options for lock files.
type LockFile struct {
	File          string // of --locked
	Check, Update bool   // the file to lock is itself a lock file
}

// URLList holds the options for the list of URLs.
type URLList struct {
	File    string // a URL, or "-" for standard input
	HTML    bool   // HTML page
	Base    string
	BaseURL uri.URI // Base
}

// Many holds the options for parallel transfers.
type Many struct {
	Jobs, PerHost       int
	Parallel            bool // -Z
	Wait                time.Duration
	RandomWait          bool
	Quota, HostRate     int64
	KeepGoing, FailFast bool
	Segments            int
	Metalink            bool
	GlobRanges          bool
}

// Tree holds the options for recursive retrieval.
type Tree struct {
	Recursive, Mirror, Requisites, Spider bool
	Level                                 int // 0 is unlimited
	NoParent, Span, Sitemaps, NoRobots    bool
	Accept, Reject, Types                 []string
	Domains, NoDomains, NoDirs            []string
	AcceptURL, RejectURL                  string
	NoHost, Flat, Force                   bool
	CutDirs                               int
	Delete                                int // percentage of the files; 0 is none
	Convert, Originals, AdjustExtension   bool
	State                                 string
}

// On reports whether recursive retrieval is enabled.
func (t *Tree) On() bool { return t.Recursive || t.Mirror || t.Requisites || t.Spider }

// Archive holds the options for recorded and replayed archives.
type Archive struct {
	WARC       string
	Append     bool
	MaxSize    int64
	Index      bool
	Dedup      string
	Plain      bool
	Replay     []string
	ReplayOnly bool
	Near       bool
	At         time.Time
	TimeGates  []string
	Cache      string
	Offline    bool
	Within     time.Duration
}

// Request holds the options for requests.
type Request struct {
	Agent    string
	Header   []string
	Referer  string
	Range    string
	View     string
	LineEnds fetch.LineEnds
}

// Send holds the options for request bodies.
type Send struct {
	Method   string
	Data     []string
	PostFile string
	Form     []FormValue
}

// Cookies holds the names of cookie files.
type Cookies struct {
	Both, Load, Save string
	Session          bool // also save session cookies
}

// HSTS holds the options for hosts that want https only.
type HSTS struct {
	File string
	Off  bool
}

// DefaultHSTSFile returns the path of the file of such hosts, or "" without a home directory.
func DefaultHSTSFile() string {
	return userFile("XDG_STATE_HOME", filepath.Join(".local", "state"), "hsts")
}

// Network holds the options for connections.
type Network struct {
	Tries                                int
	RetryWait, MaxTime                   time.Duration
	Timeout, ConnectTimeout, ReadTimeout time.Duration
	SpeedLimit                           int64
	SpeedTime                            time.Duration
	MaxRedirect                          int
	Rate                                 int64
	Resolve                              []string
	IPv4, IPv6                           bool
	Bind                                 string
}

// Proxy holds the options for proxies and gateways.
type Proxy struct {
	URL        string
	Tunnel     bool
	None       string // hosts, or "*" for all
	SOCKS5     string
	Gateways   []string
	NoGateways bool // disable the default gateways
}

// Trust holds the options for certificates.
type Trust struct {
	Insecure             bool
	CA, Certificate, Key string
	Pinned               Pins
}

// Login holds the credentials of the user.
type Login struct {
	User, Password string
	PasswordFile   string
	HasUser        bool // User is known, perhaps as ""
	HasPassword    bool // Password is known, perhaps as ""
	Ask            bool
	Netrc, NoNetrc bool
	NetrcFile      string
}

// Limits holds the safety limits.
type Limits struct {
	MaxSize   int64
	Ports     []uint16
	Redirects []string
	Private   bool
}

// Mail holds the options for messages.
type Mail struct {
	Compose, Parts, Text bool
	Part                 int
}

// Extracts reports whether a part of a message is requested.
func (m *Mail) Extracts() bool { return m.Part > 0 || m.Text }

// Driver holds the options of the drivers.
type Driver struct {
	Conns      int // maximum open connections per server
	Web        http.Options
	HTTP1      bool // at most one of these is set
	HTTP2      bool
	HTTP3      bool
	FTP        ftp.Options
	Gemini     gemini.Options
	Gopher     gopher.Options
	IPFS       ipfs.Options
	Mailboxes  []string
	News       nntp.Options
	NFS        nfs.Options
	Programs   map[string]string
	S3         s3.Options
	SSH        sftp.Options
	WAIS       wais.Options
	Login      bool
	Transcript string
	TermType   string // terminal type for sessions; "" is that of the environment
}

// AnyPort is the default address of serve: a free port of the loopback interface.
const AnyPort = "127.0.0.1:0"

// Pages holds the options of serve.
type Pages struct {
	Listen, Bookmarks, History string
	Open, Terminal             bool
	Proxy                      string // be a proxy instead, at this address or, for AnyPort, at Listen
	Downgrade                  bool
	Authority, Login           string
	WebDAV                     bool     // serve a tree over WebDAV instead
	Queue                      []string // of queue watch; nil for no page of a queue
}

// Config holds the options for the configuration file.
type Config struct {
	File string
	None bool
}

const (
	defaultJobs      = 4
	defaultRedirects = 20
	defaultTries     = 5
)

// New returns options with their defaults.
func New() *Options {
	o := &Options{
		Many:    Many{Jobs: defaultJobs},
		Tree:    Tree{Level: 5},
		Network: Network{Tries: defaultTries, RetryWait: time.Minute, MaxRedirect: defaultRedirects},
		Serve:   Pages{Listen: AnyPort},
	}
	o.Driver.Gemini.Certificates = userFile("XDG_DATA_HOME", filepath.Join(".local", "share"), "certificates")
	return o
}

// Complete derives the values that depend on several flags: the credentials, the base URL of the list
// and the number of parallel transfers. Call Check first.
func (o *Options) Complete() error {
	l, m := &o.Login, &o.Many
	user, password, colon := strings.Cut(l.User, ":")
	l.User, l.HasUser = user, user != "" || colon
	l.HasPassword = password != "" || o.Given("password") || l.PasswordFile != ""
	var err error
	switch {
	case password != "":
		l.Password = password
	case l.PasswordFile != "":
		if l.Password, err = FirstLine(l.PasswordFile); err != nil {
			return failure.File(err)
		}
	}
	if m.Parallel {
		m.Jobs = 8
	}
	o.Driver.Conns = max(m.Jobs, m.Segments, 0)
	if o.List.Base == "" {
		return nil
	}
	if o.List.BaseURL, err = uri.ParseLoose(o.List.Base); err != nil || !o.List.BaseURL.IsAbs() {
		return failure.Usagef("--base: %s is not an absolute URL", fetch.Printable(o.List.BaseURL.Redacted()))
	}
	return nil
}

// Use sets the flag set of the running command.
func (o *Options) Use(set *pflag.FlagSet) { o.set = set }

// Set returns the flag set of the running command, or nil.
func (o *Options) Set() *pflag.FlagSet { return o.set }

// Grows reports whether the number of parallel transfers grows while the servers keep up. The user's
// numbers and delays are not exceeded.
func (o *Options) Grows() bool {
	m := &o.Many
	return !o.Given("jobs") && !m.Parallel && m.PerHost == 0 && m.Wait == 0
}

// HostsGrow reports whether the number for one host also grows. It does not for links of pages.
func (o *Options) HostsGrow() bool { return o.Grows() && !o.List.HTML && !o.Tree.On() }

// Given reports whether the command line or the configuration file sets a flag.
func (o *Options) Given(name string) bool { return o.set != nil && o.set.Changed(name) }

// ConfigFile returns the path of the named configuration file, or "" without a home directory.
func ConfigFile(name string) string { return userFile("XDG_CONFIG_HOME", ".config", name) }

// userFile returns the path of a file by the XDG Base Directory Specification: in the directory of an
// environment variable, or else below the home directory. It returns "" without a home directory.
func userFile(variable, below, name string) string {
	dir := os.Getenv(variable)
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, below)
	}
	return filepath.Join(dir, "urlget", name)
}
