package main

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
)

// habitFiles are the files in the directory of each command line of testdata/habits that names them.
var habitFiles = map[string]string{
	"curlrc":     "# a comment\nheader = \"A: b\"\nurl = URL\n-s\n",
	"aria2.list": "URL\n  out=other\n  dir=sub\n  header=A: b\n  checksum=sha-256=84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882\n",
	"list":       "URL\n", "file.txt": "x", "page.html": "<a href=hello.txt>x</a>",
	"cookies": "# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t0\ta\tb\n",
}

// A habit is a row of testdata/habits, which describes its columns.
type habit struct{ verdict, tool, fact, args, want string }

// A habitRun is what urlget does with the command line of a habit.
type habitRun struct {
	status   int
	errs     string
	files    []string // new files, without the one that standard output is redirected to
	printed  string   // standard output
	requests int32
}

// TestHabits runs the command lines of testdata/habits and compares the verdicts. If the hint for a
// refused line is a complete line, that works.
func TestHabits(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/habits")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^(\w+) +(\S+) +(saves|prints|neither) +(.*?)  (.*)$`).FindAllStringSubmatch(string(text), -1)
	count := make(map[string]int)
	handler := pages()
	root := t.TempDir()
	for _, row := range rows {
		h := habit{row[1], row[2], row[3], row[4], row[5]}
		if h.tool != "urlget" {
			count[h.verdict]++
		}
		t.Run(h.tool+" "+h.args, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/page/" { // the list that turns out to be a page
					requests.Add(1)
				}
				handler.ServeHTTP(w, r)
			}))
			defer site.Close()
			run := runHabit(t, root, "urlget "+h.args, site.URL)
			run.requests = requests.Load()
			if verdict := h.judge(run); verdict != h.verdict {
				t.Errorf("%s: %+v", verdict, run)
			}
			if _, use, ok := strings.Cut(strings.TrimSpace(run.errs), "\nhint: use urlget "); h.verdict == "taught" && ok && !strings.Contains(use, "URL") && !strings.Contains(use, "or urlget") {
				if run := runHabit(t, root, "urlget "+strings.ReplaceAll(use, "PASSWORD", "secret"), site.URL); run.status != exitOK {
					t.Errorf("urlget %s: %+v", use, run)
				}
			}
		})
	}
	t.Logf("command lines by verdict: %v", count)
	if len(rows) < 540 || count["unhelped"] > 10 {
		t.Errorf("%d command lines, want 540; %d without help, want at most 10", len(rows), count["unhelped"])
	}
}

// judge returns the verdict for a run.
func (h habit) judge(run habitRun) string {
	files := strings.Join(run.files, " ")
	switch {
	case run.status == exitUsage || run.status == exitFile:
		switch _, hint, ok := strings.Cut(run.errs, "\nhint: "); {
		case files != "" || run.requests > 0 || run.printed != "" && !strings.HasPrefix(run.printed, `{"event":"failed"`):
			return "wrong"
		case !ok || strings.Contains(hint, "no equivalent"):
			return "unhelped"
		case !strings.Contains(run.errs, h.want):
			return "taught something else"
		}
		return "taught"
	case run.status != exitOK:
		return "wrong"
	case h.fact == "prints" && files == "" && run.printed != "":
		return "same"
	case h.fact == "saves" && files == h.want && h.verdict == "same":
		return "same"
	case h.fact == "neither" && files == "" && run.printed == "":
		return "same"
	case h.fact == "neither" || files != h.want || !isSavers(h.args):
		return "wrong"
	case strings.Contains(h.args, "-q"), strings.Contains(run.errs+run.printed, "saved") || strings.Contains(run.errs, "; urlget cat URL prints"):
		return "said"
	}
	return "wrong"
}

// saverLetters are those of the flags, and values, that wget and aria2 have in the meaning that they have here,
// and those of curl that are taken because they harm nobody.
const saverLetters = "bcNqvSitTwQUPOZjsn0123456789" + "dFHJLfuX"

// isSavers reports whether each flag of a command line is a long one, or a letter that is taken.
func isSavers(args string) bool {
	for _, word := range strings.Fields(args) {
		if word == "-" || word[0] != '-' || strings.HasPrefix(word, "--") {
			continue
		}
		if strings.Trim(word[1:], saverLetters) != "" {
			return false
		}
	}
	return true
}

// runHabit runs a command line in a new directory of root with habitFiles. A file with another content
// than that of URL is marked with an asterisk. The directories are removed with root: some file systems
// create files slowly after others have been removed.
func runHabit(t *testing.T, root, line, site string) (run habitRun) {
	t.Helper()
	dir, err := os.MkdirTemp(root, "")
	if err != nil {
		t.Fatal(err)
	}
	replace := strings.NewReplacer("URL", site+"/hello.txt", "SITE", site).Replace
	for name, content := range habitFiles {
		if !strings.Contains(line, name) {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(replace(content)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	line = strings.TrimSuffix(line, " | cat") // a pipe and a file are the same for a command
	_, stdout, redirected := strings.Cut(line, " > ")
	if !redirected {
		stdout = "stdout"
		line += " > " + stdout
	}
	run.status, run.errs = runShellLine(t, dir, replace(line), "XDG_CONFIG_HOME=", "no_proxy=")
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if habitFiles[name] != "" {
			return nil
		}
		content, err := os.ReadFile(path)
		if name == stdout {
			run.printed = string(content)
			return err
		}
		if string(content) != "0123456789" {
			name += "*"
		}
		run.files = append(run.files, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return run
}
