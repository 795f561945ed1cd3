package job

import (
	"bufio"
	"errors"
	"io"
	"iter"
	"strings"

	"github.com/urlget/urlget/fetch/uri"
)

// A Line of a list has a URL, or a job as JSON.
type Line struct {
	Number int // from 1
	Text   string
}

// ErrLongLine is the error of Lines for a line that is too long for a URL.
var ErrLongLine = errors.New("job: line too long for a URL")

// Lines returns the lines of a list of URLs, without comments, blanks around them and empty lines.
// The error, if there is one, comes last, with the line where it occurred.
func Lines(r io.Reader) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		whole := &endReader{r: r}
		lines := bufio.NewScanner(whole)
		lines.Buffer(nil, uri.MaxLen)
		lines.Split(func(data []byte, atEnd bool) (int, []byte, error) {
			return bufio.ScanLines(data, atEnd && whole.err == io.EOF) // half a URL leads somewhere else
		})
		n := 1
		for ; lines.Scan(); n++ {
			text := withoutComment(strings.TrimPrefix(lines.Text(), "\ufeff"))
			if text != "" && !yield(Line{n, text}, nil) {
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

// An endReader remembers how what it reads ended.
type endReader struct {
	r   io.Reader
	err error
}

func (r *endReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	r.err = err
	return n, err
}

// withoutComment returns a line without blanks around it and without what follows a "#" at its
// start or after a blank. JSON has no comments.
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
