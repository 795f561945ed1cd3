package lab

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// A File is a file of the fixture tree, which every server of the lab serves. The tree is the same
// on every machine and in every run.
type File struct {
	Name    string    // slash-separated path below the root; not always UTF-8
	Size    int64     // in bytes
	SHA256  string    // of the content, in hexadecimal
	ModTime time.Time // whole seconds, UTC
	Exec    bool      // mode 0555 instead of 0444

	content func() []byte
}

// Bytes returns a new copy of the content.
func (f File) Bytes() []byte { return f.content() }

func (f File) mode() fs.FileMode {
	if f.Exec {
		return 0o555
	}
	return 0o444
}

// Directories of the fixture tree. Its root has files too.
const (
	TextDir   = "text"   // line ends, dots and charsets
	NamesDir  = "names"  // names that are hard to encode in a URL, a command or a listing
	DeepDir   = "deep"   // nested directories
	ManyDir   = "many"   // 1000 files
	DatesDir  = "dates"  // modification times that are hard to list
	NewsDir   = "news"   // the articles of the news servers, see [Articles]
	GopherDir = "gopher" // files with a meaning for gopher servers: menus, abstracts, forms
)

// fixtureTime is the modification time of every file outside [DatesDir], and of every directory.
var fixtureTime = time.Date(2020, time.February, 29, 12, 34, 56, 0, time.UTC)

// Fixture returns the files of the tree in the order of writing. The caller must not change the
// slice.
func Fixture() []File { return fixture() }

var fixture = sync.OnceValue(func() []File {
	var files []File
	add := func(name string, at time.Time, content func() []byte) {
		b := content()
		sum := sha256.Sum256(b)
		files = append(files, File{
			Name: name, Size: int64(len(b)), SHA256: hex.EncodeToString(sum[:]),
			ModTime: at, content: content,
		})
	}
	text := func(name, s string) {
		add(name, fixtureTime, func() []byte { return []byte(s) })
	}
	noise := func(name string, size int) {
		add(name, fixtureTime, func() []byte { return pseudorandom(name, size) })
	}

	text("hello.txt", "Hello from the lab.\n")
	add("octets.bin", fixtureTime, allBytes)
	noise("empty.bin", 0)
	noise("one.bin", 1)
	noise("65537.bin", 64<<10+1)
	noise("large.bin", 8<<20)
	for _, f := range texts {
		text(TextDir+"/"+f.name, f.content)
	}
	for _, name := range hardNames {
		text(NamesDir+"/"+name, "This file is called "+name+"\n")
	}
	deep := DeepDir
	for i := 1; i <= 16; i++ {
		deep += fmt.Sprintf("/%d", i)
		text(deep+"/level.txt", fmt.Sprintf("Level %d.\n", i))
	}
	for i := range 1000 {
		text(fmt.Sprintf("%s/file-%04d.txt", ManyDir, i), fmt.Sprintf("File %d of many.\n", i))
	}
	for _, d := range hardDates {
		add(DatesDir+"/"+d.name, d.at, func() []byte { return []byte(d.at.Format(time.RFC3339) + "\n") })
	}
	for i, a := range articles {
		text(articleName(i), a.text())
	}
	for _, f := range gopherFiles {
		text(GopherDir+"/"+f.name, f.content)
		files[len(files)-1].Exec = strings.HasPrefix(f.content, "#!")
	}
	return files
})

type namedText struct{ name, content string }

var texts = []namedText{
	{"lf.txt", "one\ntwo\nthree\n"},
	{"crlf.txt", "one\r\ntwo\r\nthree\r\n"},
	{"cr.txt", "one\rtwo\rthree\r"},
	{"unended.txt", "one\ntwo\nno line end here"},
	{"dots.txt", "..two dots\n.one dot\n.\n..\n...\nthe end\n.\n"},
	{"latin1.txt", "caf\xe9 cr\xe8me\n"},
	{"utf8.txt", "café crème, Grüße, 日本語\n"},
	{"long.txt", strings.Repeat("0123456789abcdef", 8192) + "\n"},
	{"page.html", "<!DOCTYPE html>\n<title>A page</title>\n<p>See <a href=\"../hello.txt\">hello</a>.\n"},
	{"data.json", "{\"lab\": true}\n"},
}

var hardNames = []string{
	"with blank.txt",
	"two  blanks.txt",
	" leading blank.txt",
	"semicolon;.txt",
	"looks;type=a",
	"question?.txt",
	"hash#.txt",
	"percent%.txt",
	"percent%41.txt",
	"plus+and&.txt",
	"colon:at@.txt",
	"equals=comma,.txt",
	"brackets[1].txt",
	"star*.txt",
	"tilde~.txt",
	"back\\slash.txt",
	"quote\".txt",
	"apostrophe's.txt",
	"dollar$HOME.txt",
	"-leading-dash.txt",
	".leading-dot.txt",
	"latin1-\xe9.txt",
	"octet-\xff.txt",
	"utf8-é-日本.txt",
	"sub dir/inner file.txt",
}

var hardDates = []struct {
	name string
	at   time.Time
}{
	{"1970.txt", time.Date(1970, time.January, 2, 0, 0, 1, 0, time.UTC)},
	{"1994.txt", time.Date(1994, time.December, 20, 8, 0, 0, 0, time.UTC)},
	{"1999.txt", time.Date(1999, time.December, 31, 23, 59, 59, 0, time.UTC)},
	{"2000-leap.txt", time.Date(2000, time.February, 29, 0, 0, 0, 0, time.UTC)},
	{"2024-leap.txt", time.Date(2024, time.February, 29, 23, 59, 58, 0, time.UTC)},
	{"2037.txt", time.Date(2037, time.December, 31, 12, 0, 0, 0, time.UTC)},
}

// allBytes returns each of the 256 bytes four times. The second sequence is descending, so that
// each byte has many neighbors, including CR LF and IAC IAC.
func allBytes() []byte {
	b := make([]byte, 0, 1024)
	for i := range 256 {
		b = append(b, byte(i))
	}
	for i := range 256 {
		b = append(b, byte(255-i))
	}
	for i := range 256 {
		b = append(b, byte(i), byte(i))
	}
	return append(b, "\r\n.\r\n\xff\xf4\xff\xff\x00\r\x00\n"...)
}

// pseudorandom returns size bytes that depend only on the seed: SHA-256 of the seed and a counter.
func pseudorandom(seed string, size int) []byte {
	b := make([]byte, 0, size+sha256.Size)
	block := append([]byte(seed), make([]byte, 8)...)
	for n := uint64(0); len(b) < size; n++ {
		binary.BigEndian.PutUint64(block[len(seed):], n)
		sum := sha256.Sum256(block)
		b = append(b, sum[:]...)
	}
	return bytes.Clone(b[:size])
}

// WriteFixture writes the tree below dir, which must not contain any of it. Directories get mode
// 0755, regardless of the umask.
func WriteFixture(dir string) error {
	return writeFiles(dir, Fixture())
}

func writeFiles(dir string, files []File) error {
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.Bytes(), f.mode()); err != nil {
			return err
		}
		if err := os.Chmod(path, f.mode()); err != nil {
			return err
		}
		if err := os.Chtimes(path, f.ModTime, f.ModTime); err != nil {
			return err
		}
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if err := os.Chmod(path, 0o755); err != nil {
			return err
		}
		return os.Chtimes(path, fixtureTime, fixtureTime)
	})
}

// FixtureID identifies the version of the tree. It depends on every name, content and time.
var FixtureID = sync.OnceValue(func() string {
	h := sha256.New()
	for _, f := range Fixture() {
		fmt.Fprintf(h, "%q %s %d %v\n", f.Name, f.SHA256, f.ModTime.Unix(), f.mode())
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
})

// Tree returns the folder with the fixture tree on this machine. If necessary, it writes the tree
// into the lab's cache. All servers and all runs share it, so it must not be changed.
func Tree() (string, error) {
	dir := filepath.Join(cacheDir(), "tree-"+FixtureID())
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(cacheDir(), 0o755); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(cacheDir(), ".tree-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp) // no effect after the rename
	if err := WriteFixture(tmp); err != nil {
		return "", err
	}
	if err := os.Rename(tmp, dir); err != nil {
		if _, ours := os.Stat(dir); ours == nil {
			return dir, nil // another test process was faster
		}
		return "", err
	}
	return dir, nil
}
