package http3

import (
	"net/http"
	"time"

	"github.com/urlget/urlget/fetch/driver"
)

// OverPatiently is Over for tests that are not about patience: with the race detector, on a busy
// machine, a handshake takes longer than a second.
func OverPatiently(env driver.Env, tcp http.RoundTripper) http.RoundTripper {
	return overWithin(time.Minute, env, tcp)
}
