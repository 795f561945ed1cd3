package fetchhttp

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
)

// product is the name of the proxy in the field Via (RFC 9110, section 7.6.3).
const product = "urlget"

// sealSize is the size of a random number, in bytes, and of the seal after it.
const sealSize = 8

// pseudonym returns a name of the proxy for one request. It has a number that only this proxy can have
// made, by which it recognizes a request that comes back. The name is another one for each request, so
// that servers cannot recognize the clients of a proxy by it.
func (p *Proxy) pseudonym() string {
	number := make([]byte, sealSize)
	rand.Read(number) // never fails
	return product + "-" + hex.EncodeToString(append(number, p.seal(number)...))
}

func (p *Proxy) seal(number []byte) []byte {
	p.once.Do(func() { rand.Read(p.key[:]) })
	mac := hmac.New(sha256.New, p.key[:])
	mac.Write(number)
	return mac.Sum(nil)[:sealSize]
}

// isLoop reports whether this proxy has forwarded the request before.
func (p *Proxy) isLoop(h http.Header) bool {
	for by := range strings.SplitSeq(strings.Join(h.Values("Via"), ","), ",") {
		words := strings.Fields(by)
		if len(words) < 2 {
			continue
		}
		name, _ := strings.CutPrefix(words[1], product+"-")
		b, err := hex.DecodeString(name)
		if err == nil && len(b) == 2*sealSize && hmac.Equal(b[sealSize:], p.seal(b[:sealSize])) {
			return true
		}
	}
	return false
}
