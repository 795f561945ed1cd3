package httpauth

import "encoding/base64"

// Basic returns the credentials of the authentication scheme Basic (RFC 7617, section 2).
func Basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}
