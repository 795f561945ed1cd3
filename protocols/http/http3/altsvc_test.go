package http3

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestParseAltSvc(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for _, tt := range []struct {
		field string
		want  []alternative
	}{
		{``, nil},
		{`clear`, nil},
		{`h3=":443"`, []alternative{{"", "443", day}}},
		{`h3=":443"; ma=60`, []alternative{{"", "443", time.Minute}}},
		{`h3=":443";ma="60" ; persist=1`, []alternative{{"", "443", time.Minute}}},
		{`h3=":443"; MA=0`, []alternative{{"", "443", 0}}},
		{`h3=":443"; ma=99999999999`, []alternative{{"", "443", maxAge}}},
		{`h3=":443"; ma=x, h3=":444"`, []alternative{{"", "444", day}}},
		{`h2=":443", h3-29=":443", h3="alt.example:8443"; ma=1`, []alternative{{"alt.example", "8443", time.Second}}},
		{`h3="[2001:db8::1]:443"`, []alternative{{"2001:db8::1", "443", day}}},
		{`h3="\:443"`, []alternative{{"", "443", day}}},
		{` , h3=":1" ,, h3=":2"`, []alternative{{"", "1", day}, {"", "2", day}}},
		{`H3=":443"`, nil},
		{`h3=":0"`, nil},
		{`h3=":65536"`, nil},
		{`h3=":-1"`, nil},
		{`h3=":+1"`, nil},
		{`h3="443"`, nil},
		{`h3=":443`, nil},
		{`h3=:443`, []alternative{{"", "443", day}}},
		{`h3=`, nil},
		{`h3`, nil},
		{`h3=":443"; ma`, nil},
		{`h3=":443"; ma="`, nil},
		{`h3=":443" nonsense`, []alternative{{"", "443", day}}},
	} {
		if got := parseAltSvc(tt.field); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.field, got, tt.want)
		}
	}
	if got := parseAltSvc(strings.Repeat(`h3=":443",`, 1000)); len(got) != maxServices {
		t.Errorf("%d alternatives", len(got))
	}
}

func FuzzParseAltSvc(f *testing.F) {
	for _, seed := range []string{`clear`, `h3=":443"; ma=60; persist=1`, `h2="a:1", h3="[::1]:8443";ma="6\0"`, `h3=":443`, `h3=":443";;;`, `=`, `h3=":1" ,, h3=":2"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, field string) {
		list := parseAltSvc(field)
		if len(list) > maxServices {
			t.Errorf("%d alternatives", len(list))
		}
		for _, a := range list {
			if a.port == "" || a.port == "0" || a.age < 0 || a.age > maxAge {
				t.Errorf("%+v", a)
			}
		}
	})
}

// TestServices follows the state of an origin minute by minute.
func TestServices(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	s := newServices()
	s.now = func() time.Time { return now }
	o := origin{"www.example", "443"}
	for _, tt := range []struct {
		after time.Duration
		field string // "" if the field is missing
		age   string
		fail  string
		want  string // "" for TCP
	}{
		{want: "www.example:443"},
		{field: `h3=":8443"; ma=120`, want: "www.example:8443"},
		{after: time.Minute, want: "www.example:8443"},
		{after: time.Minute, want: "www.example:443"},
		{field: `h3=":8443"; ma=120`, age: "100", want: "www.example:8443"},
		{after: 30 * time.Second, want: "www.example:443"},
		{field: `h3=":8443"`, want: "www.example:8443"},
		{field: `h3=":9443"`, want: "www.example:9443"},
		{field: `clear`, want: "www.example:443"},
		{field: `h3="WWW.example:8443"`, want: "www.example:8443"},
		{field: `h3="other.example:443"`, want: "www.example:443"},
		{field: `h3="192.168.0.1:443"`, want: "www.example:443"},
		{field: `h3=":53"`, want: "www.example:443"},
		{field: `h2=":8443"`, want: "www.example:443"},
		{fail: "www.example:443", want: ""},
		{field: `h3=":8443"; ma=60`, want: "www.example:8443"},
		{fail: "www.example:8443", want: ""},
		{after: 2 * time.Minute, want: ""},
		{after: 3 * time.Minute, want: "www.example:443"},
	} {
		now = now.Add(tt.after)
		if tt.field != "" {
			s.learn(o, http.Header{"Alt-Svc": {tt.field}, "Age": {tt.age}})
		}
		if tt.fail != "" {
			s.fail(o, tt.fail)
		}
		if got, _ := s.at(o); got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
	if got, _ := s.at(origin{"www.example", "444"}); got != "www.example:444" {
		t.Errorf("another origin: %q", got)
	}
}

// TestServicesAreBounded checks the limits of the state that hostile servers can create.
func TestServicesAreBounded(t *testing.T) {
	t.Parallel()
	s := newServices()
	for i := range 3 * maxOrigins {
		o := origin{fmt.Sprint("host", i), "443"}
		s.learn(o, http.Header{"Alt-Svc": {`h3=":8443"`}})
		s.fail(o, o.addr())
	}
	if len(s.known) > maxOrigins || len(s.failed) > maxOrigins {
		t.Errorf("%d known, %d failed", len(s.known), len(s.failed))
	}
}
