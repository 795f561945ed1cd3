package fetch_test

import (
	"context"
	"io"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
)

// Implausible modification times of resources and entries are dropped, except those of local
// resources.
func TestImplausibleTimes(t *testing.T) {
	t.Parallel()
	for year, plausible := range map[int]bool{1: false, 1600: false, 1900: false, 1969: false, 1970: true, 1994: true, 2038: true,
		2106: true, 2200: true, 2201: false, 2300: false, 9999: false} {
		when := time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC)
		far := fetch.DriverFunc(func(context.Context, *fetch.Request) (*fetch.Response, error) {
			return &fetch.Response{
				Meta: fetch.Meta{Kind: fetch.KindListing, Size: -1, Validator: fetch.Validator{ModTime: when}},
				Body: io.NopCloser(strings.NewReader("x")),
				Parse: func(io.Reader) iter.Seq2[fetch.Entry, error] {
					return func(yield func(fetch.Entry, error) bool) { yield(fetch.Entry{Name: "x", ModTime: when}, nil) }
				},
			}, nil
		})
		c := fetch.New(&fetch.Options{Proxy: noProxy}, fetch.Use("x-far", far), func(_ fetch.Env, reg *fetch.Registry) {
			reg.Register(fetch.Scheme{Name: "x-near", Ops: []fetch.Op{fetch.OpGet}, Local: true, Driver: far})
		})
		for u, want := range map[string]bool{"x-far://h/": plausible, "x-near:/": true} {
			resp, err := c.Get(t.Context(), u)
			if err != nil {
				t.Fatal(err)
			}
			if resp.ModTime.Equal(when) != want || !want && !resp.ModTime.IsZero() {
				t.Errorf("%s of the year %d: time %v", u, year, resp.ModTime)
			}
			for e := range resp.Entries {
				if e.ModTime.Equal(when) != want || !want && !e.ModTime.IsZero() {
					t.Errorf("an entry of %s of the year %d: time %v", u, year, e.ModTime)
				}
			}
			resp.Body.Close()
		}
	}
}
