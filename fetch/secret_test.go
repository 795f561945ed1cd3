package fetch_test

import (
	"testing"

	"github.com/urlget/urlget/fetch"
)

func TestIsSecretField(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"Authorization": true, "proxy-authorization": true, "Cookie": true, "Set-Cookie": true, "Cookie2": true,
		"X-Api-Key": true, "PRIVATE-TOKEN": true, "X-Auth-Token": true, "Client-Secret": true, "X-Password": true, "X-Hub-Signature-256": true,
		"X-Jwt": true, "X-Goog-IAP-JWT-Assertion": true, "X-Session": true, "X-Otp": true, "X-Pass": true, "X-Pin": true, "X-CSRF": true, "DPoP": true,
		"X-XSRF": true, "X-Credential": true,
		"Accept": false, "User-Agent": false, "ETag": false, "Referer": false, "": false,
		"WWW-Authenticate": false, "Proxy-Authenticate": false, "Sec-WebSocket-Key": false, ":authority": false,
	} {
		if got := fetch.IsSecretField(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
}
