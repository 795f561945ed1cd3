package flags

import (
	"slices"
	"strings"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch/uri"
)

// Only this file of the command may name schemes.

// Guessed is the scheme suggested for a web address without one. GuessedWithPort is suggested if it
// has a port other than that of TLS.
const (
	Guessed         = "https"
	GuessedWithPort = "http"
)

// Tool says which command of urlget replaces another tool, typed as a first word.
func Tool(name string) string {
	return map[string]string{
		"wget":  "wget URL is urlget URL",
		"wget2": "wget2 URL is urlget URL",
		"curl":  "curl URL is urlget cat URL, and curl -O URL is urlget URL",
		"aria":  isAria2, "aria2": isAria2, "aria2c": isAria2, "axel": "axel URL is urlget -s 4 URL",
		"http": isHTTPie, "https": isHTTPie, "httpie": isHTTPie, "xh": isHTTPie,
		"lynx": isBrowser, "links": isBrowser, "elinks": isBrowser, "w3m": isBrowser,
		"httrack": "httrack URL is urlget -m -k URL",
		"lftp":    "lftp's get is urlget URL, its mirror is urlget -m URL, and its ls is urlget ls URL",
		"rclone":  "rclone's copyurl is urlget URL, its copy is urlget -m URL, and its ls is urlget ls URL",
		"rsync":   "rsync's HOST::MODULE/PATH is rsync://HOST/MODULE/PATH; urlget -m URL mirrors a tree",
		"scp":     SCP, "sftp": SCP,
		"yt-dlp": notVideo, "youtube-dl": notVideo,
	}[name]
}

// SCP and LocalPort are the hints for USER@HOST:PATH of scp and for :PORT/PATH of HTTPie.
const (
	SCP       = "scp's HOST:PATH is scp://HOST/PATH"
	LocalPort = "HTTPie's :PORT/PATH is http://localhost:PORT/PATH; rclone's :http: is that of --http-url"
)

const (
	isAria2   = "aria2c URL is urlget URL"
	isHTTPie  = "http URL is urlget cat URL"
	isBrowser = "urlget does not show pages: urlget cat URL prints the source, and urlget ls URL the links"
	notVideo  = "urlget retrieves what a URL names, not the video in a page: yt-dlp -g PAGE | urlget -i -"
)

// A Greeting identifies a server of another protocol by a text in an error.
type Greeting struct {
	Text   string // in the error
	Scheme string // of the protocol
	Hint   string // URL is replaced by the URL with that scheme
}

// Greetings lists the greetings of common protocols.
var Greetings = []Greeting{
	{`SSH-`, "sftp", "the server speaks SSH: try URL"},
	{`\x15\x03`, "https", "the server speaks TLS: try URL"},
	{`TFTP`, "", ""}, // our own words
	{`tftp`, "", ""},
	{`SFTP`, "", ""},
	{`sftp`, "", ""},
	{`ftp`, "ftp", "the server speaks FTP: try URL"},
	{`FTP`, "ftp", "the server speaks FTP: try URL"},
	{`HTTP/1.`, "http", "the server speaks HTTP: try URL"},
	{`does not speak HTTP`, "", "check the port: another service uses it"},
}

// DefaultGateways returns the public resolvers of persistent names, which are operated by the naming
// authorities. --gateway replaces them individually.
func DefaultGateways() map[string]string {
	return map[string]string{
		"doi":          "https://doi.org/",
		"hdl":          "https://hdl.handle.net/",
		"urn:ietf:rfc": "https://www.rfc-editor.org/rfc/rfc{}.txt",
	}
}

// PerHost returns the default number of parallel transfers per host: that of browsers for HTTP, and
// fewer for protocols that log in on each connection.
func PerHost(scheme string) int {
	switch scheme {
	case "http", "https", "s3":
		return 6
	}
	return 2
}

// MaxGrow is the number of parallel transfers to which urlget grows by default, while the servers keep
// up.
const MaxGrow = 50

// MaxLogins is the part of MaxGrow for a host where each connection logs in, which costs a server more than
// a small file.
const MaxLogins = 16

// HostGrow returns the part of MaxGrow for one host; 0 means that the number for a host does not grow.
func HostGrow(scheme string) int {
	switch scheme {
	case "http", "https", "s3":
		return MaxGrow
	case "ftp", "ftps", "ftpes":
		return MaxLogins
	}
	return 0
}

// HasBracketPatterns reports whether brackets in the path of a URL are part of a pattern for names on
// the server.
func HasBracketPatterns(scheme string) bool { return scheme != "http" && scheme != "https" }

// IsQuery reports whether responses of a scheme are printed by default because they are results of a
// query.
func IsQuery(scheme string) bool {
	switch scheme {
	case "finger", "whois", "dict", "cso":
		return true
	}
	return false
}

// IsSession reports whether a URL of a scheme names a session, whose output is printed.
func IsSession(scheme string) bool {
	return slices.Contains([]string{"telnet", "rlogin", "tn3270", "ws", "wss"}, scheme)
}

// SOCKSURL parses the value of --socks5.
func SOCKSURL(hostport string) (uri.URI, error) { return ProxyURL("socks5://" + hostport) }

// ProxyURL parses the value of --proxy.
func ProxyURL(text string) (uri.URI, error) {
	if text == "on" || text == "off" {
		return uri.URI{}, failure.Hinted("--proxy: "+text+" is not a URL",
			"proxies of the environment are used by default; --no-proxy disables them")
	}
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	p, err := uri.ParseLoose(text)
	switch {
	case err != nil:
		return uri.URI{}, failure.Usagef("--proxy: %v", err)
	case p.Host() == "":
		return uri.URI{}, failure.Usagef("--proxy: %s has no host", p.Redacted())
	}
	return p, nil
}
