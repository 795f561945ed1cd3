package floorplan

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var quoted = regexp.MustCompile("`([^`]+)`")

// TestLimitsExist compares docs/limits.md with the code: the file of each limit contains its
// name, and its tests exist.
func TestLimitsExist(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "|") || len(cells) != 4 || strings.Contains(line, "---") || strings.TrimSpace(cells[0]) == "limit" {
			continue
		}
		rows++
		name := strings.TrimSpace(cells[0])
		set, held := quoted.FindAllStringSubmatch(cells[2], -1), quoted.FindAllStringSubmatch(cells[3], -1)
		if len(set) < 2 || len(held) < 2 {
			t.Errorf("%s: want a file and a name, a package and a test", name)
			continue
		}
		code := read(t, set[0][1])
		for _, s := range set[1:] {
			if !regexp.MustCompile(`\b` + regexp.QuoteMeta(s[1]) + `\b`).MatchString(code) {
				t.Errorf("%s: %s has no %s", name, set[0][1], s[1])
			}
		}
		tests := readTests(t, held[0][1])
		for _, h := range held[1:] {
			if !strings.Contains(tests, "\nfunc "+h[1]+"(") {
				t.Errorf("%s: %s has no %s", name, held[0][1], h[1])
			}
		}
	}
	if rows < 10 {
		t.Errorf("only %d rows were found", rows)
	}
}

// readTests returns the tests of a package.
func readTests(t *testing.T, pkg string) string {
	t.Helper()
	files, _ := filepath.Glob("../../" + pkg + "/*_test.go")
	var text strings.Builder
	for _, f := range files {
		text.WriteString(read(t, strings.TrimPrefix(f, "../../")))
	}
	return text.String()
}

// read returns a file of the repository. It reports an error for a missing one.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}
