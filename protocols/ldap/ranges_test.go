package ldap

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	ber "github.com/go-asn1-ber/asn1-ber"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/drive"
)

// ranges returns a finder with two groups of total members, at most most of them per response.
func ranges(total, most int) finder {
	group := func(dn string, first int) *ber.Packet {
		last, name := min(first+most, total)-1, "member"
		end := strconv.Itoa(last)
		if last == total-1 {
			end = "*"
		}
		if first > 0 || last < total-1 {
			name = fmt.Sprintf("member;range=%d-%s", first, end)
		}
		pairs := []string{"cn", "x"}
		for i := first; i <= last; i++ {
			pairs = append(pairs, name, fmt.Sprintf("cn=m%d", i))
		}
		return searchEntry(dn, pairs...)
	}
	return func(q search, send func(*ber.Packet)) {
		if q.scope == 0 && len(q.attributes) > 0 {
			first, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(q.attributes[0], "member;range="), "-*"))
			send(group(q.dn, first))
		} else {
			send(group("cn=a,dc=t", 0))
			send(group("cn=b,dc=t", 0))
		}
		send(searchDone(0))
	}
}

// TestRangesOfValues checks that all values of an attribute are retrieved, also from a server that
// returns them in parts.
func TestRangesOfValues(t *testing.T) {
	t.Parallel()
	for _, most := range []int{100, 7, 3, 1} {
		s := start(t, false, ranges(7, most))
		got, err := drive.Get(t, client(t, Options{}), "ldap://"+s.Addr+"/dc=t??sub")
		if err != nil || strings.Contains(got, "range") {
			t.Errorf("%d at once: %v\n%s", most, err, got)
		}
		groups := strings.Split(got, "dn: ")[1:]
		if len(groups) != 2 {
			t.Fatalf("%d at once: %d entries", most, len(groups))
		}
		for _, group := range groups {
			for i := range 7 {
				if n := strings.Count(group, fmt.Sprintf("member: cn=m%d\n", i)); n != 1 {
					t.Errorf("%d at once: member %d occurs %d times in\n%s", most, i, n, group)
				}
			}
		}
	}
}

func TestRequestedRangesAreKept(t *testing.T) {
	t.Parallel()
	s := start(t, false, ranges(7, 3))
	got, err := drive.Get(t, client(t, Options{}), "ldap://"+s.Addr+"/cn=a,dc=t?member;range=3-*")
	if err != nil || strings.Count(got, "member;range=3-5: cn=m") != 3 {
		t.Errorf("%v\n%s", err, got)
	}
}

// TestMissingValuesAreAnError uses servers that do not return the rest of the values.
func TestMissingValuesAreAnError(t *testing.T) {
	t.Parallel()
	for name, rest := range map[string][]*ber.Packet{
		"nothing":       {searchDone(0)},
		"no values":     {searchEntry("cn=a", "cn", "x"), searchDone(0)},
		"the same part": {searchEntry("cn=a", "member;range=0-0", "cn=m0"), searchDone(0)},
	} {
		s := start(t, false, func(q search, send func(*ber.Packet)) {
			if len(q.attributes) > 0 {
				respond(rest...)(q, send)
				return
			}
			send(searchEntry("cn=a", "member;range=0-0", "cn=m0"))
			send(searchDone(0))
		})
		if _, err := drive.Get(t, client(t, Options{}), "ldap://"+s.Addr+"/cn=a"); fetch.CodeOf(err) != fetch.ErrTruncated {
			t.Errorf("%s: %v", name, err)
		}
	}
}
