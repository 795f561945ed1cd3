package download_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
)

const emptySum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// lockOf returns the line for content at the hosts of a mirrors driver.
func lockOf(content []byte, hosts ...string) *download.Manifest {
	return described(content, 0, hosts...)
}

// The format is a contract: files of today must be readable later.
func TestLockFile(t *testing.T) {
	t.Parallel()
	l := &download.Manifest{Name: "a", Checksum: "sha256:" + emptySum, ContentType: "text/plain; x=<c>",
		URLs:      []uri.URI{uri.MustParse("http://user:secret@h.example/a?b=c&d#part"), uri.MustParse("ftp://u:secret@m.example/a")},
		Validator: fetch.Validator{ETag: `"1"`, ModTime: morning}, Time: morning.Add(time.Nanosecond)}
	const want = `# urlget lock 1
{"url":"http://user@h.example/a?b=c&d","name":"a","size":0,"sha256":"` + emptySum + `","content_type":"text/plain; x=<c>","etag":"\"1\"","mtime":"1994-12-01T08:00:00Z","mirrors":["ftp://u@m.example/a"],"time":"1994-12-01T08:00:00Z"}
{"url":"http://h.example/","name":"a.1","size":0,"sha256":"` + emptySum + `"}
{"url":"http://h.example/","name":"d/a","size":0,"sha256":"` + emptySum + `"}
{"url":"http://h.example/","name":"a.2","size":0,"sha256":"` + emptySum + `"}
`
	var out strings.Builder
	w := &download.LockWriter{W: &out}
	for _, l := range []*download.Manifest{nil, l, {Name: "a"}, {Name: "d/a"}, {Name: "a"}} {
		if l != nil && l.Checksum == "" {
			l.URLs, l.Checksum = []uri.URI{uri.MustParse("http://h.example/")}, "sha256:"+emptySum
		}
		if err := w.Write(l); err != nil {
			t.Fatal(err)
		}
	}
	if out.String() != want {
		t.Errorf("got  %s\nwant %s", out.String(), want)
	}
	var lines []int
	for got, err := range download.ReadLocks(strings.NewReader(strings.Replace(want, "\n{", "\n\n # comment\n{", 1))) {
		if err != nil {
			t.Fatal(err)
		}
		if lines = append(lines, got.Line); len(lines) > 1 {
			continue
		}
		wanted := *l
		wanted.URLs = []uri.URI{uri.MustParse("http://user@h.example/a?b=c&d"), uri.MustParse("ftp://u@m.example/a")}
		wanted.Time, wanted.Line = morning, 4
		if !reflect.DeepEqual(*got, wanted) {
			t.Errorf("got %+v, want %+v", *got, wanted)
		}
	}
	if fmt.Sprint(lines) != "[4 5 6 7]" {
		t.Errorf("lines %v", lines)
	}
}

func TestReadLocksRefuses(t *testing.T) {
	t.Parallel()
	const header = "# urlget lock 1\n"
	line := func(changes ...string) string {
		text := `{"url":"http://h.example/","name":"a","size":0,"sha256":"` + emptySum + `","etag":"e","mirrors":["ftp://m.example/"]}` + "\n"
		return strings.NewReplacer(changes...).Replace(text)
	}
	for name, tt := range map[string]struct{ text, err string }{
		"nothing":               {"", "not a lock file"},
		"a list of URLs":        {"http://h.example/\n", "not a lock file"},
		"no header":             {line(), "not a lock file"},
		"a later version":       {"# urlget lock 2\n", `version "2"`},
		"a later version below": {header + "# urlget lock 10\n", `version "10"`},
		"no JSON":               {header + "http://h.example/\n", "not a line of a lock file"},
		"no URL":                {header + line(`"url"`, `"uri"`), "url is missing"},
		"a relative URL":        {header + line("http:", ""), "no scheme"},
		"no name":               {header + line(`"name"`, `"n"`), "name is missing"},
		"a name that climbs":    {header + line(`"a"`, `"../a"`), "does not name a file below"},
		"an absolute name":      {header + line(`"a"`, `"/a"`), "does not name a file below"},
		"a directory":           {header + line(`"a"`, `"a/"`), "not a path of names"},
		"a hidden file":         {header + line(`"a"`, `".bashrc"`), `a safe one is "_.bashrc"`},
		"a hidden directory":    {header + line(`"a"`, `".ssh/config"`), "is not a safe name"},
		"an option":             {header + line(`"a"`, `"-rf"`), "is not a safe name"},
		"a line break":          {header + line(`"a"`, `"a\nb"`), "is not a safe name"},
		"a carriage return":     {header + line(`"a"`, `"a\r"`), "is not a safe name"},
		"a NUL":                 {header + line(`"a"`, `"a\u0000"`), "is not a path of names"},
		"an escape":             {header + line(`"a"`, `"a\u001b[2J"`), "is not a safe name"},
		"a reversed name":       {header + line(`"a"`, `"a\u202egpj.exe"`), "is not a safe name"},
		"a device":              {header + line(`"a"`, `"d/Con.txt"`), `a safe one is "d/_Con.txt"`},
		"a Windows path":        {header + line(`"a"`, `"C:\\x"`), "is not a safe name"},
		"a backslash":           {header + line(`"a"`, `"..\\x"`), "is not a safe name"},
		"a stream":              {header + line(`"a"`, `"a:b"`), "is not a safe name"},
		"a dot at the end":      {header + line(`"a"`, `"a."`), "is not a safe name"},
		"a blank at the end":    {header + line(`"a"`, `"a "`), "is not a safe name"},
		"a home directory":      {header + line(`"a"`, `"~/x"`), "is not a safe name"},
		"two slashes":           {header + line(`"a"`, `"a//b"`), "is not a path of names"},
		"a dot":                 {header + line(`"a"`, `"./a"`), "is not a path of names"},
		"a partial file":        {header + line(`"a"`, `"a.part"`), "as partial files do"},
		"a record":              {header + line(`"a"`, `"a.PART.json"`), "as partial files do"},
		"a long name":           {header + line(`"a"`, `"`+strings.Repeat("x", 241)+`"`), "is not a safe name"},
		"names by case":         {header + line(`"a"`, `"README"`) + line(`"a"`, `"ReadMe"`), `line 2 has the name "ReadMe" too`},
		"names by case, Kelvin": {header + line(`"a"`, `"k"`) + line(`"a"`, `"\u212a"`), "line 2 has the name"},
		"a file as directory":   {header + line(`"a"`, `"d"`) + line(`"a"`, `"D/x/y"`), `"D/x/y" is below the file of line 2`},
		"a directory as file":   {header + line(`"a"`, `"d/x/y"`) + line(`"a"`, `"d/X"`), `line 2 has the name "d/X" too`},
		"no size":               {header + line(`"size"`, `"bytes"`), "size is missing"},
		"a size below 0":        {header + line(`:0,`, `:-1,`), "negative"},
		"no digest":             {header + line(`"sha256"`, `"sha1"`), "not a SHA-256"},
		"a short digest":        {header + line("b855", ""), "not a SHA-256"},
		"no hexadecimal":        {header + line("b855", "b85x"), "not a SHA-256"},
		"a password":            {header + line("//h", "//u:p@h"), "password"},
		"a mirror's password":   {header + line("//m", "//u:p@m"), "password"},
		"a relative mirror":     {header + line("ftp:", ""), "no scheme"},
		"a header in the tag":   {header + line(`"e"`, `"e\r\nX: y"`), "control characters"},
		"two equal names":       {header + line() + line("h.", "i."), "line 2 has the name \"a\" too"},
		"many mirrors":          {header + line(`"ftp://m.example/"`, strings.Repeat(`"ftp://m.example/",`, 64)+`"ftp://m.example/"`), "more than 64 mirrors"},
		"a long line":           {header + line(`"e"`, `"`+strings.Repeat("e", 64<<10)+`"`), "more than 65536 bytes"},
	} {
		last := error(nil)
		for l, err := range download.ReadLocks(strings.NewReader(tt.text)) {
			if last = err; err != nil && l.Line != strings.Count(strings.TrimSuffix(tt.text, "\n"), "\n")+1 {
				t.Errorf("%s: line %d", name, l.Line)
			}
		}
		if last == nil || !strings.Contains(last.Error(), tt.err) {
			t.Errorf("%s: error %v, want %s", name, last, tt.err)
		}
	}
}

// What a LockWriter writes, ReadLocks reads.
func TestNamesOfLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 236) + ".txt"
	var out strings.Builder
	w := &download.LockWriter{W: &out}
	for _, name := range []string{"README", "readme", "ReadMe", "d/x", "D", long, long} {
		m := &download.Manifest{Name: name, Checksum: "sha256:" + emptySum, URLs: []uri.URI{uri.MustParse("http://h.example/")}}
		if err := w.Write(m); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	err := w.Write(&download.Manifest{Name: "readme/x", Checksum: "sha256:" + emptySum, URLs: []uri.URI{uri.MustParse("http://h.example/")}})
	if err == nil || err.Error() != `"readme/x" is below the file of line 2` {
		t.Error(err)
	}
	var names []string
	for l, err := range download.ReadLocks(strings.NewReader(out.String())) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, l.Name)
	}
	if got := strings.Join(names[:6], " "); got != "README readme.1 ReadMe.2 d/x D.1 "+long || len(names) != 7 || len(names[6]) != 240 {
		t.Errorf("%q", names)
	}
}

// TestDoLocked retrieves a line from a URL and mirrors that lie, are gone, or are cut off.
func TestDoLocked(t *testing.T) {
	t.Parallel()
	content := pattern(300_000, 3)
	other := pattern(300_000, 4)
	tests := []struct {
		name    string
		hosts   []string
		there   []byte // the file before; nil if there is none
		exists  download.Exists
		segment int
		outcome download.Outcome
		err     fetch.Code
		asked   []string // hosts
	}{
		{name: "the URL", hosts: []string{"good", "good-2"}, asked: []string{"good"}},
		{name: "the URL lies", hosts: []string{"liar", "good"}, asked: []string{"liar", "good"}},
		{name: "the URL is gone", hosts: []string{"gone", "short", "good"}, asked: []string{"gone", "short", "good"}},
		{name: "the URL ends early", hosts: []string{"cut", "good"}, asked: []string{"cut", "good"}},
		{name: "all lie", hosts: []string{"liar", "short"}, err: fetch.ErrChecksum, asked: []string{"liar", "short"}},
		{name: "one lies, and the last is gone", hosts: []string{"liar", "gone"}, err: fetch.ErrChecksum, asked: []string{"liar", "gone"}},
		{name: "all are gone", hosts: []string{"gone", "gone-2"}, err: fetch.ErrNotFound, asked: []string{"gone", "gone-2"}},
		{name: "the file is there", hosts: []string{"good"}, there: content, outcome: download.Unchanged},
		{name: "the file is there, skip", hosts: []string{"good"}, there: content, exists: download.Skip, outcome: download.Unchanged},
		{name: "another file of that size", hosts: []string{"good"}, there: other, asked: []string{"good"}},
		{name: "another file, resume", hosts: []string{"good"}, there: content[:1000], exists: download.Resume, asked: []string{"good"}},
		{name: "another file, newer", hosts: []string{"good"}, there: other, exists: download.Newer, asked: []string{"good"}},
		{name: "another file, skip", hosts: []string{"good"}, there: other, exists: download.Skip, err: fetch.ErrChecksum},
		{name: "another file, and all lie", hosts: []string{"liar"}, there: other, err: fetch.ErrChecksum, asked: []string{"liar"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "d", "file")
			if tt.there != nil {
				if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
					t.Fatal(err)
				}
				for name, text := range map[string][]byte{file: tt.there, file + ".part.json": []byte("{}")} { // left by a killed run
					if err := os.WriteFile(name, text, 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			m := &mirrors{content: content, exchanges: map[string]int{}, running: map[string]int{}}
			opts := &download.Options{}
			opts.Retry.Tries, opts.Exists, opts.Checksum = 1, tt.exists, "md5:00"
			res, err := m.downloader(t, dir).DoLocked(t.Context(), lockOf(content, tt.hosts...), opts)
			if fetch.CodeOf(err) != tt.err || len(m.exchanges) != len(tt.asked) {
				t.Errorf("%v, want %q; asked %v, want %q", err, tt.err, m.exchanges, tt.asked)
			}
			got, _ := os.ReadFile(file)
			if tt.err != "" {
				if !bytes.Equal(got, tt.there) {
					t.Errorf("there are %d bytes", len(got))
				}
				return
			}
			outcome := download.Saved
			if tt.outcome != "" {
				outcome = tt.outcome
			}
			if !bytes.Equal(got, content) || res.Outcome != outcome || res.Name != "d/file" || res.Size != int64(len(content)) || res.Proof == nil || res.Proof.By != "checksum" {
				t.Errorf("%d bytes, %+v", len(got), res)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "d", "*.part*")); left != nil {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// Mirrors are URLs from a server: one on the local machine is not asked on behalf of another host.
func TestLockedMirrorsAreUntrusted(t *testing.T) {
	t.Parallel()
	content := []byte("secret")
	dir := t.TempDir()
	l := newLiar(content)
	d := l.downloader(t, dir)
	lock := lockOf(content, "gone")
	lock.URLs = []uri.URI{uri.MustParse("x-unknown://h/"), uri.MustParse(liarURL)}
	if _, err := d.DoLocked(t.Context(), lock, nil); err != nil {
		t.Fatal(err)
	}
	if from := l.received[0].From; from != lock.URLs[0] {
		t.Errorf("from %v", from)
	}
}

// The bytes of a broken transfer are resumed by the next run.
func TestLockedResumes(t *testing.T) {
	t.Parallel()
	content := pattern(4<<20, 3)
	for _, segments := range []int{0, 4} {
		dir := t.TempDir()
		stop := &fetch.Error{Code: fetch.ErrAuth}
		l := newLiar(content, reply{cut: 2 << 20})
		l.script = append(l.script, slices.Repeat([]reply{{err: stop}}, 100)...) // segments may be divided again
		lock := lockOf(content, "x")
		lock.URLs[0], lock.Name = uri.MustParse(liarURL), "file.bin"
		opts := &download.Options{}
		opts.Segments, opts.Retry.Tries = segments, 1
		if _, err := l.downloader(t, dir).DoLocked(t.Context(), lock, opts); err == nil {
			t.Fatal("the first run succeeded")
		}
		l.script = nil
		res, err := l.downloader(t, dir).DoLocked(t.Context(), lock, opts)
		if err != nil || res.Written > 3<<20 {
			t.Errorf("%d segments: %+v, %v", segments, res, err)
		}
		if have := contents(t, dir); len(have) != 1 || have["file.bin"] != string(content) {
			t.Errorf("%d segments: files %q", segments, names(have))
		}
	}
}

// A partial file of another version, whose validator the server still states, is not the last word.
func TestLockedReplacesWrongParts(t *testing.T) {
	t.Parallel()
	before, content := pattern(4<<20, 3), pattern(4<<20, 4)
	dir := t.TempDir()
	l := newLiar(before, reply{cut: 2 << 20}, reply{err: &fetch.Error{Code: fetch.ErrAuth}})
	lock := lockOf(before, "x")
	lock.URLs[0], lock.Name = uri.MustParse(liarURL), "file.bin"
	opts := &download.Options{}
	opts.Retry.Tries = 1
	if _, err := l.downloader(t, dir).DoLocked(t.Context(), lock, opts); err == nil {
		t.Fatal("the first run succeeded")
	}
	l.script, l.content = nil, content
	if _, err := l.downloader(t, dir).DoLocked(t.Context(), lock, opts); fetch.CodeOf(err) != fetch.ErrChecksum {
		t.Errorf("other content: %v", err)
	}
	l.script, l.content = []reply{{cut: 2 << 20}, {err: &fetch.Error{Code: fetch.ErrAuth}}}, before
	if _, err := l.downloader(t, dir).DoLocked(t.Context(), lock, opts); err == nil {
		t.Fatal("the third run succeeded")
	}
	l.script, l.content = nil, content
	lock.Checksum = lockOf(content, "x").Checksum
	res, err := l.downloader(t, dir).DoLocked(t.Context(), lock, opts)
	if have := contents(t, dir); err != nil || len(have) != 1 || have["file.bin"] != string(content) {
		t.Errorf("%+v, %v, files %q", res, err, names(have))
	}
}

func FuzzReadLocks(f *testing.F) {
	f.Add("# urlget lock 1\n" + `{"url":"http://user@h.example/a?b=c&d","name":"a","size":0,"sha256":"` + emptySum + `","content_type":"text/plain; x=<c>","etag":"\"1\"","mtime":"1994-12-01T08:00:00Z","mirrors":["ftp://u@m.example/a"],"time":"1994-12-01T08:00:00Z"}` + "\n#\n")
	f.Fuzz(func(t *testing.T, text string) {
		var first strings.Builder
		w := &download.LockWriter{W: &first}
		failed := w.Write(nil)
		for l, err := range download.ReadLocks(strings.NewReader(text)) {
			if err != nil {
				break
			}
			if _, secret := l.URLs[0].Password(); secret || len(l.URLs) > 65 || l.Size < 0 || download.CheckName(l.Name) != nil {
				t.Fatalf("%+v", l)
			}
			if failed = w.Write(l); failed != nil {
				return // the line is longer than it was
			}
		}
		// The lines that are written can be read and are written again.
		var second strings.Builder
		w = &download.LockWriter{W: &second}
		w.Write(nil)
		for l, err := range download.ReadLocks(strings.NewReader(first.String())) {
			if err != nil {
				t.Fatalf("%v in %s", err, first.String())
			}
			if err := w.Write(l); err != nil {
				t.Fatal(err)
			}
		}
		if first.String() != second.String() {
			t.Errorf("%s\n%s", first.String(), second.String())
		}
	})
}
