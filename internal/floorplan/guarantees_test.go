package floorplan

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// definitions are the beginnings of the sentences in the guarantees that promise nothing: they set
// the scope of the others, or name a page.
var definitions = []string{"Each guarantee holds", "A breach is", "docs/limits.md lists", "docs/warc.md lists"}

var (
	summary     = regexp.MustCompile(`(?m)^ *- (\*\*[^*]+\.\*\* )?`)
	link        = regexp.MustCompile(`\[([^]]+)\]\([^)]+\)`)
	endOfPhrase = regexp.MustCompile(`\.\s+`)
)

// sentences splits the section of SECURITY.md. It drops the bold summaries of list items.
func sentences(section string) []string {
	section = strings.ReplaceAll(summary.ReplaceAllString(section, "\n\n"), "**", "")
	section = link.ReplaceAllString(section, "$1")
	var all []string
	for paragraph := range strings.SplitSeq(section, "\n\n") {
		for _, s := range endOfPhrase.Split(strings.Join(strings.Fields(paragraph), " ")+" ", -1) {
			if s = strings.TrimSpace(s); s != "" {
				all = append(all, s)
			}
		}
	}
	return all
}

// TestGuaranteesHaveTests compares the sentences of the guarantees in SECURITY.md with the table of
// their tests: each promise has a row, in the same order, and the tests exist.
func TestGuaranteesHaveTests(t *testing.T) {
	t.Parallel()
	_, text, _ := strings.Cut(read(t, "SECURITY.md"), "\n## Guarantees\n")
	section, text, _ := strings.Cut(text, "\n## ")
	_, table, _ := strings.Cut(text, "## Tests of the guarantees\n")
	var promises []string
	defined := 0
	for _, s := range sentences(section) {
		if slices.ContainsFunc(definitions, func(d string) bool { return strings.HasPrefix(s, d) }) {
			defined++
			continue
		}
		promises = append(promises, s)
	}
	if defined != len(definitions) || len(promises) < 40 {
		t.Errorf("%d of %d definitions and %d promises were found", defined, len(definitions), len(promises))
	}
	var rows []string
	sources := map[string]string{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "|") || len(cells) != 2 || strings.Contains(line, "---") || strings.TrimSpace(cells[0]) == "sentence" {
			continue
		}
		begin := strings.TrimSpace(cells[0])
		rows = append(rows, begin)
		tests := quoted.FindAllStringSubmatch(cells[1], -1)
		if len(tests) == 0 {
			t.Errorf("%s: no tests", begin)
		}
		for _, test := range tests {
			if !testExists(t, test[1], sources) {
				t.Errorf("%s: there is no test %s", begin, test[1])
			}
		}
	}
	for _, s := range promises {
		if n := count(rows, func(row string) bool { return strings.HasPrefix(s, row) }); n != 1 {
			t.Errorf("%d rows for %q, want 1", n, s)
		}
	}
	for _, row := range rows {
		if n := count(promises, func(s string) bool { return strings.HasPrefix(s, row) }); n != 1 {
			t.Errorf("%d sentences begin with %q, want 1", n, row)
		}
	}
	if t.Failed() {
		return
	}
	for i, row := range rows {
		if !strings.HasPrefix(promises[i], row) {
			t.Fatalf("row %d is %q, want that for %q", i+1, row, promises[i])
		}
	}
}

func count(all []string, match func(string) bool) (n int) {
	for _, s := range all {
		if match(s) {
			n++
		}
	}
	return n
}

// testExists reports whether a test exists: PACKAGE.TestName, PACKAGE.TestScripts/NAME for a
// script, or fetchtest.Run/CASE for a case of the suite. Sources caches the tests of packages.
func testExists(t *testing.T, name string, sources map[string]string) bool {
	t.Helper()
	if suite, ok := strings.CutPrefix(name, "fetchtest.Run/"); ok {
		return strings.Contains(read(t, "fetchtest/bodies.go"), "\n\t{\""+suite+"\", ")
	}
	pkg, test, _ := strings.Cut(name, ".")
	test, script, isScript := strings.Cut(test, "/")
	if isScript {
		if _, err := os.Stat("../../" + pkg + "/testdata/script/" + script + ".txtar"); err != nil || test != "TestScripts" {
			return false
		}
	}
	if sources[pkg] == "" {
		sources[pkg] = readTests(t, pkg)
	}
	return strings.Contains(sources[pkg], "\nfunc "+test+"(")
}
