package fetch

import (
	"slices"
	"strings"
)

// secretWords are parts of names of secrets, in lower case. A field that is masked in vain does less harm
// than one that is shown.
var secretWords = []string{"auth", "cookie", "credential", "csrf", "dpop", "jwt", "key", "otp", "pass", "pin",
	"secret", "session", "signature", "token", "xsrf"}

// IsSecretField reports whether the header field of the given name is treated as a secret. Its
// value is masked in traces and archives, and a configuration file that contains it must not be
// readable by others. Secret fields are those of HTTP for logins and cookies, and all whose names
// contain a word for one, such as X-Api-Key, PRIVATE-TOKEN and DPoP.
func IsSecretField(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "www-authenticate", "proxy-authenticate", "sec-websocket-key", ":authority":
		return false
	}
	return slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(name, word) })
}
