package ldap

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-ldap/ldap/v3"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
)

// A result is an LDAPResult, which ends an operation (RFC 4511, section 4.1.9).
type result struct {
	code      int64
	matchedDN string
	text      string
	referrals []string
}

func parseResult(content []byte) (result, error) {
	d := &decoder{rest: content}
	r := result{code: d.integer(tagEnumerated)}
	r.matchedDN, r.text = wire.Text(string(d.expect(tagBytes))), wire.Text(string(d.expect(tagBytes)))
	for d.more() {
		if e := d.next(); d.err == nil && e.tag == tagReferral {
			r.referrals, d.err = parseReferences(e.content)
		}
	}
	return r, d.err
}

func (r result) String() string { return r.reply().String() }

func (r result) reply() fetch.Reply {
	text := ldap.LDAPResultCodeMap[uint16(min(r.code, 0xffff))]
	switch {
	case text == "":
		text = r.text
	case r.text != "":
		text += ": " + r.text
	}
	return fetch.Reply{Code: int(r.code), Text: text}
}

var classes = map[fetch.Code][]int64{
	fetch.ErrAuth: {ldap.LDAPResultAuthMethodNotSupported, ldap.LDAPResultStrongAuthRequired,
		ldap.LDAPResultConfidentialityRequired,
		ldap.LDAPResultInappropriateAuthentication, ldap.LDAPResultInvalidCredentials},
	fetch.ErrBusy:     {ldap.LDAPResultBusy, ldap.LDAPResultUnavailable},
	fetch.ErrNotFound: {ldap.LDAPResultNoSuchObject},
	fetch.ErrProtocol: {ldap.LDAPResultProtocolError},
	fetch.ErrRefused:  {ldap.LDAPResultInsufficientAccessRights, ldap.LDAPResultUnwillingToPerform},
	fetch.ErrTruncated: {ldap.LDAPResultTimeLimitExceeded, ldap.LDAPResultSizeLimitExceeded,
		ldap.LDAPResultAdminLimitExceeded},
	fetch.ErrURL: {ldap.LDAPResultInvalidDNSyntax, ldap.LDAPResultInappropriateMatching},
}

var hints = map[int64]string{
	ldap.LDAPResultConfidentialityRequired:     "use ldaps or StartTLS",
	ldap.LDAPResultInsufficientAccessRights:    "log in with ldaps://DN@HOST/",
	ldap.LDAPResultInappropriateAuthentication: "log in with ldaps://DN@HOST/",
	ldap.LDAPResultSizeLimitExceeded:           "narrow the search with a filter",
	ldap.LDAPResultTimeLimitExceeded:           "narrow the search with a filter",
	ldap.LDAPResultAdminLimitExceeded:          "narrow the search with a filter",
}

func (r result) err() error {
	e := &fetch.Error{Code: fetch.ErrServer, Reply: r.reply(), Hint: hints[r.code]}
	switch {
	case r.code == ldap.LDAPResultSuccess:
		return nil
	case r.code == ldap.LDAPResultReferral:
		return r.referralError()
	case r.code == ldap.LDAPResultNoSuchObject && r.matchedDN != "":
		e.Err = fmt.Errorf("no such entry below %q", r.matchedDN)
	}
	for class, codes := range classes {
		if slices.Contains(codes, r.code) {
			e.Code = class
		}
	}
	e.Retry = e.Code == fetch.ErrBusy
	return e
}

// A referral is an error with the URLs of servers that can perform the operation.
type referral struct {
	urls  []uri.URI
	reply fetch.Reply
}

func (r *referral) Error() string { return "the server returned a referral" }

func (r result) referralError() error {
	ref := &referral{reply: r.reply()}
	for _, text := range r.referrals {
		if u, err := uri.ParseRef(text); err == nil && u.Host() != "" {
			ref.urls = append(ref.urls, u)
		}
	}
	if len(ref.urls) == 0 {
		return &fetch.Error{Code: fetch.ErrRedirect, Reply: ref.reply,
			Err: errors.New("the server returned a referral without a usable URL")}
	}
	return ref
}
