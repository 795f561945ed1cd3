package main

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// TestHabits runs the command lines of testdata/habits. A line that is refused sends nothing and
// creates no file; if its hint is a complete line, that works.
func TestHabits(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/habits")
	if err != nil {
		t.Fatal(err)
	}
	columns := regexp.MustCompile(`(?m)^(same|told|taught|refused) +(\S+) (.*?)  (.*)$`)
	rows := columns.FindAllStringSubmatch(string(text), -1)
	if len(rows) < 400 {
		t.Errorf("%d command lines, want 400", len(rows))
	}
	tools := []string{"wget", "curl", "aria2c", "lftp", "http", "lynx", "w3m", "axel", "httrack", "yt-dlp", "rclone", "scp", "wget2"}
	handler := pages()
	root := t.TempDir()
	for _, row := range rows {
		class, tool, args, want := row[1], row[2], row[3], row[4]
		if !slices.Contains(tools, tool) {
			args = tool + " " + args // a command within lftp
		}
		t.Run(tool+" "+args, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/page/" { // the list that turns out to be a page
					requests.Add(1)
				}
				handler.ServeHTTP(w, r)
			}))
			defer site.Close()
			status, errs, files := runHabit(t, root, "urlget "+args, site.URL)
			if class == "told" && (status != exitOK || !strings.Contains(errs, want)) {
				t.Errorf("status %d, want %q: %s", status, want, errs)
			}
			if class == "told" {
				return
			}
			if class == "same" {
				if want = strings.TrimPrefix(want, "-"); status != exitOK || strings.Join(files, " ") != want {
					t.Errorf("status %d, files %q, want %q: %s", status, files, want, errs)
				}
				return
			}
			if status != exitUsage && status != exitFile || !strings.Contains(errs, want) || len(files) > 0 || requests.Load() > 0 {
				t.Errorf("status %d, files %q, %d requests, want %q in: %s", status, files, requests.Load(), want, errs)
			}
			if _, use, ok := strings.Cut(strings.TrimSpace(errs), "\nhint: use urlget "); class == "taught" && ok && !strings.Contains(use, "URL") {
				if status, errs, _ := runHabit(t, root, "urlget "+strings.ReplaceAll(use, "PASSWORD", "secret"), site.URL); status != exitOK {
					t.Errorf("urlget %s: status %d: %s", use, status, errs)
				}
			}
		})
	}
}

// runHabit runs a command line in a new directory of root with habitFiles, and returns the new files. A
// file with another content than that of URL is marked with an asterisk. The directories are removed
// with root: some file systems create files slowly after others have been removed.
func runHabit(t *testing.T, root, line, site string) (status int, stderr string, files []string) {
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
	status, stderr = runShellLine(t, dir, replace(line), "XDG_CONFIG_HOME=", "no_proxy=")
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if habitFiles[name] != "" {
			return nil
		}
		content, err := os.ReadFile(path)
		if string(content) != "0123456789" {
			name += "*"
		}
		files = append(files, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return status, stderr, files
}
