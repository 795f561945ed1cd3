package nntp

import (
	"math/rand/v2"
	"net/mail"
	"testing"
	"time"
)

// TestParseDateMatchesStandardLibrary parses dates that package time has formatted.
func TestParseDateMatchesStandardLibrary(t *testing.T) {
	t.Parallel()
	layouts := []string{"Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 02 Jan 2006 15:04:05 -0700", "2 Jan 2006 15:04:05 -0700"}
	for range 100 {
		zone := (rand.IntN(2*23*60+1) - 23*60) * 60
		when := time.Unix(rand.Int64N(4e9+1), 0).In(time.FixedZone("", zone))
		text := when.Format(layouts[rand.IntN(len(layouts))])
		got, ok := parseDate(text)
		_, offset := got.Zone()
		if !ok || !got.Equal(when) || offset != zone {
			t.Fatalf("%q is %v, %t; want %v", text, got, ok, when)
		}
	}
}

func TestInvalidDates(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "x", "Mon, ", "Mon, 00 Jan 2006 15:04:05 -0700", "Mon, 31 Feb 2006 15:04:05 -0700", "02 anF 2006 15:04:05 -0700",
		"02 Jan 2006 25:04:05 -0700", "02 Jan 2006 15:64:05 -0700", "02 Jan 2006 15:04:05 *0700", "0x Jan 2006 15:04:05 -0700",
		"02 Jan 2006 15:04:05 -0770",
	} {
		want, err := mail.ParseDate(s)
		if got, ok := parseDate(s); ok != (err == nil) || !got.Equal(want) {
			t.Errorf("%q is %v, %t; package mail says %v, %v", s, got, ok, want, err)
		}
	}
}
