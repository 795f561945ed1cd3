package driver

import (
	"slices"
	"strings"
)

// IsSecretField reports whether a header field of this name is taken for a secret: its value is masked
// in traces and archives, and a configuration file that has it must not be readable by others. Besides
// the fields of HTTP for logins and cookies these are all whose names sound like a secret, such as
// X-Api-Key and PRIVATE-TOKEN.
func IsSecretField(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "www-authenticate", "proxy-authenticate", "sec-websocket-key", ":authority":
		return false
	}
	return slices.ContainsFunc([]string{"auth", "cookie", "token", "key", "secret", "password", "signature"},
		func(word string) bool { return strings.Contains(name, word) })
}
