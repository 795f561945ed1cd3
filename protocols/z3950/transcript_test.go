package z3950

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/transcript"
	"github.com/urlget/urlget/integration/lab"
	codec "github.com/urlget/urlget/internal/codec/z3950"
)

// computer is the first record of yaz-ztest.
const computer = "00366nam  22001698a 4500001001300000003000400013005001700017008004100034010001700179040001300075050001200088100001700100245003000117260001200147263000900159300001100168" +
	"\x1e   11224466 \x1eDLC\x1e00000000000000.0\x1e910710c19910701nju           00010 eng  " +
	"\x1e  \x1faDLC\x1fcDLC\x1e00\x1fa123-xyz\x1e10\x1faJack Collins\x1e10\x1faHow to program a computer\x1e1 \x1faPenguin\x1e  \x1fa8710\x1e  \x1fap. cm.\x1e  \x1fa   11224466 \x1e\x1d"

// TestTranscripts replays sessions recorded from Zebra, a search engine, and from yaz-ztest, which
// finds as many records as the query says. It compares the bytes of each request. With URLGET_WRITE=1
// it records the sessions again, from the servers of the lab.
func TestTranscripts(t *testing.T) {
	library, err := os.ReadFile("../../integration/lab/config/library.mrc")
	if err != nil {
		t.Fatal(err)
	}
	plums := strings.SplitAfter(string(library), "\x1d")[1]
	// For MARC, Zebra re-encodes a record and changes the entry map in its leader.
	written := strings.Replace(plums, "4500", "4504", 1)
	for name, tt := range map[string]struct {
		server string
		url    string
		op     fetch.Op
		want   string
		code   fetch.Code
	}{
		"record":           {"zebra", "z39.50s://HOST/Library?plums;item=1", fetch.OpGet, written, ""},
		"record-by-title":  {"zebra", "z39.50s://HOST/Library?@attr+1=4+plums;item=1", fetch.OpGet, written, ""},
		"record-as-stored": {"zebra", "z39.50s://HOST/Library?plums;esn=zebra::data;rs=xml;item=1", fetch.OpGet, plums, ""},
		"record-as-text":   {"ztest", "z39.50s://HOST/Default?24;item=3;rs=sutrs", fetch.OpGet, "This is dummy SUTRS record number 3\n", ""},
		"record-by-docid":  {"ztest", "z39.50r://HOST/Default?1", fetch.OpGet, computer, ""},
		"missing-record":   {"zebra", "z39.50s://HOST/Library?plums;item=9", fetch.OpGet, "", fetch.ErrNotFound},
		"missing-database": {"zebra", "z39.50s://HOST/none?fig", fetch.OpGet, "", fetch.ErrNotFound},
		"no-docids":        {"zebra", "z39.50r://HOST/Library?lab1", fetch.OpGet, "", fetch.ErrRefused},
		"no-hits":          {"zebra", "z39.50s://HOST/Library?figs", fetch.OpList, "", ""},
		"hits": {"zebra", "z39.50s://HOST/Library?@or+plums+saws", fetch.OpList,
			"# Plums and pears\r\nz39.50s://HOST/Library?@or+plums+saws;item=1\r\n# Saws\r\nz39.50s://HOST/Library?@or+plums+saws;item=2\r\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(addr string) {
				c := drive.Client(t, nil, Load)
				at := func(text string) string { return strings.ReplaceAll(text, "HOST", addr) }
				got, _, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse(at(tt.url)), Op: tt.op})
				if got != at(tt.want) || fetch.CodeOf(err) != tt.code {
					t.Errorf("%q, %v", got, err)
				}
			}
			start := func() []string { return []string{lab.StartRoot(t, tt.server, lab.TempDir(t)).Addr("plain")} }
			transcript.Replay(t, "testdata/"+name+".txtar", start, run, script)
		})
	}
}

var messageNames = map[uint32]string{
	codec.TagInit: "Init", codec.TagInitResponse: "InitResponse", codec.TagSearch: "Search", codec.TagSearchResponse: "SearchResponse",
	codec.TagPresent: "Present", codec.TagPresentResponse: "PresentResponse", codec.TagScan: "Scan", codec.TagScanResponse: "ScanResponse",
	codec.TagClose: "Close",
}

// script formats pieces, each of which holds one message, with the names of the messages.
func script(pieces []transcript.Piece) string {
	var b strings.Builder
	for _, p := range pieces {
		tag := uint32(p.Data[0] & 0x1f)
		if tag == 0x1f { // a multi-byte tag
			tag = uint32(p.Data[1])
		}
		fmt.Fprintf(&b, "# %s\n%v", messageNames[tag], p)
	}
	return b.String()
}
