package warc

import (
	"bytes"
	"strings"
	"testing"
)

func TestIndexEntriesKnowTheirLine(t *testing.T) {
	t.Parallel()
	entry := func(url string) string { return string(IndexEntry{URL: url, File: "a.warc"}.AppendTo(nil)) }
	for name, before := range map[string]string{
		"first line":     "",
		"coverage":       string(coverage{"a.warc", 7}.appendTo(nil)),
		"invalid line":   "no entry\n",
		"overlong line":  strings.Repeat("x", 3*maxLine+5) + "\n",
		"overlong entry": entry("http://h/" + strings.Repeat("x", maxLine)),
		"entry":          entry("http://h/other"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			index, got := before+entry("http://h/last"), int64(-1)
			err := ReadIndex(strings.NewReader(index), func(e IndexEntry) error {
				got = e.Line
				line, _, _ := bytes.Cut([]byte(index[e.Line:]), []byte("\n"))
				if same := (IndexEntry{}); !same.Parse(line) || same.URL != e.URL {
					t.Errorf("%s is at %d: %.80q", e.URL, e.Line, line)
				}
				return nil
			})
			if err != nil || got != int64(len(before)) {
				t.Errorf("the last line is at %d, want %d: %v", got, len(before), err)
			}
		})
	}
}
