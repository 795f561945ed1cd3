package serve_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/serve"
)

func TestHistoryIsKeptInAFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "new", "history")
	keep := func(o *serve.Options, _ *fetch.Options) { o.History = file }
	site := web(t, "text/plain", "a page").URL
	first := start(t, keep)
	first.open("data:,%3Cb%3E\"hello")
	first.open(strings.Replace(site, "http://", "http://alice:hunter2@", 1) + "/secret?x=1")
	first.get(first.open("data:text/html,<a href="+site+"/led>a</a>").find(t, "/content?"))
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the file has mode %v, %v", info.Mode(), err)
	}
	text, _ := os.ReadFile(file)
	if strings.Contains(string(text), "hunter2") || strings.Count(string(text), "\n") != 3 {
		t.Errorf("the file is %s", text)
	}
	if err := os.WriteFile(file, append(text, "rubbish\n{\"url\":\"relative\"}\n{\"time\":\"2026-01-02T03:04:05Z\",\"url\":\"ftp://h.example/led\",\"from\":\"http://evil.example/\",\"foreign\":true,\"title\":\"Led\"}\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	second := start(t, keep)
	p := second.get("/history")
	p.want(t, http.StatusOK, ">Led</a>", "The history is kept in", "data:,%3Cb%3E", `<option value="ftp://h.example/led">Led</option>`, "/secret?x=1</small>")
	p.without(t, "relative", "hunter2")
	p.find(t, "/view?", "f=http://evil.example/", "x=1", "u=ftp://h.example/led") // it is still a link of another server
	second.open("data:,again")
	if info, _ := os.Stat(file); info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v", info.Mode())
	}
	second.post("/forget", nil).without(t, "Led")
	if _, err := os.Stat(file); err == nil {
		t.Error("the file is still there")
	}
	start(t, keep).get("/history").without(t, "Led")
}

func TestHistoryThatCannotBeKept(t *testing.T) {
	t.Parallel()
	u := start(t, func(o *serve.Options, _ *fetch.Options) { o.History = t.TempDir() })
	u.open("data:,hello").want(t, http.StatusOK, "hello", "history: ")
}

func TestHistoryFilesAreShortened(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "history")
	line := `{"time":"2026-01-02T03:04:05Z","url":"ftp://h.example/NUMBER","title":"x"}` + "\n"
	var text strings.Builder
	for i := range 3000 {
		text.WriteString(strings.Replace(line, "NUMBER", strings.Repeat("x", i%7), 1))
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, func(o *serve.Options, _ *fetch.Options) { o.History = file }).get("/history").want(t, http.StatusOK, "ftp://h.example/xxxxxx")
	if short, _ := os.ReadFile(file); strings.Count(string(short), "\n") != 1000 {
		t.Errorf("the file has %d lines", strings.Count(string(short), "\n"))
	}
}

func visitLine(url string) string {
	return `{"time":"2026-01-02T03:04:05Z","url":"` + url + `","title":"x"}` + "\n"
}

func TestDamagedHistoriesLoseNoOtherLine(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]string{
		"a long line":        visitLine("ftp://h.example/" + strings.Repeat("&", 1<<20)),
		"a line that is cut": `{"time":"2026-01-02T0`,
		"NULs":               strings.Repeat("\x00", 4096) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "history")
			keep := func(o *serve.Options, _ *fetch.Options) { o.History = file }
			before, after := visitLine("ftp://h.example/before"), visitLine("ftp://h.example/after")
			if strings.HasSuffix(damage, "\n") {
				damage += after
			}
			if err := os.WriteFile(file, []byte(before+damage), 0o600); err != nil {
				t.Fatal(err)
			}
			u := start(t, keep)
			u.open("data:,one")
			text, err := os.ReadFile(file)
			if err != nil || !strings.HasPrefix(string(text), before+damage) {
				t.Errorf("the lines of before are gone: %.1000q, %v", text, err)
			}
			want := []string{"ftp://h.example/before", "data:,one"}
			if strings.HasSuffix(damage, "\n") {
				want = append(want, "ftp://h.example/after")
			}
			start(t, keep).get("/history").want(t, http.StatusOK, want...)
		})
	}
}

// TestLongURLsAreNoLinesOfTheHistory visits a URL whose characters take six times as much space in JSON.
func TestLongURLsAreNoLinesOfTheHistory(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "history")
	keep := func(o *serve.Options, _ *fetch.Options) { o.History = file }
	u := start(t, keep)
	u.open("data:,one")
	u.open("data:," + strings.Repeat("&", 40_000))
	u.open("data:,two")
	start(t, keep).get("/history").want(t, http.StatusOK, "data:,one", "data:,two")
	if text, err := os.ReadFile(file); err != nil || strings.Count(string(text), "\n") != 2 {
		t.Errorf("the file is %.1000q, %v", text, err)
	}
}

func TestTwoProgramsKeepOneHistory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, marks := filepath.Join(dir, "history"), filepath.Join(dir, "bookmarks")
	keep := func(o *serve.Options, _ *fetch.Options) { o.History, o.Bookmarks = file, marks }
	if err := os.WriteFile(file, []byte(strings.Repeat(visitLine("ftp://h.example/old"), 1999)), 0o600); err != nil {
		t.Fatal(err)
	}
	first, second := start(t, keep), start(t, keep)
	first.get("/history")
	second.get("/history")                         // both have read the file
	for _, page := range []string{"a", "b", "c"} { // each shortens the file
		first.open("data:,first-" + page)
		second.open("data:,second-" + page)
	}
	start(t, keep).get("/history").want(t, http.StatusOK,
		"data:,first-a", "data:,first-b", "data:,first-c", "data:,second-a", "data:,second-b", "data:,second-c")
	if text, _ := os.ReadFile(file); strings.Count(string(text), "\n") > 1000 {
		t.Errorf("the file has %d lines", strings.Count(string(text), "\n"))
	}
}
