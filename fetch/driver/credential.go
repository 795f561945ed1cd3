package driver

import (
	"github.com/urlget/urlget/fetch/uri"
)

// A Credential is a user name and a password. Account is for FTP's ACCT.
type Credential struct{ User, Password, Account string }

// A Challenge is a server's request for a Credential.
type Challenge struct {
	URL       uri.URI // the URL being opened
	From      uri.URI // the resource of another origin that led here, otherwise the one that led to URL; may be zero
	Foreign   bool    // as Env.Foreign: the user's credentials must not be used. Env.Credential sets it
	Mechanism string  // "ftp", "nntp", "basic", "digest", "ldap", "proxy"
	Realm     string  // as named by the server, or ""
	User      string  // the user name if it is already known, or ""
	Attempt   int     // from 1; more than 1 means that the previous credential was rejected
	Tried     bool    // a password of the URL or of an earlier source was rejected. Env.Credential sets it
}
