package ldap

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-ldap/ldap/v3"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/codec/ber"
)

// A valueRange is the rest of an attribute's values. Active Directory returns at most 1,500 values
// under a name such as "member;range=0-1499", and the last ones under "member;range=3000-*"
// ([MS-ADTS], section 3.1.1.3.1.3.3).
type valueRange struct {
	dn, attribute string
	next          uint64
}

// cutRange returns the name of an attribute without its range, and the number of the first value
// that is missing, or 0 if the range is the last one or there is none.
func cutRange(name string) (attribute string, next uint64) {
	var options []string
	for option := range strings.SplitSeq(name, ";") {
		const prefix = "range="
		if len(option) < len(prefix) || !strings.EqualFold(option[:len(prefix)], prefix) {
			options = append(options, option)
			continue
		}
		if _, last, ok := strings.Cut(option, "-"); ok && last != "*" {
			if n, err := strconv.ParseUint(last, 10, 63); err == nil {
				next = n + 1
			}
		}
	}
	return strings.Join(options, ";"), next
}

// takeRanges removes the ranges from the names of the attributes of rec, and notes the missing ones.
// It leaves ranges that the URL asks for.
func (b *records) takeRanges(rec *record) {
	if b.query.list || slices.ContainsFunc(b.query.attributes, func(name string) bool {
		return strings.Contains(name, "=")
	}) {
		return
	}
	for i := range rec.attributes {
		a := &rec.attributes[i]
		if !strings.Contains(a.name, "=") {
			continue
		}
		name, next := cutRange(a.name)
		a.name = name
		if r := (valueRange{rec.dn, name, next}); next > 0 && !slices.Contains(b.missing, r) {
			b.missing = append(b.missing, r)
		}
	}
}

// nextRange requests the next missing values. They continue the record that was returned last. The
// search is not finished, so they come over another connection.
func (b *records) nextRange() (record, error) {
	r := &b.missing[0]
	switch {
	case b.side == nil:
		s, err := b.dial()
		if err != nil {
			return record{}, err
		}
		b.side = &records{session: s}
	default:
		// The values of the last range are no longer used, so its result can be read.
		if _, err := b.side.receiveRecord(); err != io.EOF {
			return record{}, cmp.Or[error](err, fetch.ErrProtocol.Errorf("two entries in a search of one"))
		}
	}
	first := strconv.FormatUint(r.next, 10)
	b.side.pages = pager{single: true}
	b.side.query = query{dn: r.dn, scope: ldap.ScopeBaseObject, filter: "(objectClass=*)",
		compiled:   ber.String(ldap.FilterPresent, "objectClass"),
		attributes: []string{r.attribute + ";range=" + first + "-*"}}
	defer b.side.conn.ReplyTimeout(b.side.timeout)()
	if err := b.side.request(); err != nil {
		return record{}, err
	}
	rec, err := b.side.receiveRecord()
	if err != nil && err != io.EOF {
		return record{}, err
	}
	found, next := attribute{name: r.attribute}, uint64(0)
	for _, a := range rec.attributes {
		name, after := cutRange(a.name)
		if strings.EqualFold(name, r.attribute) && (after == 0 || after > r.next) {
			found.values, next = append(found.values, a.values...), after
		}
	}
	if len(found.values) > 0 {
		if r.next = next; next == 0 {
			b.missing = b.missing[1:]
		}
		return record{continued: true, attributes: []attribute{found}}, nil
	}
	return record{}, fetch.ErrTruncated.Retryf("the server does not return the values of %q from number %s",
		r.attribute, first)
}

// Close closes the connections without waiting for the server.
func (b *records) Close() error {
	if b.side != nil {
		b.side.Close()
	}
	return b.session.Close()
}
