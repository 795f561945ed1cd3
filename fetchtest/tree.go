package fetchtest

import (
	"bytes"
	"fmt"
	"io/fs"
	"sync"
	"testing/fstest"
	"time"
)

// HardNames are file names that a careless driver garbles. They are the names in the directory
// "names" of Tree. All are valid on Unix systems. Names in other encodings than UTF-8 are missing,
// as package fs has no place for them.
var HardNames = []string{
	"a b",           // a space
	"a  b",          // two, which column-cutting listing parsers merge
	"a;b",           // RFC 1738: starts a parameter in ftp
	"a;type=i",      // looks like one
	"a?b",           // starts a query, but not in ftp and gopher
	"a#b",           // starts a fragment
	"a%b",           // the escape character
	"a%2Fb",         // looks like an escaped slash, which it is not
	"a%0D%0Ab",      // looks like an escaped line end, which it is not
	"a&b=c+d",       // what forms encode
	"a:b@c",         // what authorities are divided by
	"a,b'c(d)e!$*~", // sub-delimiters
	"[a]",           // pattern characters
	`a\b`,           // a backslash is no slash
	"a\"<b>|^`{c}",  // unsafe in RFC 1738
	"-a",            // looks like an option to ls
	".a",            // often hidden
	"..a",           // is not the parent
	"...",
	"a -> b",     // looks like a symbolic link in a listing
	"é",          // Latin-1, precomposed
	"e\u0301",    // the same to people, decomposed
	"日本語.txt",    // beyond Latin-1
	"\U0001f600", // beyond the BMP
	"CON",        // a device in Windows
	"a.tar.gz",   // two suffixes
	"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789" + "x",
}

// Names of files in Tree that cases refer to.
const (
	emptyFile  = "sizes/0"
	oneFile    = "sizes/1"
	middleFile = "sizes/65537"
	bigFile    = "sizes/8388608"
	bytesFile  = "octets.bin"
	smallFile  = "pub/readme.txt"
	absentFile = "pub/no-such-file.txt"
	absentDir  = "no-such-directory"
)

// Tree returns the suite's files, always the same:
//
//	octets.bin           every pair of bytes
//	sizes/0 ... 8388608  numbered lines of ASCII, cut off at that many bytes
//	pub/...              short ASCII texts, up to four directories deep
//	names/...            short texts under the HardNames
//
// No two files but those in sizes share a content. Lines end in LF; some of
// them begin with a dot.
func Tree() fs.FS { return tree() }

var tree = sync.OnceValue(func() fs.FS {
	m := fstest.MapFS{}
	add := func(name string, content []byte) {
		m[name] = &fstest.MapFile{Data: content, Mode: 0o644, ModTime: time.Date(2020, 2, 3, 4, 5, 6, 0, time.UTC)}
	}
	add(bytesFile, everyPair())
	lines := numberedLines(8 << 20)
	for _, size := range []int{0, 1, 64<<10 + 1, 8 << 20} {
		add(fmt.Sprintf("sizes/%d", size), lines[:size:size])
	}
	for _, name := range []string{smallFile, "pub/motd", "pub/a/one.txt", "pub/a/two.txt", "pub/a/b/three.txt", "pub/c/d/e/four.txt"} {
		add(name, smallText(name))
	}
	for _, name := range HardNames {
		add("names/"+name, smallText("names/"+name))
	}
	return m
})

// everyPair returns all pairs of bytes, one after the other: bare CRs, lines
// of a dot, Telnet commands and all the rest that some layer might change.
func everyPair() []byte {
	b := make([]byte, 0, 1<<17)
	for i := range 1 << 16 {
		b = append(b, byte(i>>8), byte(i))
	}
	return append(b, "\r\n.\r\n..\r\n.x\r\n\xff\xff\x1a\r\n.\r\n"...)
}

// numberedLines returns n bytes of which no two stretches of a line's length
// are equal, so that nothing can be lost, doubled or swapped unnoticed.
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
