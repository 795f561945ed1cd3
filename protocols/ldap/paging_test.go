package ldap

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	ber "github.com/go-asn1-ber/asn1-ber"
	"github.com/go-ldap/ldap/v3"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/drive"
)

// pages returns a finder with n entries, at most most of them per response. Servers without paging
// return the size limit's error.
func pages(n, most int, paging bool) finder {
	return func(q search, send func(*ber.Packet)) {
		begin, _ := strconv.Atoi(strings.TrimPrefix(q.cookie, "at "))
		end := min(begin+most, n)
		for i := range n {
			if i >= begin && i < end {
				send(searchEntry(fmt.Sprintf("cn=u%d,dc=t", i), "cn", "x"))
			}
		}
		switch {
		case end == n:
			send(searchDone(ldap.LDAPResultSuccess))
		case q.paged && paging:
			*q.next = fmt.Sprintf("at %d", end)
			send(searchDone(ldap.LDAPResultSuccess))
		default:
			send(searchDone(ldap.LDAPResultSizeLimitExceeded))
		}
	}
}

// smallPages is like pages, but larger pages are refused, as in OpenLDAP with size.pr.
func smallPages(n, most int) finder {
	return func(q search, send func(*ber.Packet)) {
		if q.paged && q.size > int64(most) {
			send(searchDone(ldap.LDAPResultAdminLimitExceeded))
			return
		}
		pages(n, most, true)(q, send)
	}
}

// truncatedPages is like pages, but a larger page ends with the size limit's error.
func truncatedPages(n, most int) finder {
	return func(q search, send func(*ber.Packet)) { pages(n, most, q.size <= int64(most))(q, send) }
}

func TestPages(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		find    finder
		query   string
		entries int
		err     fetch.Code
		request int // number of searches
	}{
		"one page":             {pages(7, 7, true), "?cn?sub", 7, "", 1},
		"pages":                {pages(7, 3, true), "?cn?sub", 7, "", 3},
		"one level":            {pages(7, 3, true), "?cn?one", 7, "", 3},
		"a limit":              {pages(7, 3, false), "?cn?sub", 3, fetch.ErrTruncated, 2},
		"a limit of pages":     {pages(2*maxPage, maxPage, false), "?cn?sub", maxPage, fetch.ErrTruncated, 1},
		"smaller pages only":   {smallPages(7, 3), "?cn?sub", 7, "", 5},
		"larger pages are cut": {truncatedPages(7, 3), "?cn?sub", 7, "", 4},
		"no pages at all": {func(q search, send func(*ber.Packet)) {
			if q.paged {
				send(searchDone(ldap.LDAPResultUnwillingToPerform))
				return
			}
			pages(7, 3, false)(q, send)
		}, "?cn?sub", 3, fetch.ErrTruncated, 3},
		"smaller pages, in another order": {func(q search, send func(*ber.Packet)) {
			if q.size > 2 {
				send(searchEntry("cn=u3,dc=t", "cn", "x"))
				send(searchEntry("cn=u6,dc=t", "cn", "x"))
				send(searchDone(ldap.LDAPResultSizeLimitExceeded))
				return
			}
			pages(7, 2, true)(q, send)
		}, "?cn?sub", 7, "", 5},
		"no control needed": {pages(1, 1, true), "?cn?base", 1, "", 1},
		"control refused": {func(q search, send func(*ber.Packet)) {
			if q.paged {
				send(searchDone(ldap.LDAPResultUnwillingToPerform))
				return
			}
			pages(3, 3, false)(q, send)
		}, "?cn?sub", 3, "", 2},
		"everything refused": {respond(searchDone(ldap.LDAPResultUnwillingToPerform)), "?cn?sub", 0, fetch.ErrRefused, 2},
		"refused later": {func(q search, send func(*ber.Packet)) {
			if q.cookie != "" {
				send(searchDone(ldap.LDAPResultUnwillingToPerform))
				return
			}
			pages(7, 3, true)(q, send)
		}, "?cn?sub", 3, fetch.ErrRefused, 2},
		"an empty page": {func(q search, send func(*ber.Packet)) {
			if q.cookie == "" {
				*q.next = "at 0"
				send(searchDone(0))
				return
			}
			pages(4, 3, true)(q, send)
		}, "?cn?sub", 4, "", 3},
		"the same page again": {func(q search, send func(*ber.Packet)) {
			*q.next = "again"
			send(searchEntry("cn=x", "cn", "x"))
			send(searchDone(0))
		}, "?cn?sub", 1, fetch.ErrProtocol, 2},
		"empty pages without end": {func(q search, send func(*ber.Packet)) {
			*q.next = "again"
			send(searchDone(0))
		}, "?cn?sub", 0, fetch.ErrProtocol, maxIntermediate},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, false, tt.find)
			got, err := drive.Get(t, client(t, Options{}), "ldap://"+s.Addr+"/dc=t"+tt.query)
			if n := strings.Count(got, "dn: "); n != tt.entries || fetch.CodeOf(err) != tt.err {
				t.Errorf("%d entries, %v; want %d, %q", n, err, tt.entries, tt.err)
			}
			if log := s.Log(); len(log) != tt.request {
				t.Errorf("%d searches, want %d", len(log), tt.request)
			}
		})
	}
}

func TestListingsOfSeveralPages(t *testing.T) {
	t.Parallel()
	s := start(t, false, pages(7, 3, true))
	if got, err := list(t, client(t, Options{}), "ldap://"+s.Addr+"/dc=t"); len(got) != 7 || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
