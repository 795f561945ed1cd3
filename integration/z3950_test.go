//go:build integration

package integration

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/integration/lab"
	"github.com/urlget/urlget/protocols/z3950"
)

// TestYazRecords searches yaz-ztest for a number of records.
func TestYazRecords(t *testing.T) {
	s := lab.Start(t, "ztest")
	c := directoryClient(t, z3950.Load)
	base := "z39.50s://" + s.Addr("plain") + "/"
	// SHA-256 of the third record as saved by yaz-client ("set_marcdump FILE", "show 3").
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
		t.Errorf("record of a document ID: %q, %v; want %q", got, err, first)
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

// TestZebraRecords searches Zebra's records of config/library.mrc by words and titles.
func TestZebraRecords(t *testing.T) {
	s := lab.Start(t, "zebra")
	c := directoryClient(t, z3950.Load)
	base := "z39.50s://" + s.Addr("plain") + "/"
	library, err := os.ReadFile("lab/config/library.mrc")
	if err != nil {
		t.Fatal(err)
	}
	records := strings.SplitAfter(string(library), "\x1d")[:3]
	// In MARC format, the server rewrites a record, and its leader has the lengths of the directory
	// parts: "4504", as in yaz-client's output. As data, it sends the record unchanged.
	saved := strings.Replace(records[1], "4500", "4504", 1)
	for url, want := range map[string]string{
		"Library?plums;item=1":                                 saved,
		"Library?@attr+1=4+plums;item=1":                       saved,
		"Library?plums;esn=zebra::data;rs=xml;item=1":          records[1],
		"Library?@attr+1=4+saws;esn=zebra::data;rs=xml;item=1": records[2],
	} {
		if got, err := text(t, c, base+url); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", url, got, err, want)
		}
	}
	byID := strings.Replace(base, "z39.50s", "z39.50r", 1)
	if got, err := text(t, c, byID+"Library?lab1"); !errors.Is(err, fetch.ErrRefused) {
		t.Errorf("by docid, which Debian's rules have no index of: %q, %v", got, err)
	}
	for url, code := range map[string]fetch.Code{
		"Library?plums;item=2": fetch.ErrNotFound, "Library?figs;item=1": fetch.ErrNotFound, "Nowhere?plums;item=1": fetch.ErrNotFound,
	} {
		if _, err := text(t, c, base+url); !errors.Is(err, code) {
			t.Errorf("%s: %v, want %v", url, err, code)
		}
	}
	for query, want := range map[string]int{"the": 1, "@or+plums+saws": 2, "figs": 0} {
		n := 0
		for e, err := range c.List(t.Context(), base+"Library?"+query) {
			if err != nil || e.URL.IsZero() {
				t.Fatal(query, e, err)
			}
			n++
		}
		if n != want {
			t.Errorf("%s: found %d records, want %d", query, n, want)
		}
	}
}
