package main

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOutdatedPictureIsFound(t *testing.T) {
	t.Parallel()
	recorded := []step{{"ls", []string{"<a>", "b"}}, {"get", []string{"saved x in 1.2 s, 3.4 MiB/s"}}}
	file := filepath.Join(t.TempDir(), "picture.svg")
	if err := os.WriteFile(file, picture(recorded), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		ls, get []string
		want    string // empty: up to date
	}{
		{[]string{"<a>", "b"}, []string{"saved x in 1.2 s, 3.4 MiB/s"}, ""},
		{[]string{"b", "<a>"}, []string{"saved x in 0.3 s, 12.5 KiB/s"}, ""},
		{[]string{"<a>", "c"}, []string{"saved x in 1.2 s, 3.4 MiB/s"}, "\n+ c\n- b\n"},
		{[]string{"<a>"}, []string{"saved x in 1.2 s, 3.4 MiB/s"}, "\n- b\n"},
		{[]string{"<a>", "b", "b"}, []string{"saved x in 1.2 s, 3.4 MiB/s"}, "\n+ b\n"},
		{[]string{"<a>", "b"}, []string{"saved y in 1.2 s, 3.4 MiB/s"}, "\n+ saved y in N, N\n- saved x in N, N\n"},
	} {
		err := compare(file, []step{{"ls", tt.ls}, {"get", tt.get}})
		if (err == nil) != (tt.want == "") || err != nil && !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("%q %q: %v, want %q", tt.ls, tt.get, err, tt.want)
		}
	}
}

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
	if !slices.Equal(p.Text, want) {
		t.Errorf("%q, want %q", p.Text, want)
	}
	if !strings.Contains(p.Desc, "$ true\n") {
		t.Errorf("description %q", p.Desc)
	}
}
