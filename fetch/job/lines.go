package job

import (
	"bufio"
	"errors"
	"io"
	"iter"
	"strings"

	"github.com/urlget/urlget/fetch/uri"
)

// A Line is a line of a list: a URL, or a job as JSON.
type Line struct {
	Number   int // from 1
	Text     string
	Indented bool // the line begins with white space
}

// ErrLongLine is returned by Lines for a line that is too long for a URL.
var ErrLongLine = errors.New("job: line too long for a URL")

// Lines returns the lines of a list of URLs, without comments, surrounding white space and empty
// lines. An error is yielded last, with the number of its line.
func Lines(r io.Reader) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		whole := &endReader{r: r}
		lines := bufio.NewScanner(whole)
		lines.Buffer(nil, uri.MaxLen)
		lines.Split(func(data []byte, atEnd bool) (int, []byte, error) {
			return bufio.ScanLines(data, atEnd && whole.err == io.EOF) // do not yield a truncated URL
		})
		n := 1
		for ; lines.Scan(); n++ {
			line := lines.Text()
			text := withoutComment(strings.TrimPrefix(line, "\ufeff"))
			indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
			if text != "" && !yield(Line{n, text, indented}, nil) {
				return
			}
		}
		err := lines.Err()
		if errors.Is(err, bufio.ErrTooLong) {
			err = ErrLongLine
		}
		if err != nil {
			yield(Line{Number: n}, err)
		}
	}
}

type endReader struct {
	r   io.Reader
	err error
}

func (r *endReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	r.err = err
	return n, err
}

// withoutComment trims white space and removes a comment: "#" at the start of the line or after a
// blank, and the rest of the line. A line of JSON is not changed.
func withoutComment(line string) string {
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, "{") {
		return line
	}
	for i := range len(line) {
		if line[i] == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			return strings.TrimSpace(line[:i])
		}
	}
	return line
}
