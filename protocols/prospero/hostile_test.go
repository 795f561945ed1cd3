package prospero_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
)

// TestHostileLinks lists links whose names and targets are not fit for a line or a URL. None leads to a
// request with a line of the server's choice.
func TestHostileLinks(t *testing.T) {
	t.Parallel()
	place := "INTERNET-D pfs.example(1525) ASCII "
	list := "LINK L FILE '..' " + place + "'/a/../../etc/passwd' 0\n" +
		"LINK L FILE '' " + place + "'' 0\n" +
		"LINK L FILE 'a\r\nb' " + place + "'/x\r\nDELETE' 0\n" +
		"LINK L FILE 'nul\x00' " + place + "'/\x00' 0\n" +
		"LINK L EXTERNAL 'ftp' INTERNET-D 'ftp.example' ASCII 'x\r\nDELE y' 0\n" +
		"ATTRIBUTE LINK INTRINSIC ACCESS-METHOD SEQUENCE FTP '' '' '' '' BINARY\n" +
		"LINK L EXTERNAL 'gopher' INTERNET-D 'h.example(25)' ASCII '0x\r\nMAIL' 0\n" +
		"ATTRIBUTE LINK INTRINSIC ACCESS-METHOD SEQUENCE GOPHER '' '' '' '' 0\n" +
		"LINK L FILE 'host' INTERNET-D 'a b/c@d' ASCII /x 0\n" +
		"LINK L FILE 'port' INTERNET-D 'h.example(99999)' ASCII /x 0\n"
	var rec fetchtest.Recording
	c := drive.Client(t, &fetch.Options{Recorder: &rec}, quick)
	entries, err := drive.List(t, c, url(replyServer(t, list, ""), "/dir"))
	if err != nil || len(entries) != 8 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	for _, e := range entries {
		if strings.ContainsAny(e.URL.String(), "\r\n\x00 ") {
			t.Errorf("%q: URL %q", e.Name, e.URL)
		}
		if _, err := c.Explain(&fetch.Request{URL: e.URL}); e.URL.Scheme() == "ftp" && err == nil {
			t.Errorf("%q: %s is requested", e.Name, e.URL)
		}
	}
	for _, x := range rec.Exchanges() {
		if i := slices.IndexFunc(x.Lines, func(l string) bool { return strings.ContainsAny(l, "\r\n\x00") }); i >= 0 {
			t.Errorf("trace %q", x.Lines[i])
		}
	}
}
