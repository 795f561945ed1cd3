package warc

import (
	"slices"
	"strings"

	"github.com/urlget/urlget/archive/internal/httprecord"
)

// NearKey returns a key that the URLs of one web resource usually share: those with http and https, with
// and without "www." and a final slash, with their parameters in another order, in another case, and with
// other session IDs and cache busters, such as "_=1700000000000". It is that of the index, without cache
// busters. It is "" for other schemes.
func NearKey(url string) string {
	scheme, _, ok := strings.Cut(url, "://")
	if !ok || !httprecord.InScheme(strings.ToLower(scheme)) {
		return ""
	}
	path, query, _ := strings.Cut(surt(url, ""), "?")
	parameters := slices.DeleteFunc(strings.Split(query, "&"), isCacheBuster)
	if len(parameters) == 0 || query == "" {
		return path
	}
	return path + "?" + strings.Join(parameters, "&")
}

// isCacheBuster reports whether a parameter in lower case is a time or a random number that scripts add to
// a URL, so that no cache has its response.
func isCacheBuster(parameter string) bool {
	name, value, _ := strings.Cut(parameter, "=")
	switch name {
	case "_", "cb", "cachebuster", "cache_buster", "nocache", "rand", "random", "rnd", "timestamp", "ts":
		return strings.Trim(value, "0123456789.") == ""
	}
	return false
}
