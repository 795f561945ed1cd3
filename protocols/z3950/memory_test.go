package z3950

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/z3950d"
)

// TestListingMemory lists 10,000 records in many requests. It is not parallel because it measures the
// heap.
func TestListingMemory(t *testing.T) {
	const count = 10_000
	s, host := start(t, z3950d.Options{Synthetic: count})
	c := drive.Client(t, nil, Load)
	n := 0
	fetchtest.LiveHeap(t, 24<<20, func() {
		for e, err := range c.List(t.Context(), "z39.50s://"+host+"/many?record") {
			if err != nil {
				t.Fatal(err)
			}
			if n++; e.Name != fmt.Sprintf("record %d of many", n) {
				t.Fatalf("%d: %s", n, e.Name)
			}
		}
	})
	presents := 0
	for _, line := range s.Log() {
		if strings.HasPrefix(line, "PRESENT") {
			presents++
		}
	}
	if n != count || presents < count/recordsPerRequest || presents > count/recordsPerRequest+4 {
		t.Errorf("%d records in %d requests", n, presents)
	}
}

// TestRecordMemory streams a large record that the driver must not buffer.
func TestRecordMemory(t *testing.T) {
	fetchtest.Long(t) // before LiveHeap, because the server encodes the record when it is opened
	const size = 32 << 20
	_, host := start(t, z3950d.Options{Tree: fstest.MapFS{"db/x.xml": {Data: make([]byte, size)}}})
	c := drive.Client(t, nil, Load)
	resp, err := c.Get(t.Context(), "z39.50r://"+host+"/db?x.xml")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	fetchtest.LiveHeap(t, 8<<20, func() {
		if n, err := io.Copy(io.Discard, resp.Body); n != size || err != nil || resp.Size != size {
			t.Errorf("%d bytes, %v; announced size %d", n, err, resp.Size)
		}
	})
}
