package flags

import (
	"io"
	"os"
	"strings"
)

// FirstLine returns the first line of a file, without its line ending.
func FirstLine(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	line, err := ReadLine(f)
	if err == io.EOF {
		err = nil
	}
	return strings.TrimPrefix(line, "\ufeff"), err // editors on Windows write a mark
}

// maxInputLine limits the length of an input line, in bytes.
const maxInputLine = 64 << 10

// ReadLine reads a line byte by byte, so that other readers get the rest. If it returns an error, the
// line may be incomplete.
func ReadLine(r io.Reader) (string, error) {
	var line []byte
	var b [1]byte
	for len(line) < maxInputLine {
		n, err := r.Read(b[:])
		switch {
		case n == 1 && b[0] == '\n':
			return strings.TrimSuffix(string(line), "\r"), nil
		case n == 1:
			line = append(line, b[0])
		case err != nil:
			return string(line), err
		}
	}
	return "", io.ErrShortBuffer
}
