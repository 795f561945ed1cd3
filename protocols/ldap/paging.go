package ldap

import (
	"cmp"
	"errors"
	"hash/maphash"
	"slices"

	"github.com/go-ldap/ldap/v3"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/codec/ber"
)

// maxPage is the number of entries per page. Active Directory allows no more by default.
const maxPage = 1000

// A pager requests a search page by page (RFC 2696), because many servers limit the entries in a
// response. The control is not critical, so other servers return everything at once.
type pager struct {
	single bool // the search has at most one entry
	off    bool // the server rejects the control

	cookie string // of the page that is received; "" for the first
	// first is the DN of the first entry of that page, and before that of the page before.
	first, before string
	records       int // in the page

	size int64 // of a page; 0 means maxPage
	// seen has the hashes of the records that were received before the size was reduced. They are
	// not returned again.
	seen map[uint64]bool
	// limit is the error of the search that was not reduced.
	limit error
	seed  maphash.Seed
}

func (p *pager) controls() []byte {
	if p.single || p.off {
		return nil
	}
	value := ber.Sequence(integer(cmp.Or(p.size, maxPage)), octetString(p.cookie))
	return ber.Field(0, ber.Sequence(octetString(ldap.ControlTypePaging), octetString(string(value))))
}

// received counts a record. It reports whether the record was returned before. An endless
// repetition of a page is an error.
func (p *pager) received(name string) (again bool, err error) {
	if p.records++; p.single {
		return false, nil
	}
	if p.records == 1 {
		p.first = name
	}
	if p.records == 1 && p.cookie != "" && p.first == p.before {
		return false, fetch.ErrProtocol.Errorf("the server repeats a page of the results: %q", name)
	}
	hash := maphash.String(p.seed, name)
	switch {
	case p.size > 0:
		again = p.seen[hash]
		delete(p.seen, hash)
	case p.cookie == "" && p.records < maxPage:
		p.seen[hash] = true
	}
	return again, nil
}

// reduce reports whether the search can be repeated with smaller pages after err. OpenLDAP has such
// a limit, size.pr: it refuses larger pages, and without pages it returns the limit's error after
// that number of entries.
func (p *pager) reduce(code int64, err error) bool {
	if code != ldap.LDAPResultSizeLimitExceeded || p.single || p.size > 0 || p.cookie != "" ||
		p.records == 0 || p.records >= maxPage {
		return false
	}
	p.size, p.records, p.off, p.limit = int64(p.records), 0, false, err
	return true
}

// next prepares the request for the next page. It reports whether there is one.
func (p *pager) next(controls element) (bool, error) {
	_, cookie, err := parsePaging(controls)
	if p.single || p.off || err != nil || cookie == "" {
		return false, err
	}
	p.cookie, p.before, p.first, p.records = cookie, p.first, "", 0
	return true, nil
}

// refused reports whether err means that the server rejects the control, although it is not
// critical. The search is then repeated without it.
func (p *pager) refused(err error) bool {
	var e *fetch.Error
	if p.single || p.off || p.cookie != "" || p.records > 0 || !errors.As(err, &e) {
		return false
	}
	p.off = slices.Contains([]int{ldap.LDAPResultProtocolError, ldap.LDAPResultAdminLimitExceeded,
		ldap.LDAPResultUnavailableCriticalExtension, ldap.LDAPResultUnwillingToPerform,
		ldap.LDAPResultOther}, e.Reply.Code)
	return p.off
}

// parsePaging parses the control for pages. The size is that of a requested page or, in a response,
// an estimate of the number of entries; servers also send a negative one. The cookie is "" after the
// last page.
func parsePaging(controls element) (size int64, cookie string, err error) {
	if controls.tag != tagControls {
		return 0, "", nil
	}
	list := &decoder{rest: controls.content}
	for list.more() {
		control := &decoder{rest: list.expect(tagSequence), err: list.err}
		oid, value := string(control.expect(tagBytes)), []byte(nil)
		for control.more() {
			if e := control.next(); e.tag == tagBytes {
				value = e.content
			}
		}
		if control.err != nil || oid != ldap.ControlTypePaging {
			list.err = control.err
			continue
		}
		outer := &decoder{rest: value}
		inner := &decoder{rest: outer.expect(tagSequence), err: outer.err}
		for _, c := range inner.expect(tagInteger) {
			size = size<<8 | int64(c)
		}
		return size, string(inner.expect(tagBytes)), inner.err
	}
	return 0, "", list.err
}
