package warc

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"
	"time"
)

// Short requests are stored, unless their headers are too long for that.
func TestRequestsAreMembersOfAnyLength(t *testing.T) {
	t.Parallel()
	for _, length := range []int{0, 1, 1 << 15, 1 << 16, 1 << 17} {
		var file bytes.Buffer
		w := &Writer{}
		want := ""
		for _, text := range []string{"GET / HTTP/1.1\r\n\r\n", ""} {
			d := &Draft{Header: NewHeader(Request, "application/http", strings.Repeat("x", length), time.Unix(0, 0)), Block: newSpool("")}
			io.WriteString(d.Block, text)
			var plain bytes.Buffer
			if err := d.write(&plain); err != nil {
				t.Fatal(err)
			}
			if err := w.encode(&file, d); err != nil {
				t.Fatal(err)
			}
			want += plain.String()
		}
		z, err := gzip.NewReader(&file)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(z); err != nil || string(got) != want {
			t.Errorf("%d bytes: %d bytes instead of %d, %v", length, len(got), len(want), err)
		}
	}
}
