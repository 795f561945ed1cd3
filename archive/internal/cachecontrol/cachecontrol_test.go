package cachecontrol

import (
	"net/textproto"
	"testing"
	"time"
)

func TestFields(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text    string
		seconds time.Duration // of max-age; -1 if there is none
		noStore bool
	}{
		{"", -1, false},
		{"max-age=1, no-store", time.Second, true},
		{`MAX-AGE="1",NO-STORE`, time.Second, true},
		{"max-age =1", 0, false},
		{"max-age= 1", 0, false},
		{"max-age='1'", 0, false},
		{"max-age", 0, false},
		{"max-age=+1", 0, false},
		{"max-age=4294967296", Infinite, false},
		{"max-age=99999999999999999999999", Infinite, false},
		{`x="max-age=2, no-store", max-age=1`, time.Second, false},
		{`x="\", no-store", max-age=1`, time.Second, false},
		{`x="no-store, max-age=1`, -1, false}, // the string has no end
		{",, ,no-store =x,", -1, true},
		{"no-storex, max-age2=1", -1, false},
	} {
		f := Of(textproto.MIMEHeader{"Cache-Control": {tt.text}})
		got, ok := f.Seconds("max-age")
		if !ok {
			got = -1
		}
		if got != tt.seconds || f.Has("no-store") != tt.noStore {
			t.Errorf("%s: max-age %v, no-store %t", tt.text, got, f.Has("no-store"))
		}
	}
}

// Must-understand replaces no-store for the statuses whose rules are known.
func TestForbidsStore(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text   string
		status int
		want   bool
	}{
		{"max-age=1", 299, false},
		{"no-store", 200, true},
		{"no-store, must-understand", 200, false},
		{"no-store, must-understand", 299, true},
		{"must-understand", 299, true},
		{"must-understand", 404, false},
	} {
		if got := Of(textproto.MIMEHeader{"Cache-Control": {tt.text}}).ForbidsStore(tt.status); got != tt.want {
			t.Errorf("%s, status %d: %t", tt.text, tt.status, got)
		}
	}
}
