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

var classes = []class{
	{fetch.ErrAuth, []int64{ldap.LDAPResultAuthMethodNotSupported, ldap.LDAPResultStrongAuthRequired,
		ldap.LDAPResultConfidentialityRequired,
		ldap.LDAPResultInappropriateAuthentication, ldap.LDAPResultInvalidCredentials}},
	{fetch.ErrBusy, []int64{ldap.LDAPResultBusy, ldap.LDAPResultUnavailable}},
	{fetch.ErrNotFound, []int64{ldap.LDAPResultNoSuchObject}},
	{fetch.ErrProtocol, []int64{ldap.LDAPResultProtocolError}},
	{fetch.ErrRefused, []int64{ldap.LDAPResultInsufficientAccessRights, ldap.LDAPResultUnwillingToPerform}},
	{fetch.ErrTruncated, []int64{ldap.LDAPResultTimeLimitExceeded, ldap.LDAPResultSizeLimitExceeded,
		ldap.LDAPResultAdminLimitExceeded}},
	{fetch.ErrURL, []int64{ldap.LDAPResultInvalidDNSyntax, ldap.LDAPResultInappropriateMatching}},
}

type class struct {
	code    fetch.Code
	results []int64
}

func hint(code int64) string {
	switch code {
	case ldap.LDAPResultConfidentialityRequired:
		return "use ldaps or StartTLS"
	case ldap.LDAPResultInsufficientAccessRights, ldap.LDAPResultInappropriateAuthentication:
		return "log in with ldaps://DN@HOST/"
	case ldap.LDAPResultSizeLimitExceeded, ldap.LDAPResultTimeLimitExceeded,
		ldap.LDAPResultAdminLimitExceeded:
		return "narrow the search with a filter"
	}
	return ""
}

func (r result) err() error {
	e := &fetch.Error{Code: fetch.ErrServer, Reply: r.reply(), Hint: hint(r.code)}
	switch {
	case r.code == ldap.LDAPResultSuccess:
		return nil
	case r.code == ldap.LDAPResultReferral:
		return r.referralError()
	case r.code == ldap.LDAPResultNoSuchObject && r.matchedDN != "":
		e.Err = fmt.Errorf("no such entry below %q", r.matchedDN)
	}
	for _, c := range classes {
		if slices.Contains(c.results, r.code) {
			e.Code = c.code
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
