package http

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch/uri"
)

const mask = "xxxxx"

// traced returns a context that reports the request as it is written.
func traced(ctx context.Context, trace func(sent bool, line string), t *target) context.Context {
	if trace == nil {
		return ctx
	}
	first := true
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { first = true },
		WroteHeaderField: func(name string, values []string) {
			if first && !strings.HasPrefix(name, ":") {
				trace(true, t.method+" "+redacted(t.url.RequestURI())+" HTTP/1.1")
			}
			first = false
			for _, v := range values {
				trace(true, field(name, v))
			}
		},
	})
}

func traceReply(trace func(sent bool, line string), resp *http.Response) {
	if trace == nil {
		return
	}
	trace(false, resp.Proto+" "+resp.Status)
	for _, line := range shown(resp.Header) {
		trace(false, line)
	}
}

// shown returns the fields for people, sorted, without secrets.
func shown(h http.Header) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			lines = append(lines, field(name, v))
		}
	}
	return lines
}

// field returns one field for people, without its secret.
func field(name, value string) string {
	switch http.CanonicalHeaderKey(name) {
	case "Authorization", "Proxy-Authorization":
		scheme, _, _ := strings.Cut(value, " ")
		value = scheme + " " + mask
	case "Cookie", "Set-Cookie", "Set-Cookie2":
		key, _, _ := strings.Cut(value, "=")
		value = key + "=" + mask
	case "Location", "Content-Location", "Referer", ":path":
		value = redacted(value)
	}
	return name + ": " + value
}

// redacted masks the password of a URL.
func redacted(text string) string {
	if u, err := uri.ParseLoose(text); err == nil {
		return u.Redacted()
	}
	return mask
}
