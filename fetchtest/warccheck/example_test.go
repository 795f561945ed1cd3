package warccheck_test

import (
	"bytes"
	"compress/gzip"
	"fmt"

	"github.com/urlget/urlget/fetchtest/warccheck"
)

func ExampleRead() {
	var file bytes.Buffer
	member := gzip.NewWriter(&file)
	fmt.Fprint(member, "WARC/1.1\r\nWARC-Type: warcinfo\r\n"+
		"WARC-Record-ID: <urn:uuid:8f4b2f6a-5f1e-4a59-9a51-0f6c7a7d1c11>\r\n"+
		"WARC-Date: 1994-12-01T00:00:00Z\r\n"+
		"Content-Length: 0\r\n\r\n\r\n\r\n")
	member.Close()

	records, err := warccheck.Read(file.Bytes())
	fmt.Println(len(records), err)
	// Output: 1 <nil>
}
