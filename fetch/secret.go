package fetch

import (
	"slices"
	"strings"
)

// IsSecretField reports whether the header field of the given name is treated as a secret. Its
// value is masked in traces and archives, and a configuration file that contains it must not be
// readable by others. Secret fields are those of HTTP for logins and cookies, and all whose names
// suggest a secret, such as X-Api-Key and PRIVATE-TOKEN.
func IsSecretField(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "www-authenticate", "proxy-authenticate", "sec-websocket-key", ":authority":
		return false
	}
	return slices.ContainsFunc([]string{"auth", "cookie", "token", "key", "secret", "password", "signature"},
		func(word string) bool { return strings.Contains(name, word) })
}
