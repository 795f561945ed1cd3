package fetchtest

import (
	"bytes"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"testing/fstest"
	"time"
)

// HardNames are file names that are easily garbled. The directory "names" of Tree has a file for
// each. All are valid on Unix systems. Names that are not UTF-8 are missing, because package fs
// does not allow them.
var HardNames = []string{
	"a b",           // a space
	"a  b",          // two, which column-cutting listing parsers merge
	"a;b",           // RFC 1738: starts a parameter in ftp
	"a;type=i",      // looks like a parameter
	"a?b",           // starts a query, but not in ftp and gopher
	"a#b",           // starts a fragment
	"a%b",           // the escape character
	"a%2Fb",         // looks like an escaped slash, but is not
	"a%0D%0Ab",      // looks like an escaped line end, but is not
	"a&b=c+d",       // separators in forms
	"a:b@c",         // separators in authorities
	"a,b'c(d)e!$*~", // sub-delimiters
	"[a]",           // pattern characters
	`a\b`,           // a backslash, which is not a slash
	"a\"<b>|^`{c}",  // unsafe in RFC 1738
	"-a",            // looks like an option to ls
	".a",            // often hidden
	"..a",           // not the parent
	"...",
	"a -> b",     // looks like a symbolic link in a listing
	"é",          // Latin-1, precomposed
	"e\u0301",    // the same character, decomposed
	"日本語.txt",    // beyond Latin-1
	"\U0001f600", // beyond the BMP
	"CON",        // a device on Windows
	"a.tar.gz",   // two suffixes
	"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789" + "x",
}

// Files in Tree that the cases use.
const (
	emptyFile  = "sizes/0"
	oneFile    = "sizes/1"
	middleFile = "sizes/65537"
	largeFile  = "sizes/1048577"
	bigFile    = "sizes/8388608"
	bytesFile  = "octets.bin"
	smallFile  = "pub/readme.txt"
	absentFile = "pub/no-such-file.txt"
	absentDir  = "no-such-directory"
)

// Tree returns the suite's files, the same ones on every call:
//
//	octets.bin           every pair of bytes
//	sizes/0 ... 1048577  numbered lines of ASCII, cut off at that many bytes
//	sizes/8388608        the same, only if URLGET_LONG is set
//	pub/...              short ASCII texts, up to four directories deep
//	names/...            short texts under the HardNames
//
// No two files have the same content. Those in sizes are prefixes of each other. Lines end in LF;
// some begin with a dot.
func Tree() fs.FS { return tree() }

var tree = sync.OnceValue(func() fs.FS {
	m := fstest.MapFS{}
	add := func(name string, content []byte) {
		m[name] = &fstest.MapFile{Data: content, Mode: 0o644, ModTime: time.Date(2020, 2, 3, 4, 5, 6, 0, time.UTC)}
	}
	add(bytesFile, everyPair())
	sizes := []int{0, 1, 64<<10 + 1, 1<<20 + 1}
	if IsLong() {
		sizes = append(sizes, 8<<20)
	}
	lines := numberedLines(slices.Max(sizes))
	for _, size := range sizes {
		add(fmt.Sprintf("sizes/%d", size), lines[:size:size])
	}
	for _, name := range []string{smallFile, "pub/motd", "pub/a/one.txt", "pub/a/two.txt", "pub/a/b/three.txt", "pub/c/d/e/four.txt"} {
		add(name, smallText(name))
	}
	for _, name := range HardNames {
		add("names/"+name, smallText("names/"+name))
	}
	return sharedFiles{m}
})

// sharedFiles are files that ReadFile returns without a copy: servers read the large ones for each request,
// and do not change them.
type sharedFiles struct{ fstest.MapFS }

func (f sharedFiles) ReadFile(name string) ([]byte, error) {
	if file := f.MapFS[name]; file != nil {
		return slices.Clip(file.Data), nil
	}
	return f.MapFS.ReadFile(name)
}

// everyPair returns all pairs of bytes, one after the other. They include bare CRs, lines with a
// single dot, Telnet commands and other sequences that a layer might change.
func everyPair() []byte {
	b := make([]byte, 0, 1<<17)
	for i := range 1 << 16 {
		b = append(b, byte(i>>8), byte(i))
	}
	return append(b, "\r\n.\r\n..\r\n.x\r\n\xff\xff\x1a\r\n.\r\n"...)
}

// numberedLines returns n bytes of numbered lines. No two parts as long as a line are equal, so a
// test notices lost, repeated and swapped bytes.
func numberedLines(n int) []byte {
	var b bytes.Buffer
	b.Grow(n + 80)
	for i := 0; b.Len() < n; i++ {
		dot := ""
		if i%7 == 3 {
			dot = "."
		}
		fmt.Fprintf(&b, "%sline %07d. The quick brown fox jumps over the lazy dog.\n", dot, i)
	}
	return b.Bytes()[:n]
}

func smallText(name string) []byte {
	return fmt.Appendf(nil, "This is the file %+q.\n\n.a line with a dot\n..and one with two\n.\nthe end\n", name)
}
