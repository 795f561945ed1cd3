package s3

import (
	"errors"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/internal/remotefile"
	"github.com/urlget/urlget/protocols/internal/sigv4"
)

// maxKey limits the length of a key, in bytes. That of Amazon S3 is 1024.
const maxKey = 4096

const (
	lower  = "abcdefghijklmnopqrstuvwxyz0123456789"
	letter = lower + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

func isBucket(name string) bool {
	return isName(name, letter, "._-", 255) && !strings.Contains(name, "..")
}

func isRegion(name string) bool { return isName(name, letter, "-", 63) }

// isLabel reports whether a bucket is a part of host names. Certificates do not cover dots.
func isLabel(bucket string) bool { return isName(bucket, lower, "-", 63) }

// isName reports whether name consists of letters and, between them, of marks.
func isName(name, letters, marks string, maxLength int) bool {
	return name != "" && len(name) <= maxLength && strings.Trim(name, letters+marks) == "" &&
		!strings.ContainsAny(name[:1]+name[len(name)-1:], marks)
}

type target struct {
	req     *fetch.Request
	bucket  string
	key     string // decoded
	version string // as a query; "" if there is none
	dir     bool   // the URL ends with a slash
	base    string // the URL with a trailing slash, without a version
}

func newTarget(req *fetch.Request) (*target, error) {
	u := req.URL.WithoutFragment()
	t := &target{req: req, bucket: u.Host()}
	switch {
	case t.bucket == "":
		return nil, fetch.ErrURL.Errorf("no bucket")
	case !isBucket(t.bucket):
		return nil, fetch.ErrURL.Errorf("invalid name of a bucket")
	case u.Port(0) != 0:
		return nil, &fetch.Error{Code: fetch.ErrURL, Err: errors.New("a bucket has no port"),
			Hint: "name the store with --s3-endpoint"}
	}
	if query, ok := u.Query(); ok && strings.HasPrefix(query, "versionId=") {
		id, err := uri.Unescape(strings.TrimPrefix(query, "versionId="))
		if err != nil {
			return nil, err
		}
		t.version = "versionId=" + sigv4.Escape(id, "")
		if u, err = parseURL(strings.TrimSuffix(u.String(), "?"+query)); err != nil {
			return nil, err
		}
	}
	path, raw := remotefile.PathOf(u)
	key, err := uri.Unescape(raw)
	switch {
	case err != nil:
		return nil, err
	case len(key) > maxKey:
		return nil, fetch.ErrURL.Errorf("the key is too long")
	}
	t.key, t.dir, t.base = key, path.Dir, path.Base+strings.ReplaceAll(raw, "?", "%3F")
	if !t.dir {
		t.base += "/"
	}
	return t, nil
}

// prefix returns the beginning of the keys in a listing.
func (t *target) prefix() string {
	if t.dir {
		return t.key
	}
	return t.key + "/"
}

// name returns the last part of the key.
func (t *target) name() string {
	key := strings.TrimSuffix(t.key, "/")
	return key[strings.LastIndexByte(key, '/')+1:]
}

// A place is the store of a request, with the user's access key if there is one.
type place struct {
	endpoint string // without a trailing slash; "" for Amazon S3
	region   string
	key      sigv4.Key
	source   string // of the key
}

// url returns the URL of a key of a bucket, or that of the bucket if the key is empty.
func (p *place) url(region, bucket, key, query string) (uri.URI, error) {
	domain := ".amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		domain += ".cn"
	}
	text := "https://s3." + region + domain + "/" + bucket
	switch {
	case p.endpoint != "":
		text = p.endpoint + "/" + bucket
	case isLabel(bucket):
		text = "https://" + bucket + ".s3." + region + domain
	}
	text += "/" + sigv4.Escape(key, "/")
	if query != "" {
		text += "?" + query
	}
	return parseURL(text)
}

// checkEndpoint returns an endpoint without a trailing slash. Its text may be secret.
func checkEndpoint(text, source string) (string, error) {
	u, err := uri.Parse(text)
	_, user := u.User()
	_, query := u.Query()
	if s := u.Scheme(); err != nil || s != "http" && s != "https" || u.Host() == "" || user || query {
		return "", &fetch.Error{Code: fetch.ErrURL,
			Err: errors.New(source + " is not the http or https URL of a server")}
	}
	return strings.TrimRight(u.WithoutFragment().String(), "/"), nil
}
