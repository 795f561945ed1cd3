package http3

import (
	"net/http"
	"time"

	"github.com/urlget/urlget/fetch"
)

// OverPatiently is Over with a longer handshake timeout. With the race detector, on a busy machine, a
// handshake takes longer than a second.
func OverPatiently(env fetch.Env, tcp http.RoundTripper) http.RoundTripper {
	return overWithin(time.Minute, env, tcp)
}
