package listing

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write what is parsed into testdata, to be read before it is kept")

// now is the time at which the listings in testdata were made.
var now = time.Date(2024, time.November, 21, 3, 27, 0, 0, time.UTC)

// TestList parses the listings of testdata, one file for each dialect.
func TestList(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no testdata", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(name)
			if err != nil || len(archive.Files) != 2 {
				t.Fatalf("%d files, %v", len(archive.Files), err)
			}
			p := NewParser(now)
			var got strings.Builder
			for line := range strings.Lines(string(archive.Files[0].Data)) {
				if e, ok := p.List(strings.TrimRight(line, "\n")); ok {
					got.WriteString(show(e))
				}
			}
			if *update {
				archive.Files[1].Data = []byte(got.String())
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := string(archive.Files[1].Data); got.String() != want {
				t.Errorf("got\n%s\nwant\n%s", got.String(), want)
			}
		})
	}
}

// show writes an entry as a line of testdata.
func show(e Entry) string {
	at, target := "-", ""
	if !e.ModTime.IsZero() {
		at = e.ModTime.Format(time.RFC3339)
	}
	if e.Target != "" {
		target = fmt.Sprintf(" -> %q", e.Target)
	}
	kind := e.Kind
	if kind == Unknown {
		kind = "?"
	}
	return fmt.Sprintf("%-9s %11d %-20s %q%s\n", kind, e.Size, at, e.Name, target)
}

func TestMLSD(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"type=cdir;modify=20200229123456; .":  "",
		"type=pdir;modify=20200229123456; ..": "",
		"":                                    "",
		"type=file;size=12;modify=20200229123456; a b":         `file               12 2020-02-29T12:34:56Z "a b"`,
		"Type=File;Size=0100;Modify=20200229123456.789; x":     `file              100 2020-02-29T12:34:56Z "x"`,
		"type=dir;sizd=4096;modify=20200229123456; d":          `directory          -1 2020-02-29T12:34:56Z "d"`,
		"type=OS.unix=slink:/a/b;size=3; l":                    `link                3 -                    "l" -> "/a/b"`,
		"type=OS.unix=symlink; l":                              `link               -1 -                    "l"`,
		"type=OS.unix=chr-13/29;perm=; null":                   `other              -1 -                    "null"`,
		"size=12; untyped":                                     `?                  12 -                    "untyped"`,
		" no facts":                                            `?                  -1 -                    "no facts"`,
		" type=file;size=12;modify=20200229123456; a b":        `file               12 2020-02-29T12:34:56Z "a b"`,
		" type=dir;modify=20200229123456;  d":                  `directory          -1 2020-02-29T12:34:56Z " d"`,
		" type=cdir;modify=20200229123456; /pub":               "",
		" Type=file;Size=12;\tx":                               `file               12 -                    "x"`,
		" a=b; c":                                              `?                  -1 -                    "a=b; c"`,
		" type=file;":                                          `?                  -1 -                    "type=file;"`,
		"type=file;  leading blank":                            `file               -1 -                    " leading blank"`,
		"type=file;size=-3;modify=2020; x":                     `file               -1 -                    "x"`,
		"type=file;size=99999999999999999999; x":               `file               -1 -                    "x"`,
		"type=file;x; ; y":                                     `file               -1 -                    "; y"`,
		"type=file;size=12;modify=20200229123456 x":            `file               12 2020-02-29T12:34:56Z "x"`,
		"type=dir d e":                                         `directory          -1 -                    "d e"`,
		"type=file;size=12;\tx y":                              `file               12 -                    "x y"`,
		"type=file;size=12\tx":                                 `file               12 -                    "x"`,
		"type=file; \tx":                                       `file               -1 -                    "\tx"`,
		"type=file;size x":                                     `text               -1 -                    "type=file;size x"`,
		"=; ; x":                                               `?                  -1 -                    "; x"`,
		"no listing at all":                                    `text               -1 -                    "no listing at all"`,
		"type=file;":                                           `text               -1 -                    "type=file;"`,
		"type=file;caf\xe9=1; caf\xe9":                         `file               -1 -                    "caf\xe9"`,
		"type=file;UNIX.mode=0644;unix.owner=0; ../etc/passwd": `file               -1 -                    "../etc/passwd"`,
	} {
		e, ok := NewParser(now).MLSD(line)
		got := ""
		if ok {
			got = strings.TrimRight(show(e), "\n")
		}
		if got != want {
			t.Errorf("%q:\ngot  %s\nwant %s", line, got, want)
		}
	}
	e, _ := NewParser(now).MLSD("type=file;UNIX.mode=0644;X.Y=z; n")
	if e.Mode != "0644" || e.Facts["x.y"] != "z" || e.Raw != "type=file;UNIX.mode=0644;X.Y=z; n" {
		t.Errorf("%+v", e)
	}
}

func TestNLST(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"": "", ".": "", "pub/..": "", "a b": "a b", "pub/a": "a", "/full/path/a": "a", "pub/": "pub/",
	} {
		e, ok := NewParser(now).NLST(line)
		if e.Name != want && ok || ok != (want != "") {
			t.Errorf("%q: %q, %v", line, e.Name, ok)
		}
	}
}

// FuzzList checks that no line is lost: a line in an unknown format keeps its text.
func FuzzList(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txtar")
	for _, name := range files {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(archive.Files[0].Data))
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := NewParser(now)
		for line := range strings.SplitSeq(text, "\n") {
			check(t, line, p.List)
		}
	})
}

func FuzzMLSD(f *testing.F) {
	f.Add("type=file;size=12;modify=20200229123456; a b")
	f.Add("type=OS.unix=slink:/a/b;size=3; l")
	f.Fuzz(func(t *testing.T, line string) {
		check(t, line, NewParser(now).MLSD)
		check(t, line, NewParser(now).NLST)
	})
}

func check(t *testing.T, line string, parse func(string) (Entry, bool)) {
	t.Helper()
	e, ok := parse(line)
	switch {
	case !ok:
	case e.Raw != line:
		t.Errorf("%q: Raw is %q", line, e.Raw)
	case e.Name == "" || !strings.Contains(line, e.Name):
		t.Errorf("%q: name %q", line, e.Name)
	case e.Size < -1:
		t.Errorf("%q: size %d", line, e.Size)
	}
}
