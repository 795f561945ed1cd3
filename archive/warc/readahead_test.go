package warc_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetchtest"
)

// manyRecords returns a gzip file with records of different sizes, some of which contain gzip members
// that look like records.
func manyRecords(records int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	var file, member bytes.Buffer
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	pack := func(w io.Writer, text []byte, compressed bool) {
		if !compressed {
			stored, _ := gzip.NewWriterLevel(w, gzip.NoCompression)
			stored.Write(text)
			stored.Close()
			return
		}
		z.Reset(w)
		z.Write(text)
		z.Close()
	}
	for i := range records {
		var block []byte
		switch size := random.IntN(20_000); {
		case i == records/2: // larger than a chunk
			block = make([]byte, 9<<20)
			for i := range block {
				block[i] = byte(random.Uint32())
			}
		case i%7 == 0:
			member.Reset()
			pack(&member, []byte("WARC/1.1\r\nWARC-Type: resource\r\nContent-Length: 0\r\n\r\n\r\n\r\n"), true)
			block = bytes.Repeat(member.Bytes(), 3)
		default:
			for len(block) < size {
				block = fmt.Appendf(block, "line %d of record %d, %x\n", len(block), i, random.Uint64())
			}
		}
		compressed := i%7 != 0 // otherwise the inner members are in the file as they are
		pack(&file, fmt.Appendf(nil, "WARC/1.1\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:x:%d>\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", i, len(block), block), compressed)
	}
	return file.Bytes()
}

// describe reads a file and returns a line for each record, and the errors.
func describe(t *testing.T, file io.ReaderAt) string {
	t.Helper()
	r, err := warc.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out strings.Builder
	for n := 0; ; n++ {
		rec, err := r.Next()
		if err == io.EOF {
			fmt.Fprintf(&out, "valid: %d\n", r.ValidSize())
			return out.String()
		}
		if err != nil {
			fmt.Fprintln(&out, err)
			continue
		}
		var sum uint32
		size := int64(-1)
		if n%5 != 0 { // some blocks are not read
			block, err := io.ReadAll(rec.Block)
			for _, b := range block {
				sum = sum*31 + uint32(b)
			}
			if size = int64(len(block)); err != nil {
				fmt.Fprintln(&out, err)
			}
		}
		fmt.Fprintln(&out, rec.Offset, rec.Within, rec.Get("WARC-Record-ID"), rec.Length, size, sum)
	}
}

// TestReadingAheadChangesNothing reads files with one processor and with several.
func TestReadingAheadChangesNothing(t *testing.T) { // not parallel: it changes GOMAXPROCS
	readAhead(t, 300)
}

func TestReadingAheadInALargeFile(t *testing.T) { // not parallel, for the same reason
	fetchtest.Long(t)
	readAhead(t, 3000)
}

func readAhead(t *testing.T, records int) {
	t.Helper()
	whole := manyRecords(records)
	random := rand.New(rand.NewPCG(3, 4))
	damaged := func(n int) []byte {
		file := bytes.Clone(whole)
		for range n {
			file[random.IntN(len(file))] ^= 0x5a
		}
		return file
	}
	cut := whole[:len(whole)-100_000-7]
	inserted := append(append(bytes.Clone(whole[:5_000_000]), make([]byte, 70_000)...), whole[5_000_000:]...)
	for name, file := range map[string][]byte{"whole": whole, "cut": cut, "one error": damaged(1), "many errors": damaged(200), "inserted": inserted} {
		previous := runtime.GOMAXPROCS(1)
		want := describe(t, bytes.NewReader(file))
		runtime.GOMAXPROCS(4)
		got := describe(t, bytes.NewReader(file))
		runtime.GOMAXPROCS(previous)
		if got != want {
			t.Errorf("%s: the records differ:\n%s\nwant\n%s", name, firstDifference(got, want), firstDifference(want, got))
		}
		if name == "whole" && strings.Count(want, "\n") != records+1 {
			t.Errorf("%d lines", strings.Count(want, "\n"))
		}
	}
}

// firstDifference returns the first line of a that is not in b at the same position.
func firstDifference(a, b string) string {
	lines := strings.Split(b, "\n")
	for i, line := range strings.Split(a, "\n") {
		if i >= len(lines) || lines[i] != line {
			return line
		}
	}
	return ""
}

func BenchmarkReader(b *testing.B) {
	file := manyRecords(5000)
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		r, err := warc.NewReader(bytes.NewReader(file))
		if err != nil {
			b.Fatal(err)
		}
		for {
			rec, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			io.Copy(io.Discard, rec.Block)
		}
		r.Close()
	}
}
