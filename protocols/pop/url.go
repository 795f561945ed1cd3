package pop

import (
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/internal/mailsession"
)

// A target is a parsed URL. Auth may be apopMechanism.
type target struct {
	mailsession.Server
	url    uri.URI // as requested
	uid    string  // the message's unique-id
	number int     // the message's number, if uid is ""
}

// apopMechanism is the login mechanism of URLs that stands for the command APOP (RFC 2384, section 5).
const apopMechanism = "+APOP"

// uidParam starts the path of a message, as in RFC 5092. RFC 2384 defines URLs of maildrops only.
const uidParam = ";UID="

// maxUID limits a unique-id, in bytes. RFC 1939, section 7 allows 70 characters. Some servers send
// longer ones.
const maxUID = 1000

func (t *target) isMessage() bool { return t.uid != "" || t.number != 0 }

// parse decodes a URL:
//
//	pop://[USER[;AUTH=MECHANISM][:PASSWORD]@]HOST[:PORT][/]   the maildrop
//	.../;UID=UNIQUE-ID                                        a message
//	.../NUMBER                                                the same by its number
func parse(u uri.URI) (*target, error) {
	srv, err := mailsession.Parse(u, 110, 995)
	if err != nil {
		return nil, err
	}
	t := &target{Server: srv, url: u}
	name, err := uri.Unescape(strings.TrimPrefix(u.URLPath(), "/"))
	switch rest, uid := cutParam(name); {
	case err != nil:
		return nil, err
	case name == "":
	case uid && (rest == "" || len(rest) > maxUID):
		return nil, fetch.ErrURL.Errorf("the unique-id has %d bytes, not 1 to %d", len(rest), maxUID)
	case uid:
		t.uid = rest
	default:
		if t.number, err = strconv.Atoi(name); err != nil || t.number < 1 {
			return nil, fetch.ErrURL.Errorf("%q is neither a message number nor ;UID= and a unique-id", name)
		}
	}
	return t, nil
}

func cutParam(path string) (value string, ok bool) {
	if len(path) < len(uidParam) || !strings.EqualFold(path[:len(uidParam)], uidParam) {
		return "", false
	}
	return path[len(uidParam):], true
}

func (t *target) messageURL(number int, uid string) (uri.URI, error) {
	path := "/" + strconv.Itoa(number)
	if uid != "" {
		path = "/" + uidParam + uri.Escape(uid)
	}
	ref, err := uri.ParseRef(path)
	if err != nil {
		return uri.URI{}, err
	}
	return t.url.Resolve(ref), nil
}
