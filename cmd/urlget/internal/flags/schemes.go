package flags

import (
	"strings"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch/uri"
)

// This file is the only one of the command that may name schemes.

// Guessed is the scheme of what is written like a web address without one, and GuessedWithPort that
// of one with a port other than that of TLS.
const (
	Guessed         = "https"
	GuessedWithPort = "http"
)

// A Greeting is how servers of another protocol begin, as it stands in an error.
type Greeting struct {
	Text   string // in the error
	Scheme string // of the protocol
	Hint   string // URL stands for the URL with that scheme
}

// Greetings are those of common protocols.
var Greetings = []Greeting{
	{`SSH-`, "sftp", "SSH servers greet like that: try URL"},
	{`\x15\x03`, "https", "the server speaks TLS: try URL"},
	{`ftp`, "ftp", "FTP servers greet like that: try URL"},
	{`FTP`, "ftp", "FTP servers greet like that: try URL"},
	{`HTTP/1.`, "http", "that is HTTP: try URL"},
	{`does not speak HTTP`, "", "is the port right? another service listens there"},
}

// DefaultGateways retrieve what persistent names mean, from the resolvers that those who give the
// names keep for everybody. --gateway takes their place, name by name.
func DefaultGateways() map[string]string {
	return map[string]string{
		"doi":          "https://doi.org/",
		"hdl":          "https://hdl.handle.net/",
		"urn:ietf:rfc": "https://www.rfc-editor.org/rfc/rfc{}.txt",
	}
}

// PerHost returns how many transfers one host gets at once if the user does not say it: what
// browsers take of HTTP, and little of what makes a session of each connection.
func PerHost(scheme string) int {
	switch scheme {
	case "http", "https":
		return 6
	}
	return 2
}

// IsAnswer reports whether what comes by a scheme is an answer to a question, which people read and
// do not keep.
func IsAnswer(scheme string) bool {
	switch scheme {
	case "finger", "whois", "dict", "cso":
		return true
	}
	return false
}

// SOCKSURL reads the value of --socks5.
func SOCKSURL(hostport string) (uri.URI, error) { return ProxyURL("socks5://"+hostport, false) }

// ProxyURL reads the value of --proxy.
func ProxyURL(text string, tunnel bool) (uri.URI, error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	p, err := uri.ParseLoose(text)
	switch {
	case err != nil:
		return uri.URI{}, failure.Usagef("--proxy: %v", err)
	case p.Host() == "":
		return uri.URI{}, failure.Usagef("--proxy: %s names no host", p.Redacted())
	case tunnel && p.Scheme() == "https":
		return uri.URI{}, failure.Usagef("--proxy-tunnel needs a proxy that is spoken to in clear (http)")
	}
	return p, nil
}
