package z3950

import (
	"fmt"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers/z3950d"
	codec "github.com/urlget/urlget/internal/codec/z3950"
	"github.com/urlget/urlget/internal/transcript"
)

// TestTranscripts holds each request to the bytes of a conversation. With URLGET_WRITE=1 those are
// recorded anew, from the server of the tests.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		url  string
		op   fetch.Op
		want string
		code fetch.Code
	}{
		"record":           {"z39.50r://HOST/fruit?pear.mrc", fetch.OpGet, string(pear), ""},
		"record-as-xml":    {"z39.50s://HOST/fruit?plum;rs=xml;item=1", fetch.OpGet, plum, ""},
		"missing-record":   {"z39.50s://HOST/fruit?pear;item=9", fetch.OpGet, "", fetch.ErrNotFound},
		"missing-database": {"z39.50r://HOST/none?fig", fetch.OpGet, "", fetch.ErrNotFound},
		"hits":             {"z39.50s://HOST/fruit?pear", fetch.OpList, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := func(addr string) {
				c := fetch.New(nil, Load)
				defer c.Close()
				_, got, err := read(t.Context(), c, &fetch.Request{URL: uri.MustParse(strings.Replace(tt.url, "HOST", addr, 1)), Op: tt.op})
				if tt.op != fetch.OpList && got != tt.want || tt.op == fetch.OpList && got == "" || fetch.CodeOf(err) != tt.code {
					t.Errorf("%q, %v", got, err)
				}
			}
			transcript.Replay(t, "testdata/"+name+".txtar", func() string { return z3950d.Start(t, z3950d.Options{Tree: library}).Addr }, run, script)
		})
	}
}

var messageNames = map[uint32]string{
	codec.TagInit: "Init", codec.TagInitResponse: "InitResponse", codec.TagSearch: "Search", codec.TagSearchResponse: "SearchResponse",
	codec.TagPresent: "Present", codec.TagPresentResponse: "PresentResponse", codec.TagScan: "Scan", codec.TagScanResponse: "ScanResponse",
	codec.TagClose: "Close",
}

// script writes messages down, under their names. In each piece there is one.
func script(pieces []transcript.Piece) string {
	var b strings.Builder
	for _, p := range pieces {
		tag := uint32(p.Data[0] & 0x1f)
		if tag == 0x1f { // it does not fit
			tag = uint32(p.Data[1])
		}
		fmt.Fprintf(&b, "# %s\n%v", messageNames[tag], p)
	}
	return b.String()
}
