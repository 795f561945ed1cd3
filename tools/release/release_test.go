package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var example = source{
	version: "v1.2.0",
	stated:  "v1.1.0",
	commit:  "0123456789abcdef0123456789abcdef01234567",
	date:    time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC),
}

func TestReadHead(t *testing.T) {
	t.Parallel()
	s, err := readHead("0123456789abcdef0123456789abcdef01234567 1767323045")
	if err != nil || s.commit != example.commit || !s.date.Equal(example.date) || s.stamp() != "2026-01-02T03:04:05Z" {
		t.Errorf("%+v, %v", s, err)
	}
	for _, bad := range []string{"", "0123456789abcdef", "0123 1767323045", "0123456789abcdef today"} {
		if s, err := readHead(bad); !strings.Contains(fmt.Sprint(err), "git describes the commit as") {
			t.Errorf("%q: %+v, %v", bad, s, err)
		}
	}
}

func TestChooseVersion(t *testing.T) {
	t.Parallel()
	tests := []struct {
		wanted, tags string
		changed      bool
		want         string
		refusal      string // in the message of the error
	}{
		{"v1.3.0", "", false, "v1.3.0", ""},
		{"v1.3.0-rc.1", "v1.2.0", false, "v1.3.0-rc.1", ""},
		{"v1.3.0", "", true, "", "not committed"},
		{"1.3.0", "", false, "", "is not a version"},
		{"v1.3", "", false, "", "is not a version"},
		{"v01.3.0", "", false, "", "is not a version"},
		{"v1.3.0 -X main.commit=other", "", false, "", "is not a version"},
		{"", "v1.2.0", false, "v1.2.0", ""},
		{"", "tested\nv1.2.0\nvery-good", false, "v1.2.0", ""},
		{"", "queue/v1.2.0\nv1.2.0", false, "v1.2.0", ""},
		{"", "queue/v1.2.0", false, "v1.1.0", ""},
		{"", "v1.2.0", true, "v1.2.0+dirty", ""},
		{"", "", false, "v1.1.0", ""},
		{"", "tested", true, "v1.1.0+dirty", ""},
	}
	for _, tt := range tests {
		got, err := chooseVersion(tt.wanted, tt.tags, example, tt.changed)
		if got != tt.want || (err == nil) != (tt.want != "") || err != nil && !strings.Contains(fmt.Sprint(err), tt.refusal) {
			t.Errorf("%q, tags %q, changed %t: %q, %v; want %q", tt.wanted, tt.tags, tt.changed, got, err, tt.want)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, p := range platforms {
		want := "urlget-1.2.0-" + p.os + "-" + p.arch + ".tar.gz"
		if p.os == "windows" {
			want = "urlget-1.2.0-windows-amd64.zip"
		}
		if got := p.archive("v1.2.0"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestLinkerFlags(t *testing.T) {
	t.Parallel()
	const want = "-s -w -X main.version=v1.2.0 -X main.commit=0123456789abcdef0123456789abcdef01234567" +
		" -X main.commitDate=2026-01-02T03:04:05Z"
	if got := linkerFlags(example); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestArchives shows that archives depend on the names, modes and contents of files, and on nothing
// else of this machine.
func TestArchives(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program, text := filepath.Join(dir, "p"), filepath.Join(dir, "t")
	for _, name := range []string{program, text} {
		if err := os.WriteFile(name, []byte("content of "+filepath.Base(name)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files := []file{{"urlget", program, 0o755}, {"man/urlget.1", text, 0o644}}
	reversed := []file{files[1], files[0]}

	for _, p := range []platform{{"linux", "amd64", formats}, {"windows", "amd64", nil}} {
		var archives [2][]byte
		for i, files := range [][]file{files, reversed} {
			name := filepath.Join(dir, p.archive("v1.2.0"))
			if err := writeArchive(name, example, p, files); err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			archives[i] = b
			if err := os.Chtimes(program, time.Time{}, example.date.AddDate(i, 0, 0)); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(archives[0], archives[1]) {
			t.Errorf("%v: two archives of the same files differ", p)
		}
		folder := "urlget-1.2.0-" + p.String() + "/"
		want := []string{
			folder + "man/urlget.1 -rw-r--r-- 2026-01-02T03:04:05Z content of t",
			folder + "urlget -rwxr-xr-x 2026-01-02T03:04:05Z content of p",
		}
		read := readTar
		if p.os == "windows" {
			read = readZip
		}
		if got := read(t, archives[0]); !reflect.DeepEqual(got, want) {
			t.Errorf("%v: %+v, want %+v", p, got, want)
		}
	}
	if err := writeArchive(filepath.Join(dir, "x"), example, platforms[0], []file{{"gone", filepath.Join(dir, "gone"), 0o644}}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an archive without one of its files: %v", err)
	}
}

func readTar(t *testing.T, b []byte) (lines []string) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return lines
		} else if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line(t, h.Name, h.FileInfo().Mode(), h.ModTime, r))
	}
}

func readZip(t *testing.T, b []byte) (lines []string) {
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line(t, f.Name, f.Mode(), f.Modified, r))
	}
	return lines
}

func line(t *testing.T, name string, mode os.FileMode, date time.Time, r io.Reader) string {
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join([]string{name, mode.String(), date.UTC().Format(time.RFC3339), string(content)}, " ")
}

func TestPackagedDocs(t *testing.T) {
	t.Parallel()
	d := docs{
		texts:       []file{{"LICENSE", "/src/LICENSE", 0o644}, {"README.md", "/src/README.md", 0o644}},
		pages:       []file{{"man/urlget.1", "/build/urlget.1", 0o644}},
		packed:      []file{{"usr/share/man/man1/urlget.1.gz", "/build/urlget.1.gz", 0o644}},
		completions: map[string]string{"bash": "/build/b", "zsh": "/build/z", "fish": "/build/f"},
		desktop:     "/src/urlget.desktop",
		changelog:   "/build/changelog",
	}
	unix := map[string]string{"LICENSE": "/src/LICENSE", "README.md": "/src/README.md", "man/urlget.1": "/build/urlget.1",
		"completions/bash/urlget": "/build/b", "completions/zsh/_urlget": "/build/z", "completions/fish/urlget.fish": "/build/f"}
	windows := map[string]string{"LICENSE": "/src/LICENSE", "README.md": "/src/README.md"}
	debian := map[string]string{
		"usr/share/man/man1/urlget.1.gz":                  "/build/urlget.1.gz",
		"usr/share/bash-completion/completions/urlget":    "/build/b",
		"usr/share/zsh/vendor-completions/_urlget":        "/build/z",
		"usr/share/fish/vendor_completions.d/urlget.fish": "/build/f",
		"usr/share/doc/urlget/copyright":                  "/src/LICENSE",
		"usr/share/doc/urlget/README.md":                  "/src/README.md",
		"usr/share/applications/urlget.desktop":           "/src/urlget.desktop",
	}
	fedora := maps.Clone(debian)
	debian["usr/share/doc/urlget/changelog.gz"] = "/build/changelog.gz"
	delete(fedora, "usr/share/zsh/vendor-completions/_urlget")
	fedora["usr/share/zsh/site-functions/_urlget"] = "/build/z"
	for _, tt := range []struct {
		name  string
		files []file
		want  map[string]string
	}{
		{"unix", d.archiveFiles(platform{os: "freebsd"}), unix},
		{"windows", d.archiveFiles(platform{os: "windows"}), windows},
		{"debian", d.installed("deb"), debian},
		{"fedora", d.installed("rpm"), fedora},
	} {
		got := make(map[string]string)
		for _, f := range tt.files {
			got[f.name] = f.path
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestDescribePackage(t *testing.T) {
	t.Parallel()
	files := []file{{"usr/share/x", "/build/x*", 0o644}, {"usr/bin/urlget", "/build/p", 0o755}}
	text, err := json.Marshal(describePackage(example, platforms[1], "rpm", files))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"name":"urlget"`, `"arch":"arm64"`, `"version":"v1.2.0"`, `"disable_globbing":true`,
		`"contents":[` +
			`{"src":"/build/p","dst":"/usr/bin/urlget","file_info":{"owner":"root","group":"root","mode":493,"mtime":"2026-01-02T03:04:05Z"}},` +
			`{"src":"/build/x*","dst":"/usr/share/x","file_info":{"owner":"root","group":"root","mode":420,"mtime":"2026-01-02T03:04:05Z"}}]`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}

func TestSums(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	if err := makeEmpty(dir); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"b": "", "a": "abc"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeSums(dir); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, sumsName))
	const want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n" +
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  b\n"
	if string(got) != want || err != nil {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	if err := makeEmpty(dir); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("a folder with files: %v", err)
	}
}

func TestChoosePlatforms(t *testing.T) {
	t.Parallel()
	if all, err := choose(""); err != nil || len(all) != len(platforms) {
		t.Errorf("%v, %v", all, err)
	}
	if some, err := choose("linux-arm64,windows-amd64"); err != nil || len(some) != 2 || some[1].os != "windows" {
		t.Errorf("%v, %v", some, err)
	}
	for _, wrong := range []string{"linux", "linux-amd64,", "plan9-amd64"} {
		if some, err := choose(wrong); !strings.Contains(fmt.Sprint(err), "there is no platform") {
			t.Errorf("%q chooses %v, %v", wrong, some, err)
		}
	}
}

// TestLicensesOfAllModules checks that the file of licences has all modules that the programs contain.
func TestLicensesOfAllModules(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	dirs, err := linkedModules(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, licensesFile))
	if err != nil {
		t.Fatal(err)
	}
	listed := make(map[string]bool)
	for line := range strings.Lines(string(text)) {
		if module, ok := strings.CutPrefix(strings.TrimSpace(line), "== "); ok {
			listed[module] = true
		}
	}
	for module := range dirs {
		if !listed[module] {
			t.Errorf("%s has no licence of %s: run go run ./tools/release -licenses", licensesFile, module)
		}
		delete(listed, module)
	}
	if len(listed) > 0 {
		t.Errorf("%s has modules that no program contains: %v", licensesFile, slices.Sorted(maps.Keys(listed)))
	}
}
