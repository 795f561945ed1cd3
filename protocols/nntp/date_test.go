package nntp

import (
	"net/mail"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestParseDateMatchesStandardLibrary parses dates that package time has formatted.
func TestParseDateMatchesStandardLibrary(t *testing.T) {
	t.Parallel()
	layouts := []string{"Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 02 Jan 2006 15:04:05 -0700", "2 Jan 2006 15:04:05 -0700"}
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.IntRange(-23*60, 23*60).Draw(t, "zone") * 60
		when := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "time"), 0).In(time.FixedZone("", zone))
		text := when.Format(rapid.SampledFrom(layouts).Draw(t, "layout"))
		got, ok := parseDate(text)
		_, offset := got.Zone()
		if !ok || !got.Equal(when) || offset != zone {
			t.Fatalf("%q is %v, %t; want %v", text, got, ok, when)
		}
	})
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
