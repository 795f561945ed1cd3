package floorplan

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxColumns limits the lines of the product's Go files; a tab counts 4.
const maxColumns = 110

// wideFile has a row for each flag, which stays in one place however wide it is.
const wideFile = "cmd/urlget/internal/flags/table.go"

// structTag matches a field with a tag, which cannot be broken.
var structTag = regexp.MustCompile("^\t+\\w+ .*`\\w+:\".*\"`")

func TestLinesAreShort(t *testing.T) {
	t.Parallel()
	for _, name := range productFiles(t) {
		if name == wideFile || !isProduct(name) {
			continue
		}
		number := 0
		for line := range strings.Lines(read(t, name)) {
			number++
			if n := columns(line); n > maxColumns && !structTag.MatchString(line) {
				t.Errorf("%s:%d: the line has %d columns, more than %d", name, number, n, maxColumns)
			}
		}
	}
}

// columns returns the width of a line.
func columns(line string) int {
	return utf8.RuneCountInString(strings.TrimRight(line, "\n")) + 3*strings.Count(line, "\t")
}

func TestColumns(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]int{"": 0, "\n": 0, "\tx\n": 5, "grün\n": 4, "a\tb": 6} {
		if got := columns(line); got != want {
			t.Errorf("%q: %d columns, want %d", line, got, want)
		}
	}
}
