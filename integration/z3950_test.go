//go:build integration

package integration

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/integration/lab"
	"github.com/urlget/urlget/protocols/z3950"
)

// TestYazRecords has yaz-ztest find as many records as the query says.
func TestYazRecords(t *testing.T) {
	s := lab.Start(t, "ztest")
	c := directoryClient(t, z3950.Load)
	base := "z39.50s://" + s.Addr("plain") + "/"
	// What yaz-client saves of the third record ("set_marcdump FILE", "show 3").
	const third = "fc2077ab41a1aae39ee77088452122a6722c64b4e1e633de2e1ffc859a15821b"
	got, err := text(t, c, base+"Default?24;item=3")
	if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(got))); err != nil || sum != third {
		t.Errorf("the third of 24 records: %d bytes with the digest %s, %v", len(got), sum, err)
	}
	if got, err := text(t, c, base+"Default?24;item=3;rs=sutrs"); err != nil || !strings.Contains(got, "record number 3") {
		t.Errorf("as text: %q, %v", got, err)
	}
	first, err := text(t, c, base+"Default?24;item=1")
	if err != nil {
		t.Error(err)
	}
	byID := strings.Replace(base, "z39.50s", "z39.50r", 1)
	if got, err := text(t, c, byID+"Default?1"); err != nil || got != first {
		t.Errorf("the one record of a docid: %q, %v; want %q", got, err, first)
	}
	if got, err := text(t, c, byID+"Default?24"); err == nil {
		t.Errorf("one of 24 records: %q", got)
	}
	for url, code := range map[string]fetch.Code{
		"Default?24;item=25": fetch.ErrNotFound, "Nowhere?24;item=1": fetch.ErrNotFound,
	} {
		if _, err := text(t, c, base+url); !errors.Is(err, code) {
			t.Errorf("%s: %v, want %v", url, err, code)
		}
	}
	n := 0
	for e, err := range c.List(t.Context(), base+"Default?10000") {
		if err != nil || e.URL.IsZero() {
			t.Fatal(e, err)
		}
		n++
	}
	if n != 10_000 {
		t.Errorf("%d of 10,000 records are listed", n)
	}
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			if got, err := text(t, c, fmt.Sprintf("%sDefault?100;item=%d", base, i+1)); err != nil || len(got) < 100 {
				t.Errorf("record %d of 64 at once: %d bytes, %v", i+1, len(got), err)
			}
		})
	}
	wg.Wait()
}
