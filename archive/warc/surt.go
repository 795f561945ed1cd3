package warc

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/urlget/urlget/archive/internal/httprecord"
	"github.com/urlget/urlget/fetch/uri"
)

// surt returns the index key of a URL (Sort-friendly URI Reordering Transform). Parameter, if not
// empty, is added to the query.
//
// The keys of http and https are those of pywb, OpenWayback and the Python package surt, so that
// these find the lines. For other schemes the key starts with the scheme, and the path is not
// changed. Other texts, such as a URL without a host, are returned with blanks encoded.
func surt(rawURL, parameter string) string {
	scheme, rest, ok := strings.Cut(strings.TrimSpace(rawURL), "://")
	if ok && httprecord.InScheme(strings.ToLower(scheme)) {
		return webKey(strings.ToLower(scheme), rest, parameter)
	}
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" {
		return strings.ReplaceAll(rawURL, " ", "%20")
	}
	host := strings.ToLower(u.Hostname())
	if net.ParseIP(host) == nil {
		host = reverseLabels(host)
	}
	if p := u.Port(); p != "" {
		host += ":" + p
	}
	path := u.EscapedPath()
	if u.RawQuery != "" || u.ForceQuery {
		path += "?" + u.RawQuery
	}
	return strings.ReplaceAll(u.Scheme+":"+host+")"+path, " ", "%20")
}

// webKey returns the key of an HTTP URL, of which rest follows "://". The scheme, the user, a
// leading "www.", "www2." and so on, a default port, the final slash of a path, an empty query, the
// fragment and session IDs are omitted. The parameters of the query are sorted. The key is in lower
// case and percent-encoded only where necessary.
func webKey(scheme, rest, parameter string) string {
	breaks := strings.NewReplacer("\t", "", "\r", "", "\n", "")
	rest = breaks.Replace(rest)
	rest, _, _ = strings.Cut(strings.TrimLeft(rest, "/"), "#")
	authority, path, query := rest, "", ""
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	path, query, _ = strings.Cut(path, "?")
	if parameter, _, _ = strings.Cut(breaks.Replace(parameter), "#"); parameter != "" {
		query = strings.TrimPrefix(query+"&"+parameter, "&")
	}
	key := hostKey(scheme, authority) + ")" + pathKey(path)
	if query = queryKey(query); query != "" {
		key += "?" + query
	}
	return key
}

// wwwPrefix matches the start of a host name that is omitted.
var wwwPrefix = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:www[0-9]*\.)+`) })

// hostKey returns the host with reversed labels, also those of an IPv4 address, and the port.
func hostKey(scheme, authority string) string {
	authority = authority[strings.LastIndexByte(authority, '@')+1:]
	host, port := authority, ""
	if i := strings.LastIndexByte(authority, ':'); i > strings.LastIndexByte(authority, ']') {
		host, port = authority[:i], authority[i+1:]
	}
	host = strings.ToLower(unescapeRepeatedly(strings.Trim(host, "[]")))
	if strings.ContainsFunc(host, func(r rune) bool { return r >= 0x80 }) {
		if u, err := uri.ParseRef("http://" + host + "/"); err == nil {
			host = cmp.Or(u.Host(), host) // in Punycode
		}
	}
	labels := slices.DeleteFunc(strings.Split(host, "."), func(label string) bool { return label == "" })
	host = wwwPrefix().ReplaceAllString(strings.Join(labels, "."), "")
	key := strings.ToLower(reverseLabels(escapeOnce(host)))
	if port != "" && !(scheme == "http" && port == "80" || scheme == "https" && port == "443") {
		key += ":" + port
	}
	return key
}

func reverseLabels(host string) string {
	labels := strings.Split(host, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ",")
}

func pathKey(path string) string {
	var segments []string
	for i, segment := range strings.Split(unescapeRepeatedly(path), "/") {
		switch n := len(segments); {
		case i == 0 || segment == ".":
		case segment == ".." && n > 0:
			segments = segments[:n-1]
		default:
			segments = append(segments, segment)
		}
	}
	segments = slices.DeleteFunc(segments, func(segment string) bool { return segment == "" })
	path = strings.ToLower(escapeOnce("/" + strings.Join(segments, "/")))
	if strings.Contains(path, ".aspx") {
		path = aspSession().ReplaceAllString(path, "$1$2")
	}
	return path
}

func queryKey(query string) string {
	query = escapeOnce(unescapeRepeatedly(query))
	lower := strings.ToLower(query)
	for _, session := range querySessions() {
		if strings.Contains(lower, session.mark) {
			lower = session.pattern.ReplaceAllString(lower, "$1$2")
		}
	}
	parameters := strings.Split(lower, "&")
	slices.SortStableFunc(parameters, func(a, b string) int {
		nameA, valueA, hasA := strings.Cut(a, "=")
		nameB, valueB, hasB := strings.Cut(b, "=")
		order := cmp.Or(strings.Compare(nameA, nameB), strings.Compare(valueA, valueB))
		if order != 0 || hasA == hasB {
			return order
		}
		if hasB {
			return -1
		}
		return 1
	})
	return strings.Join(parameters, "&")
}

// aspSession matches a path with session IDs of ASP.NET, in lower case.
var aspSession = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(.*/)(?:\((?:[a-z]\([0-9a-z]{24}\))+\)|\([0-9a-z]{24}\))/([^?]+\.aspx.*)$`)
})

// A querySession matches a query in lower case with a session ID, if it contains mark.
type querySession struct {
	mark    string
	pattern *regexp.Regexp
}

var querySessions = sync.OnceValue(func() (list []querySession) {
	for _, s := range []struct{ mark, id string }{
		{"jsessionid=", "jsessionid=[0-9a-z]{32}"},
		{"phpsessid=", "phpsessid=[0-9a-z]{32}"},
		{"sid=", "sid=[0-9a-z]{32}"},
		{"aspsessionid", "aspsessionid[a-z]{8}=[a-z]{24}"},
		{"cftoken=", "cfid=[^&]+&cftoken=[^&]+"},
	} {
		list = append(list, querySession{s.mark, regexp.MustCompile("^(.*)" + s.id + "(?:&(.*))?$")})
	}
	return list
})

// unescapeRepeatedly removes percent-encoding until none is left.
func unescapeRepeatedly(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := range len(s) {
		out = append(out, s[i])
		for n := len(out); n >= 3 && out[n-3] == '%'; n = len(out) {
			c, err := hex.DecodeString(string(out[n-2:]))
			if err != nil {
				break
			}
			out = append(out[:n-3], c[0])
		}
	}
	return string(out)
}

// escapeOnce percent-encodes blanks, control characters, "#", "%" and bytes outside ASCII.
func escapeOnce(s string) string {
	var out []byte
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || c == '#' || c == '%' {
			out = fmt.Appendf(out, "%%%02X", c)
		} else {
			out = append(out, c)
		}
	}
	return string(out)
}
