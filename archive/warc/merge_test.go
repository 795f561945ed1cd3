package warc_test

import (
	"bufio"
	"io"
	"strings"
	"testing"

	"github.com/urlget/urlget/archive/warc"
)

func TestMergeIndexes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		in   []string
		want string
		err  string
	}{
		{"none", nil, "", ""},
		{"one", []string{"a\nb\n"}, "a\nb\n", ""},
		{"several", []string{"b\nd\n", "", "a\nc\ne", "\nf\n"}, "a\nb\nc\nd\ne\nf\n", ""},
		{"duplicate lines", []string{"a\nb\n", "a\nb\nb\n"}, "a\nb\n", ""},
		{"coverage lines come first", []string{"!urlget {}\nz\n", "!urlget {1}\na\n"}, "!urlget {1}\n!urlget {}\na\nz\n", ""},
		{"out of order", []string{"b\na\n"}, "", "index is not sorted: \"a\" after \"b\""},
		{"a line beyond the limit", []string{strings.Repeat("x", 1<<20)}, "", bufio.ErrTooLong.Error()},
	} {
		var readers []io.Reader
		for _, text := range tt.in {
			readers = append(readers, strings.NewReader(text))
		}
		var out strings.Builder
		n, err := warc.MergeIndexes(&out, readers...)
		if tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%s: %v, want %s", tt.name, err, tt.err)
			}
			continue
		}
		if err != nil || out.String() != tt.want || n != int64(strings.Count(tt.want, "\n")) {
			t.Errorf("%s: %q, %d, %v; want %q", tt.name, out.String(), n, err, tt.want)
		}
	}
}
