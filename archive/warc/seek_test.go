package warc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/urlget/urlget/fetchtest"
)

// A countingFile counts the bytes that are read.
type countingFile struct {
	*bytes.Reader
	read atomic.Int64 // by several goroutines
}

func (f *countingFile) ReadAt(p []byte, at int64) (int, error) {
	n, err := f.Reader.ReadAt(p, at)
	f.read.Add(int64(n))
	return n, err
}

// withHeader returns an empty gzip member with header fields (RFC 1952, section 2.3.1).
func withHeader(flags byte, fields string) string {
	return "\x1f\x8b\x08" + string(flags) + "\x00\x00\x00\x00\x00\xff" + fields + "\x03\x00" + strings.Repeat("\x00", 8)
}

// Members without a record, and data that looks like members, cost no more than a multiple of their
// bytes, wherever the search for a record begins.
func TestSearchIsLinear(t *testing.T) {
	t.Parallel()
	one, two := text("1.1", "resource", "x:1", "eins"), text("1.1", "resource", "x:2", "zwei")
	n := 5000
	if fetchtest.IsLong() {
		n = 20_000
	}
	skippable := string(binary.LittleEndian.AppendUint32(nil, zstdSkippable)) + "\x00\x00\x00\x00"
	gz, zs := string(zipped(one)), string(zstandardOf(t, nil, one))
	name := strings.Repeat("\x1f\x8b\x08\x08\x01\x01\x01\x01\x01\xff", 6000)
	// A frame header and a raw block of 128 KiB.
	fakeFrame := string(binary.LittleEndian.AppendUint32(nil, zstdFrame)) + "\x00\x58\x00\x00\x10"
	for name, between := range map[string]string{
		"empty gzip members":      strings.Repeat(string(zipped("")), n),
		"tiny gzip members":       strings.Repeat(string(zipped("\r\n")), n),
		"long gzip names":         strings.Repeat(withHeader(8, strings.Repeat("n", 60_000)+"\x00"), n/1000),
		"magic in a gzip name":    strings.Repeat(withHeader(8, name+"\x00"), n/1000),
		"magic in a gzip comment": strings.Repeat(withHeader(16, strings.ReplaceAll(name, "\x08\x08", "\x08\x10")+"\x00"), n/1000),
		"magic in a gzip extra":   strings.Repeat(withHeader(4, "\x60\xea"+name), n/1000),
		"gzip magic":              strings.Repeat("\x1f\x8b\x08\x00", 10*n),
		"empty zstd frames":       strings.Repeat(string(zstandardOf(t, nil, "")), n),
		"tiny zstd frames":        strings.Repeat(string(zstandardOf(t, nil, "\r\n")), n),
		"skippable zstd frames":   strings.Repeat(skippable, 10*n),
		"zstd magic":              strings.Repeat(fakeFrame, n),
	} {
		file := gz + between + string(zipped(two))
		if strings.Contains(name, "zstd") {
			file = zs + between + string(zstandardOf(t, nil, two))
		}
		for _, from := range []int64{0, 1, 1000} {
			t.Run(fmt.Sprintf("%s from %d", name, from), func(t *testing.T) {
				t.Parallel()
				counted := &countingFile{Reader: bytes.NewReader([]byte(file))}
				r, err := NewReader(counted)
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				if from > 0 {
					err = r.pack.seek(from)
				}
				found := false
				for err == nil || isDamage(err) {
					var rec *Record
					if rec, err = r.Next(); err == nil {
						found = found || rec.TargetURI() == "x:2"
					}
				}
				if err != io.EOF {
					t.Fatal(err)
				}
				if size := int64(len(file)); counted.read.Load() > 12*size+1<<20 {
					t.Errorf("%d bytes were read of %d", counted.read.Load(), size)
				}
				if !found && name != "zstd magic" { // each frame seems to have all others as its content
					t.Error("the last record was not found")
				}
				if r.input.tried > 12*int64(len(file))+1<<20 {
					t.Errorf("%d bytes were tried of %d", r.input.tried, len(file))
				}
			})
		}
	}
}

func isDamage(err error) bool {
	_, ok := err.(*DamageError)
	return ok
}

// Between members without a record, reading ahead finds the same records.
func TestReadingAheadPassesEmptyMembers(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	const n = 30
	for i := range n {
		file.Write(zipped(text("1.1", "resource", fmt.Sprint("x:", i), "eins")))
		file.Write(bytes.Repeat(zipped(""), 5000))
	}
	counted := &countingFile{Reader: bytes.NewReader(file.Bytes())}
	a := &gzipped{input: newInput(counted)}
	offset, found := int64(0), 0
	for a.seek(offset) == nil {
		m, err := a.inflate()
		if err != nil {
			t.Fatal(err)
		}
		begin, err := io.ReadAll(m)
		if err != nil || !bytes.HasPrefix(begin, []byte("WARC/1.1")) {
			t.Fatalf("%q, %v", begin, err)
		}
		found++
		offset = a.pos()
	}
	if found != n || counted.read.Load() > 2*int64(file.Len()) {
		t.Errorf("%d records; %d bytes read of %d", found, counted.read.Load(), file.Len())
	}
}

// Records whose length is far too large do not make the reader read the rest of the file for each.
func TestTooLargeLengthsAreLinear(t *testing.T) {
	t.Parallel()
	const n = 2000
	wrong := strings.Replace(text("1.1", "resource", "x:1", "eins"), "Length: 4", "Length: 4000000000000", 1)
	counted := &countingFile{Reader: bytes.NewReader([]byte(strings.Repeat(wrong, n)))}
	r, err := NewReader(counted)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	records := 0
	for err == nil || isDamage(err) {
		if _, err = r.Next(); err == nil {
			records++
		}
	}
	if records != n || err != io.EOF {
		t.Errorf("%d records, %v", records, err)
	}
	if most := counted.Size() + 2*n*firstRead; counted.read.Load() > most {
		t.Errorf("%d bytes were read, want at most %d", counted.read.Load(), most)
	}
}

// Reading damaged records costs linear time, wherever their length claims that they end.
func TestReadingDamagedRecordsIsLinear(t *testing.T) {
	t.Parallel()
	const n = 4000
	withLength := func(length int64) string {
		return strings.Replace(text("1.1", "resource", "x:1", "eins"), "Length: 4", fmt.Sprintf("Length: %012d", length), 1)
	}
	arc := func(length int64) string {
		return fmt.Sprintf("ftp://h/ 127.0.0.1 20010203040506 text/plain %012d\neins\n", length)
	}
	tooLong := func(int) int64 { return 4e11 }
	toTheMiddle := func(rest int) int64 { return int64(rest/2 + 20) }
	frame := string(zstandardOf(t, nil, withLength(4e11)))
	last := strings.Replace(withLength(4), "urn:x", "urn:y", 1)
	for name, tt := range map[string]struct {
		record func(length int64) string
		last   string
		length func(rest int) int64 // rest is the length of the records that follow
	}{
		"beyond the end":       {withLength, last, tooLong},
		"within the file":      {withLength, last, toTheMiddle},
		"ARC, beyond the end":  {arc, arc(4), tooLong},
		"ARC, within the file": {arc, arc(4), toTheMiddle},
		"zstd":                 {func(int64) string { return frame }, string(zstandardOf(t, nil, last)), tooLong},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var file strings.Builder
			for i := range n {
				file.WriteString(tt.record(tt.length((n - 1 - i) * len(tt.record(0)))))
			}
			lastOffset := int64(file.Len())
			file.WriteString(tt.last)
			counted := &countingFile{Reader: bytes.NewReader([]byte(file.String()))}
			damaged := make(map[int64]bool)
			s, err := Verify(counted, func(p Problem) {
				if !strings.HasPrefix(p.Text, "duplicate") {
					damaged[p.Offset] = true
				}
			})
			if err != nil || s.Records != n+1 || len(damaged) != n || damaged[lastOffset] {
				t.Errorf("%d records, %d damaged, also the last one: %v; %v", s.Records, len(damaged), damaged[lastOffset], err)
			}
			if most := 12*counted.Size() + 4<<20 + 4*n*firstRead; counted.read.Load() > most {
				t.Errorf("%d bytes were read, want at most %d", counted.read.Load(), most)
			}
		})
	}
}
