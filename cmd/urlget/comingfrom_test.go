package main

import (
	"cmp"
	"os"
	"regexp"
	"strings"
	"testing"
)

// comparison is a row of docs/coming-from.md.
var comparison = regexp.MustCompile("(?m)^\\| `(wget2?|curl|aria2c|lftp|http|rclone|yt-dlp|lynx|w3m|httrack|axel) (.*?)` \\| (.*) \\|$")

var placeholder = regexp.MustCompile(`\b[A-Z]+\b`)

// TestComingFrom runs the command lines of docs/coming-from.md. The arguments of another tool work
// or fail with a hint at the replacement. The replacement works.
func TestComingFrom(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/coming-from.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := comparison.FindAllStringSubmatch(string(text), -1)
	if len(rows) < 100 {
		t.Errorf("%d command lines, want 100", len(rows))
	}
	site := newSite()
	t.Cleanup(site.Close)
	tls := newTLSSite(false)
	t.Cleanup(tls.Close)
	root := t.TempDir()
	ca := certificates(tls)["ca.pem"]
	run := func(t *testing.T, line string) (status int, stderr string) {
		dir, err := os.MkdirTemp(root, "")
		if err != nil {
			t.Fatal(err)
		}
		files := map[string][]byte{"list": []byte(site.URL + "/hello.txt\n"), "ca.pem": ca, "file.txt": []byte("x"), "curlrc": []byte("header = \"X-A: 1\"\nurl = " + site.URL + "/hello.txt\n"), "options": []byte(site.URL + "/hello.txt\n out=x\n dir=sub\n"),
			"page.html": []byte("<a href=hello.txt>x</a>"),
			"cookies":   []byte("# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t0\ta\tb\n")}
		values := map[string]string{"URL": site.URL + "/hello.txt", "FILE": "file.txt", "DIR": "dir", "LIST": "list",
			"CA": "ca.pem", "PAGE": "page.html", "JAR": "jar", "HOSTS": "hosts", "LOG": "log", "CURLRC": "curlrc",
			"OPTIONS": "options", "PROXY": "127.0.0.1:1", "SITE": site.URL + "/tree/", "COOKIES": "cookies"}
		line = placeholder.ReplaceAllStringFunc(line, func(name string) string { return cmp.Or(values[name], name) })
		for name, content := range files {
			if !strings.Contains(line, name) {
				continue
			}
			if err := os.WriteFile(dir+"/"+name, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return runShellLine(t, dir, line)
	}
	for _, row := range rows {
		tool, args, here := row[1], row[2], strings.ReplaceAll(row[3], `\|`, "|")
		t.Run(tool+" "+args, func(t *testing.T) {
			t.Parallel()
			if strings.HasPrefix(here, "the same") {
				if status, text := run(t, "urlget "+args); status != 0 {
					t.Errorf("status %d: %s", status, text)
				}
				return
			}
			if status, text := run(t, "urlget "+args); status != 0 && (status != exitUsage || !strings.Contains(text, "\nhint: ")) {
				t.Errorf("status %d: %s", status, text)
			}
			command := strings.Split(here, "`")
			if len(command) < 3 {
				t.Fatalf("no command in %s", here)
			}
			if status, text := run(t, command[1]); status != 0 {
				t.Errorf("%s: status %d: %s", command[1], status, text)
			}
		})
	}
}
