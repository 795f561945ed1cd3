package nntp

import (
	"bufio"
	"errors"
	"os"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/internal/mailsession"
)

// maxMessageID and maxGroup keep a command within the 512 bytes of RFC 3977, section 3.1.
const (
	maxMessageID = 250 // including angle brackets
	maxGroup     = 460
)

type target struct {
	mailsession.Server
	url     uri.URI // as requested
	group   string  // or a wildmat
	id      string  // message-id, without angle brackets
	number  uint64
	hasHost bool // the URL contains the server
}

func (t *target) isArticle() bool { return t.id != "" || t.number != 0 }
func (t *target) isPattern() bool { return t.id == "" && strings.ContainsAny(t.group, "*?") }

func (t *target) usesMessageIDs() bool { return t.url.Scheme() == "news" || t.url.Scheme() == "snews" }

func (t *target) newsURL(n uri.News) (uri.URI, error) {
	n.Scheme = "news"
	if t.url.Scheme() == "snews" || t.url.Scheme() == "nntps" {
		n.Scheme = "snews"
	}
	if t.hasHost {
		n.Host, n.Port, n.Login = t.Host, t.Port, t.url.Userinfo()
	}
	return n.URI()
}

// target parses the URL and rejects names that are not valid in a command.
func (d *opener) target(req *fetch.Request) (*target, error) {
	t := &target{url: req.URL, Server: mailsession.Server{Login: req.URL}}
	switch scheme := req.URL.Scheme(); scheme {
	case "nntp", "nntps":
		u, err := uri.ParseNNTP(req.URL)
		if err != nil {
			return nil, err
		}
		t.Host, t.Port, t.group, t.number = u.Host, u.Port, u.Group, u.Number
		t.TLS = scheme == "nntps"
	default:
		u, err := uri.ParseNews(req.URL)
		if err != nil {
			return nil, err
		}
		t.Host, t.Port, t.group, t.id = u.Host, u.Port, u.Group, u.MessageID
		t.TLS = scheme == "snews"
	}
	if err := checkName("message identifier", t.id, maxMessageID-2); err != nil {
		return nil, err
	}
	if err := checkName("newsgroup name", t.group, maxGroup); err != nil {
		return nil, err
	}
	if t.hasHost = t.Host != ""; !t.hasHost {
		return t, t.useDefault(d)
	}
	return t, nil
}

func (t *target) useDefault(d *opener) error {
	server, err := d.defaultServer()
	if err != nil {
		return err
	}
	t.Login, t.Host = server, server.Host()
	// snews and nntps use TLS, regardless of the setting.
	if t.TLS = t.TLS || server.Scheme() == "nntps" || server.Scheme() == "snews"; t.TLS {
		t.Port = server.Port(563)
	} else {
		t.Port = server.Port(119)
	}
	return nil
}

// checkName returns an error for a name that could end or change a command. RFC 3977, section 9.8
// excludes spaces, control characters and angle brackets from group names and message-ids.
func checkName(kind, name string, limit int) error {
	if len(name) > limit {
		return fetch.ErrURL.Errorf("%s is longer than %d bytes", kind, limit)
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c == 0x7f || c == '<' || c == '>' {
			return fetch.ErrURL.Errorf("%q in a %s", c, kind)
		}
	}
	return nil
}

// serverFile is the file in which Unix news readers look up the server.
var serverFile = "/etc/news/server"

func findServer(setting string) (uri.URI, error) {
	source := "the news server setting"
	if setting == "" {
		setting, source = os.Getenv("NNTPSERVER"), "$NNTPSERVER"
	}
	if setting == "" {
		setting, source = firstLine(serverFile), serverFile
	}
	if setting == "" {
		return uri.URI{}, &fetch.Error{Code: fetch.ErrNoServer,
			Err:    errors.New("the URL has no news server, and none is configured"),
			Reason: fetch.Reason{Kind: fetch.ReasonNewsServer},
			Hint:   "set the news server in the options, $NNTPSERVER or " + serverFile}
	}
	if !strings.Contains(setting, "://") {
		setting = "nntp://" + setting
	}
	u, err := uri.Parse(strings.TrimSuffix(setting, "/"))
	if err == nil && (u.Host() == "" || !strings.Contains(" nntp nntps news snews ", " "+u.Scheme()+" ")) {
		err = errors.New("not a news server")
	}
	if err != nil {
		return uri.URI{}, fetch.ErrURL.Errorf("%s: %w", source, err)
	}
	return u, nil
}

// firstLine returns the first line of a file that is neither empty nor a comment.
func firstLine(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if line := strings.TrimSpace(sc.Text()); line != "" && line[0] != '#' {
			return line
		}
	}
	return ""
}
