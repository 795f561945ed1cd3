package fetch

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/textproto"
	"slices"
	"strings"
)

// A Variant describes who sends a request, and which of several responses it selects, for caches (RFC
// 9111, sections 3.5 and 4.1). Its secrets cannot be read. A nil Variant is that of a request without
// header fields.
type Variant struct {
	header textproto.MIMEHeader
	login  []string
}

// NewVariant returns the variant of a request with a header. Login has the canonical names of the fields
// that identify the user.
func NewVariant(header textproto.MIMEHeader, login []string) *Variant {
	return &Variant{header, slices.Sorted(slices.Values(login))}
}

// HasLogin reports whether the request identifies a user.
func (v *Variant) HasLogin() bool { return v != nil && len(v.login) > 0 }

// HasCookies reports whether the request has cookies, which may also identify a user.
func (v *Variant) HasCookies() bool { return v != nil && len(v.header["Cookie"]) > 0 }

// Key returns a keyed digest (HMAC-SHA-256) of the login and of the fields that vary names, the value of
// a Vary field. Requests with the same key select the same response.
func (v *Variant) Key(secret []byte, vary string) string {
	if v == nil {
		v = &Variant{}
	}
	var names []string
	for name := range strings.SplitSeq(vary, ",") {
		names = append(names, textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name)))
	}
	slices.Sort(names)
	mac := hmac.New(sha256.New, secret)
	for _, list := range [][]string{v.login, slices.Compact(names)} {
		for _, name := range list {
			fmt.Fprintf(mac, "%q: %q\n", name, strings.Join(v.header[name], ","))
		}
		fmt.Fprintln(mac)
	}
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// A Varier is implemented by Drivers whose responses may be cached (RFC 9111). Variant returns the
// variant of the first request that Open would send for req. If login is set and Open would send no
// login before a challenge, it is the variant of the request after a challenge, if there is a
// credential. It does not use the network.
type Varier interface {
	Variant(ctx context.Context, req *Request, login bool) (*Variant, error)
}
