package flags

import (
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/ftp"
	"github.com/urlget/urlget/protocols/gemini"
	"github.com/urlget/urlget/protocols/gopher"
	"github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/protocols/nfs"
	"github.com/urlget/urlget/protocols/nntp"
	"github.com/urlget/urlget/protocols/sftp"
	"github.com/urlget/urlget/protocols/wais"
)

// Options are the values of all flags, by purpose.
type Options struct {
	Output  Output
	Log     Log
	Report  Report
	Listing Listing
	List    URLList
	Many    Many
	Tree    Tree
	Archive Archive
	Request Request
	Send    Send
	Cookies Cookies
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

// Output is where content goes.
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

// Exists says what to do with a file that is there already.
func (o *Options) Exists() download.Exists {
	switch {
	case o.Output.NoClobber:
		return download.Skip
	case o.Output.Continue:
		return download.Resume
	case o.Output.Newer:
		return download.Newer
	case o.Output.Document != "":
		return download.Overwrite
	}
	return download.NewName
}

// Log is where messages go.
type Log struct {
	File, Append string
	Background   bool
	Brief        bool
}

// Report is how much is printed, and how.
type Report struct {
	Quiet, Verbose bool
	JSON           bool
	Replies, Trace bool
	Fields         bool // of the reply, as --head wants them
	Color          ColorMode
	Progress       ProgressMode
}

// Listing is how listings are printed.
type Listing struct{ Human, Long, Recursive bool }

// URLList is the list of URLs.
type URLList struct {
	File  string // a URL, or "-" for standard input
	HTML  bool   // it is a page
	Base  string
	Begin uri.URI // Base
}

// Many is how several transfers run.
type Many struct {
	Jobs, PerHost       Number
	Eight               bool // -Z
	Wait                Seconds
	RandomWait          bool
	Quota, HostRate     Size
	KeepGoing, FailFast bool
	Segments            Segments
	Metalink            bool
}

// Tree is what is retrieved recursively, and where it goes.
type Tree struct {
	Recursive, Mirror, Requisites, Spider bool
	Level                                 string
	NoParent, Span, Sitemaps, NoRobots    bool
	Accept, Reject, Types                 []string
	Domains, NoDomains, NoDirs            []string
	AcceptURL, RejectURL                  string
	NoHost, Flat, Force                   bool
	CutDirs                               Number
	Delete, Convert, Originals, Extend    bool
	Commands                              []string
	State                                 string
}

// On reports whether a tree is to be retrieved.
func (t *Tree) On() bool { return t.Recursive || t.Mirror || t.Requisites || t.Spider }

// Archive is about archives: the one to write and those that answer requests.
type Archive struct {
	WARC       string
	MaxSize    Size
	Index      bool
	Dedup      string
	Plain      bool
	Replay     []string
	ReplayOnly bool
	ReplayAt   time.Time
}

// Request is what a request says.
type Request struct {
	Agent    string
	Header   []string
	Referer  string
	Range    string
	View     string
	LineEnds fetch.LineEnds
}

// Send is content to send.
type Send struct {
	Method   string
	Data     Texts
	PostFile string
	Answers  []Answer
}

// Cookies are files of cookies.
type Cookies struct {
	Both, Load, Save string
	Session          bool // save cookies of the session too
}

// Network is how servers are reached.
type Network struct {
	Tries                                int
	RetryWait, MaxTime                   Seconds
	Timeout, ConnectTimeout, ReadTimeout Seconds
	MaxRedirect                          int
	Rate                                 Size
	Resolve                              []string
	IPv4, IPv6                           bool
	Bind                                 string
}

// Proxy is who is asked in place of servers.
type Proxy struct {
	URL        string
	Tunnel     bool
	None       string // hosts, or "*" for all
	SOCKS5     string
	Gateways   []string
	NoGateways bool // no default ones
}

// Trust is how servers prove who they are.
type Trust struct {
	Insecure             bool
	CA, Certificate, Key string
	Pinned               Pins
}

// Login is who the user is.
type Login struct {
	User, Password string
	PasswordFile   string
	HasPassword    bool // Password is known, perhaps as ""
	Ask            bool
	Netrc, NoNetrc bool
	NetrcFile      string
}

// Limits are rules of safety.
type Limits struct {
	MaxSize   Size
	Ports     Ports
	Redirects Redirects
	Private   bool
}

// Mail is what is made of messages.
type Mail struct {
	Compose, Parts, Text bool
	Part                 Number
}

// Extracts reports whether a part of a message is wanted instead of the message.
func (m *Mail) Extracts() bool { return m.Part > 0 || m.Text }

// Driver are the options of drivers.
type Driver struct {
	Conns      int // connections with one server that may be open at once
	Web        http.Options
	HTTP3      bool
	FTP        ftp.Options
	Gemini     gemini.Options
	Gopher     gopher.Options
	Mailboxes  []string
	News       nntp.Options
	NFS        nfs.Options
	Programs   Programs
	SSH        sftp.Options
	WAIS       wais.Options
	Login      bool
	Transcript string
	TermType   string // as servers of sessions learn it; "" is that of the environment
}

// Pages are the options of serve.
type Pages struct {
	Listen, Bookmarks string
	Open, Terminal    bool
}

// Config is where settings are read.
type Config struct {
	File string
	None bool
}

// Default numbers.
const (
	defaultJobs      = 4
	defaultRedirects = 20
	defaultTries     = 5
)

// New returns options with their defaults.
func New() *Options {
	o := &Options{
		Many:    Many{Jobs: defaultJobs},
		Tree:    Tree{Level: "5"},
		Network: Network{Tries: defaultTries, RetryWait: Seconds(time.Minute), MaxRedirect: defaultRedirects},
		Serve:   Pages{Listen: "127.0.0.1:0"},
	}
	o.Driver.Gemini.Certificates = knownCertificates()
	return o
}

// Use says which set the command that runs has its flags in.
func (o *Options) Use(set *pflag.FlagSet) { o.set = set }

// Set returns the flags of the command that runs; nil if none does.
func (o *Options) Set() *pflag.FlagSet { return o.set }

// Given reports whether a flag is on the command line or in the configuration file.
func (o *Options) Given(name string) bool { return o.set != nil && o.set.Changed(name) }

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
