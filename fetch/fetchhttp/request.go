package fetchhttp

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// unknownOrigin is the origin of requests from an unknown remote party.
var unknownOrigin = sync.OnceValue(func() uri.URI { return uri.MustParse("http://unknown.invalid/") })

func newRequest(r *http.Request) (*fetch.Request, error) {
	u, err := uri.Parse(r.URL.String())
	if err != nil {
		return nil, err
	}
	refuse := func(feature string) error {
		return fmt.Errorf("fetchhttp: %s %s: %s: %w", r.Method, u.Redacted(), feature, errors.ErrUnsupported)
	}
	switch {
	case r.Method != "" && r.Method != http.MethodGet && r.Method != http.MethodHead:
		return nil, refuse("only GET and HEAD are supported")
	case r.Body != nil && r.Body != http.NoBody:
		return nil, refuse("request bodies are not supported")
	}
	for _, name := range []string{"If-Match", "If-Unmodified-Since"} {
		if r.Header.Get(name) != "" {
			return nil, refuse(name)
		}
	}
	req := &fetch.Request{URL: u, From: origin(r), Header: forwardedFields(r.Header)}
	Ask(req, r.Header)
	if r.Host != "" && r.Host != r.URL.Host && isHTTP(u.Scheme()) {
		req.Header.Set("Host", r.Host)
	}
	if !req.From.IsZero() && req.From.Origin() != u.Origin() {
		for _, name := range secretFields {
			req.Header.Del(name)
		}
	}
	return req, nil
}

// origin returns the URL of the redirect that led to r, or zero if the user made the request.
func origin(r *http.Request) uri.URI {
	if r.Response == nil {
		return uri.URI{}
	}
	if r.Response.Request == nil || r.Response.Request.URL == nil {
		return unknownOrigin()
	}
	from, err := uri.Parse(r.Response.Request.URL.String())
	if err != nil || from.IsZero() {
		return unknownOrigin()
	}
	return from
}

// conditions lists the fields that newRequest converts to fields of the fetch.Request.
var conditions = []string{"Range", "If-Range", "If-None-Match", "If-Modified-Since"}

// secretFields lists the fields that are sent only to their own origin.
var secretFields = []string{"Authorization", "Cookie", "Cookie2", "Proxy-Authorization", "Referer", "Host"}

// forwardedFields returns a copy of the fields that are passed to the driver.
func forwardedFields(h http.Header) textproto.MIMEHeader {
	dup := endToEnd(h)
	maps.DeleteFunc(dup, func(name string, _ []string) bool { // net/http uses only Request.Host
		return slices.Contains(conditions, name) || name == "Host" || name == "Expect"
	})
	return textproto.MIMEHeader(dup)
}

// Ask sets the fields of req from the header of an HTTP request: ranges, a validator and the accepted
// content types. If h has both a range and a condition on the whole resource, the range is ignored,
// as a server may do.
func Ask(req *fetch.Request, h http.Header) {
	req.Accept = mediaTypes(h.Values("Accept"))
	if tag := h.Get("If-None-Match"); tag == "" { // which precedes a time (RFC 9110, section 13.1.3)
		req.IfChanged.ModTime, _ = http.ParseTime(h.Get("If-Modified-Since")) // zero if there is none
	} else if tag != "*" && !strings.Contains(tag, ",") {
		req.IfChanged.ETag = tag
	}
	if !req.IfChanged.IsZero() {
		return
	}
	switch ranges := parseRanges(h.Get("Range")); {
	case len(ranges) == 0:
		return
	case len(ranges) == 1:
		req.Range = ranges[0]
	case !isHTTP(req.URL.Scheme()):
		return // a server may ignore a Range
	default:
		req.Ranges = ranges
	}
	guard := h.Get("If-Range")
	if at, err := http.ParseTime(guard); err == nil {
		req.IfChanged.ModTime = at
	} else {
		req.IfChanged.ETag = guard
	}
}

// parseRanges parses "bytes=3-7,9-,-5" (RFC 9110, section 14.1.2). It returns nil for an invalid
// field, which a server may ignore.
func parseRanges(s string) []fetch.Range {
	list, ok := strings.CutPrefix(s, "bytes=")
	if !ok {
		return nil
	}
	var ranges []fetch.Range
	for text := range strings.SplitSeq(list, ",") {
		r, ok := parseRange(strings.TrimSpace(text))
		if !ok {
			return nil
		}
		ranges = append(ranges, r)
	}
	return ranges
}

func parseRange(s string) (fetch.Range, bool) {
	first, last, ok := strings.Cut(s, "-")
	from, err := strconv.ParseUint(first, 10, 62)
	to, lastErr := strconv.ParseUint(last, 10, 62)
	switch {
	case !ok:
	case first == "" && lastErr == nil && to > 0:
		return fetch.Range{Offset: -int64(to)}, true
	case err == nil && last == "":
		return fetch.Range{Offset: int64(from)}, true
	case err == nil && lastErr == nil && to >= from:
		return fetch.Range{Offset: int64(from), Length: int64(to - from + 1)}, true
	}
	return fetch.Range{}, false
}

// mediaTypes returns the content types in Accept fields, preferred ones first (RFC 9110, section
// 12.5.1), without unacceptable ones.
func mediaTypes(fields []string) []string {
	type choice struct {
		name    string
		quality float64
	}
	var list []choice
	for item := range strings.SplitSeq(strings.Join(fields, ","), ",") {
		name, params, err := mime.ParseMediaType(item)
		if err != nil {
			continue
		}
		quality := 1.0
		if q, ok := params["q"]; ok {
			if quality, err = strconv.ParseFloat(q, 64); err != nil {
				continue
			}
		}
		if quality > 0 {
			list = append(list, choice{name, quality})
		}
	}
	slices.SortStableFunc(list, func(a, b choice) int { return cmp.Compare(b.quality, a.quality) })
	var names []string
	for _, c := range list {
		names = append(names, c.name)
	}
	return names
}
