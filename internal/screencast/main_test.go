package main

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestPictureIsUpToDate runs the commands and compares the output with the picture, without times
// and rates.
func TestPictureIsUpToDate(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds and runs urlget")
	}
	top := filepath.Join("..", "..")
	file := filepath.Join(top, "docs", "img", "terminal.svg")
	steps, err := record(t.Context(), top, nil) // on free ports
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var shown struct {
		Desc string `xml:"desc"`
	}
	if err := xml.Unmarshal(text, &shown); err != nil {
		t.Fatal(err)
	}
	// Parallel transfers end in any order.
	stable := func(s string) []string {
		lines := strings.Split(measured.ReplaceAllString(s, "N $1"), "\n")
		slices.Sort(lines)
		return lines
	}
	if diff := cmp.Diff(stable(transcript(steps)), stable(shown.Desc)); diff != "" {
		t.Errorf("docs/img/terminal.svg differs from the output; run go run ./internal/screencast\n%s", diff)
	}
}

// measured matches the parts of the output that differ between runs.
var measured = regexp.MustCompile(`[0-9.]+ (s\b|[KMG]?i?B/s)`)

func TestPictureShowsEveryLine(t *testing.T) {
	t.Parallel()
	steps := []step{{"echo '<a>' & true", []string{"<a>", "", "b"}}, {"true", []string{""}}}
	var p struct {
		Desc string   `xml:"desc"`
		Text []string `xml:"text"`
	}
	if err := xml.Unmarshal(picture(steps), &p); err != nil {
		t.Fatal(err)
	}
	want := []string{"$ echo '<a>' & true", "<a>", "", "b", "$ true", ""}
	if diff := cmp.Diff(want, p.Text); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(p.Desc, "$ true\n") {
		t.Errorf("description %q", p.Desc)
	}
}
