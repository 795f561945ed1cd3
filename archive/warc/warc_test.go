package warc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"github.com/urlget/urlget/archive/internal/digest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// text returns a record in WARC format.
func text(version, kind, uri, block string, more ...string) string {
	return fmt.Sprintf("WARC/%s\r\nWARC-Type: %s\r\nWARC-Record-ID: <urn:x>\r\nWARC-Date: 2026-01-02T03:04:05Z\r\n"+
		"WARC-Target-URI: %s\r\n%sContent-Length: %d\r\n\r\n%s\r\n\r\n", version, kind, uri, strings.Join(more, ""), len(block), block)
}

func zipped(parts ...string) []byte {
	var b bytes.Buffer
	for _, p := range parts {
		z := gzip.NewWriter(&b)
		io.WriteString(z, p)
		z.Close()
	}
	return b.Bytes()
}

// frames is shared, because a compressor takes megabytes.
var frames = sync.OnceValue(func() *zstd.Encoder { return newFrames() })

func newFrames(opts ...zstd.EOption) *zstd.Encoder {
	z, err := zstd.NewWriter(nil, append(opts, zstd.WithEncoderConcurrency(1))...)
	if err != nil {
		panic(err)
	}
	return z
}

// zstandardOf compresses each part as a separate frame.
func zstandardOf(t testing.TB, dict []byte, parts ...string) []byte {
	t.Helper()
	z, out := frames(), []byte(nil)
	if dict != nil {
		z = newFrames(zstd.WithEncoderDict(dict))
		defer z.Close()
		out = binary.LittleEndian.AppendUint32(nil, zstdDictionary)
		out = binary.LittleEndian.AppendUint32(out, uint32(len(dict)))
		out = append(out, dict...)
	}
	for _, p := range parts {
		out = z.EncodeAll([]byte(p), out)
	}
	return out
}

// read returns a line for each record and each error in a file.
func read(t testing.TB, file []byte) []string {
	t.Helper()
	r, err := NewReader(bytes.NewReader(file))
	if err != nil {
		return []string{err.Error()}
	}
	defer r.Close()
	var all []string
	for rec, err := range r.Records() {
		if err != nil {
			damage, isDamage := errors.AsType[*DamageError](err)
			if !isDamage {
				t.Fatal(err)
			}
			all = append(all, fmt.Sprintf("damage at %d", damage.Offset))
			continue
		}
		block, err := io.ReadAll(rec.Block)
		if err != nil {
			continue // the next call of Next reports it too
		}
		if len(block) > 40 {
			block = fmt.Appendf(nil, "%d bytes", len(block))
		}
		all = append(all, fmt.Sprintf("%s %s %s %s", rec.Version, rec.Type(), rec.TargetURI(), block))
	}
	return all
}

// A brokenFile fails where its text ends.
type brokenFile struct{ *strings.Reader }

var errBroken = errors.New("input/output error")

func (f brokenFile) ReadAt(p []byte, at int64) (int, error) {
	n, err := f.Reader.ReadAt(p, at)
	if err == io.EOF {
		err = errBroken
	}
	return n, err
}

func TestRecordsEndAfterAnErrorOfTheFile(t *testing.T) {
	t.Parallel()
	one := text("1.1", "resource", "ftp://h/1", "one")
	r, err := NewReader(brokenFile{strings.NewReader(one + "damage\r\n" + one)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got []string
	for rec, err := range r.Records() {
		if got = append(got, fmt.Sprint(err)); err == nil {
			got[len(got)-1] = rec.TargetURI()
		}
	}
	want := []string{"ftp://h/1", fmt.Sprintf(`damaged at byte %d: expected a record, found "damage"`, len(one)), "ftp://h/1"}
	if len(got) != 4 || !slices.Equal(got[:3], want) || !strings.Contains(got[3], errBroken.Error()) {
		t.Errorf("got %q", got)
	}
}

func TestReaderFormats(t *testing.T) {
	t.Parallel()
	one, two := text("1.0", "response", "<http://h/1>", "eins"), text("1.1", "resource", "ftp://h/2", "zwei")
	want := []string{"WARC/1.0 response http://h/1 eins", "WARC/1.1 resource ftp://h/2 zwei"}
	var samples [][]byte
	for i := range 100 {
		samples = append(samples, []byte(text("1.1", "response", fmt.Sprint("http://h/", i*7919), fmt.Sprintf("%x", i*i*104729))))
	}
	dict, err := zstd.BuildDict(zstd.BuildDictOptions{ID: 40000, Contents: samples, History: []byte(one + two), Offsets: [3]int{1, 4, 8}})
	if err != nil {
		t.Fatal(err)
	}
	packedDict := zstandardOf(t, nil, string(dict))
	withPacked := binary.LittleEndian.AppendUint32(nil, zstdDictionary)
	withPacked = binary.LittleEndian.AppendUint32(withPacked, uint32(len(packedDict)))
	withPacked = append(withPacked, packedDict...)
	withPacked = append(withPacked, zstandardOf(t, dict, one, two)[8+len(dict):]...)
	skippable := binary.LittleEndian.AppendUint32(nil, zstdSkippable+3)
	skippable = append(binary.LittleEndian.AppendUint32(skippable, 3), "xyz"...)
	tests := []struct {
		name string
		file []byte
	}{
		{"plain", []byte(one + two)},
		{"one gzip member per record", zipped(one, two)},
		{"one gzip member", zipped(one + two)},
		{"zstd frames", zstandardOf(t, nil, one, two)},
		{"records of several zstd frames", zstandardOf(t, nil, one[:20], one[20:len(one)-3], one[len(one)-3:], two)},
		{"zstd with a dictionary", zstandardOf(t, dict, one, two)},
		{"zstd with a compressed dictionary", withPacked},
		{"zstd with skippable frames", slices.Concat(zstandardOf(t, nil, one), skippable, zstandardOf(t, nil, two))},
		{"lines ending in LF", []byte(strings.ReplaceAll(one+two, "\r\n", "\n"))},
		{"lines ending in CR CR LF", []byte(strings.ReplaceAll(one+two, "\r\n", "\r\r\n"))},
		{"extra line ends between records", []byte(one + "\r\n\r\n" + two)},
		{"a folded header field", []byte(strings.Replace(one, "WARC-Type: response", "WARC-Type:\r\n  response", 1) + two)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := read(t, tt.file); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	old := text("0.18", "response", "http://h/", "alt")
	if got := read(t, []byte(old)); !slices.Equal(got, []string{"WARC/0.18 response http://h/ alt"}) {
		t.Errorf("version 0.18: %q", got)
	}
	if got := read(t, nil); got != nil {
		t.Errorf("an empty file: %q", got)
	}
}

func TestReaderContinuesAfterDamage(t *testing.T) {
	t.Parallel()
	one, two, three := text("1.1", "resource", "x:1", "eins"), text("1.1", "resource", "x:2", "zwei"), text("1.1", "resource", "x:3", "drei")
	flip := func(file []byte, at int) []byte {
		file = bytes.Clone(file)
		file[at] ^= 0x40
		return file
	}
	z := zipped(one)
	gz := zipped(one, two, three)
	zs := zstandardOf(t, nil, one, two, three)
	first := "WARC/1.1 resource x:1 eins"
	third := "WARC/1.1 resource x:3 drei"
	plainOne := len(one)
	tests := []struct {
		name string
		file []byte
		want []string
	}{
		{"a flipped bit in a gzip member", flip(gz, len(z)+30), []string{first, fmt.Sprintf("damage at %d", len(z)), third}},
		{"a flipped bit in a zstd frame", flip(zs, len(zstandardOf(t, nil, one))+30),
			[]string{first, fmt.Sprintf("damage at %d", len(zstandardOf(t, nil, one))), third}},
		{"rubbish between records", []byte(one + "rubbish\r\n" + three), []string{first, fmt.Sprintf("damage at %d", plainOne), third}},
		{"a length that is not a number", []byte(one + strings.Replace(two, "Length: 4", "Length: x", 1) + three),
			[]string{first, fmt.Sprintf("damage at %d", plainOne), third}},
		{"a length that is too small", []byte(one + strings.Replace(two, "Length: 4", "Length: 2", 1) + three),
			[]string{first, "WARC/1.1 resource x:2 zw", fmt.Sprintf("damage at %d", plainOne), third}},
		{"a length that is far too large", []byte(one + strings.Replace(two, "Length: 4", "Length: 4000000000000", 1) + three),
			[]string{first, fmt.Sprintf("damage at %d", plainOne), third}},
		{"a length beyond 62 bits", []byte(one + strings.Replace(two, "Length: 4", "Length: 99999999999999999999", 1) + three),
			[]string{first, fmt.Sprintf("damage at %d", plainOne), third}},
		{"a length beyond its gzip member", zipped(strings.Replace(one, "Length: 4", "Length: 400", 1), three), []string{"damage at 0", third}},
		{"NULs at the end", append([]byte(one), make([]byte, 5000)...), []string{first, fmt.Sprintf("damage at %d", plainOne)}},
		{"NULs after gzip members", append(bytes.Clone(z), make([]byte, 5000)...), []string{first, fmt.Sprintf("damage at %d", len(z))}},
		{"a line without a colon", []byte(strings.Replace(one, "WARC-Date: ", "WARC-Date ", 1)[:60] + "\r\nnonsense\r\n\r\n" + three),
			[]string{"damage at 0", third}},
		{"truncated in the block", []byte(one + two[:len(two)-6]), []string{first, fmt.Sprintf("damage at %d", plainOne)}},
		{"truncated in the header", []byte(one + two[:30]), []string{first, fmt.Sprintf("damage at %d", plainOne)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := read(t, tt.file); !slices.Equal(got, tt.want) {
				t.Errorf("got %q\nwant %q", got, tt.want)
			}
		})
	}
}

// endless is a file without an end that repeats the text.
type endless string

func (e endless) ReadAt(p []byte, at int64) (int, error) {
	for i := range p {
		p[i] = e[(at+int64(i))%int64(len(e))]
	}
	return len(p), nil
}

func TestReaderLimits(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{
		"a header without an end": "WARC/1.1\r\n" + strings.Repeat("a: "+strings.Repeat("b", 4000)+"\r\n", 100),
		"a line without an end":   "WARC/1.1\r\nx: " + strings.Repeat("y", maxHeader+100),
		"too many fields":         "WARC/1.1\r\n" + strings.Repeat("a: b\r\n", maxFields+2) + "\r\n",
		"too many line ends": text("1.1", "resource", "x:1", "eins") + strings.Repeat("\r\n", maxGap) +
			text("1.1", "resource", "x:2", "zwei"),
	} {
		for _, file := range [][]byte{[]byte(file), zipped(file), zstandardOf(t, nil, file)} {
			if got := read(t, file); !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "damage") }) {
				t.Errorf("%s: %q", name, got)
			}
		}
	}
	big := binary.LittleEndian.AppendUint32(nil, zstdDictionary)
	big = binary.LittleEndian.AppendUint32(big, maxZstd+1)
	if _, err := NewReader(endless(big)); err == nil || !strings.Contains(err.Error(), "zstd dictionary has 8388609 bytes; the limit is 8388608") {
		t.Errorf("a dictionary beyond the limit: %v", err)
	}
}

func TestSeekRecord(t *testing.T) {
	t.Parallel()
	parts := []string{text("1.1", "resource", "x:1", "eins"), text("1.1", "resource", "x:2", "zwei"), text("1.1", "resource", "x:3", "drei")}
	for name, file := range map[string][]byte{"plain": []byte(strings.Join(parts, "")), "gzip": zipped(parts...),
		"one member": zipped(strings.Join(parts, "")), "zstd": zstandardOf(t, nil, parts...)} {
		r, err := NewReader(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		type place struct{ offset, within int64 }
		var places []place
		for {
			rec, err := r.Next()
			if err != nil {
				break
			}
			places = append(places, place{rec.Offset, rec.Within})
		}
		for i, p := range slices.Backward(places) {
			if err := r.SeekRecord(p.offset, p.within); err != nil {
				t.Fatal(err)
			}
			rec, err := r.Next()
			if err != nil {
				t.Fatalf("%s: record %d: %v", name, i, err)
			}
			if want := fmt.Sprintf("x:%d", i+1); rec.TargetURI() != want {
				t.Errorf("%s: got %s, want %s", name, rec.TargetURI(), want)
			}
		}
		r.Close()
	}
}

func spooled(t testing.TB, content string) *Spool {
	s := newSpool(t.TempDir())
	io.WriteString(s, content)
	t.Cleanup(func() { s.Close() })
	return s
}

// draft returns a resource record with the content.
func draft(t testing.TB, uri, content string) *Draft {
	return &Draft{Header: Header{{"WARC-Type", Resource}, {"WARC-Target-URI", uri}}, Block: spooled(t, content),
		Index: &IndexEntry{Mime: "text/plain"}}
}

func TestSpoolIsReadAtAnyOffset(t *testing.T) {
	t.Parallel()
	for _, before := range []int{0, spoolMemory} { // in memory and in a file
		s := spooled(t, strings.Repeat("x", before)+"pear")
		for _, tt := range []struct {
			offset int64
			length int
			want   string
			err    error
		}{{0, 4, "pear", nil}, {1, 2, "ea", nil}, {2, 4, "ar", io.EOF}, {4, 1, "", io.EOF}, {9, 1, "", io.EOF}} {
			p := make([]byte, tt.length)
			n, err := s.ReadAt(p, int64(before)+tt.offset)
			if string(p[:n]) != tt.want || err != tt.err {
				t.Errorf("%d bytes at %d after %d: %q, %v", tt.length, tt.offset, before, p[:n], err)
			}
		}
	}
}

func create(t testing.TB, path string, o WriterOptions) *Writer {
	t.Helper()
	w, err := Create(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func contents(t testing.TB, path string) []string {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var rest []string
	for _, line := range read(t, file) {
		if !strings.Contains(line, "warcinfo") {
			rest = append(rest, line)
		}
	}
	return rest
}

func TestWriteAndRead(t *testing.T) {
	t.Parallel()
	for _, o := range []WriterOptions{{}, {Plain: true}} {
		o.Info, o.Index = Header{{"software", "a\r\nb"}}, true
		path := filepath.Join(t.TempDir(), "a")
		w := create(t, path, o)
		long := strings.Repeat("0123456789abcdef", 1<<14)
		if err := w.Write(draft(t, "x:1", "eins"), draft(t, "x:2", long), &Draft{Header: Header{{"WARC-Type", Metadata}}}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		want := []string{"WARC/1.1 resource x:1 eins", "WARC/1.1 resource x:2 262144 bytes", "WARC/1.1 metadata  "}
		name := path + w.suffix
		if got := contents(t, name); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		if matches, _ := filepath.Glob(filepath.Dir(path) + "/.warc-*"); matches != nil {
			t.Errorf("temporary files left: %q", matches)
		}
		checkIndex(t, path+".cdxj", name)
	}
}

// checkIndex checks that each index line refers to its record.
func checkIndex(t *testing.T, index, name string) {
	t.Helper()
	text, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = ReadIndex(bytes.NewReader(text), func(e IndexEntry) error {
		n++
		r, err := NewReader(bytes.NewReader(file[e.Offset : e.Offset+e.Length]))
		if err != nil {
			return err
		}
		defer r.Close()
		rec, err := r.Next()
		if err == nil && (rec.TargetURI() != e.URL || !rec.Date().Equal(e.Date) || e.File != filepath.Base(name)) {
			err = fmt.Errorf("%+v refers to %+v", e, rec)
		}
		return err
	})
	if err != nil || n != 2 {
		t.Errorf("%d lines: %v", n, err)
	}
}

func TestBlockDigests(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.warc")
	w := create(t, path, WriterOptions{})
	w.Write(draft(t, "x:1", "A pear is a fruit.\n"))
	w.Close()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, _ := NewReader(f)
	for range 2 {
		rec, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		d, ok := digest.Parse(rec.Get("WARC-Block-Digest"))
		if !ok {
			t.Fatal(rec.Header)
		}
		h := d.Hash()
		io.Copy(h, rec.Block)
		if !bytes.Equal(h.Sum(nil), d.Sum) {
			t.Errorf("%s: %x, want %x", rec.Type(), h.Sum(nil), d.Sum)
		}
	}
}

func TestMaxSize(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 2 {
		w := create(t, filepath.Join(dir, "a"), WriterOptions{Plain: true, MaxSize: 2000, Append: i > 0})
		for range 5 {
			if err := w.Write(draft(t, "x:1", strings.Repeat("x", 700))); err != nil {
				t.Fatal(err)
			}
		}
		w.Close()
	}
	names, _ := filepath.Glob(dir + "/a-0000*.warc")
	records := 0
	for _, name := range names {
		records += len(contents(t, name))
	}
	if len(names) < 4 || records != 10 {
		t.Errorf("%d records in %q", records, names)
	}
}

func TestExistingFileIsNotOverwritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.warc.gz")
	create(t, path, WriterOptions{}).Close()
	if w, err := Create(path, WriterOptions{}); !errors.Is(err, os.ErrExist) {
		t.Errorf("%v, %v", w, err)
	}
}

// Appending to a file that was truncated anywhere continues after its last complete record.
func TestAppendAfterTruncatedRecord(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{".warc", ".warc.gz"} {
		path := filepath.Join(t.TempDir(), "a"+suffix)
		w := create(t, path, WriterOptions{})
		for i := range 3 {
			w.Write(draft(t, fmt.Sprintf("x:%d", i), "content"))
		}
		w.Close()
		whole, _ := os.ReadFile(path)
		for cut := range len(whole) + 1 {
			if cut > 31 && cut%31 != 0 {
				continue
			}
			before := read(t, whole[:cut])
			for _, more := range [][]byte{nil, make([]byte, 100)} {
				if err := os.WriteFile(path, append(bytes.Clone(whole[:cut]), more...), 0o600); err != nil {
					t.Fatal(err)
				}
				if cut < 31 && more != nil {
					continue // not recognized as a WARC file
				}
				w := create(t, path, WriterOptions{Append: true})
				if err := w.Write(draft(t, "x:new", "new")); err != nil {
					t.Fatal(err)
				}
				w.Close()
				file, _ := os.ReadFile(path)
				got := read(t, file)
				if slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "damage") }) {
					t.Fatalf("%s truncated at %d: %q", suffix, cut, got)
				}
				keep := slices.DeleteFunc(slices.Clone(before), func(s string) bool { return strings.HasPrefix(s, "damage") })
				for _, line := range keep[:max(0, len(keep)-1)] {
					if !slices.Contains(got, line) {
						t.Fatalf("%s truncated at %d: %q is lost: %q", suffix, cut, line, got)
					}
				}
				if got[len(got)-1] != "WARC/1.1 resource x:new new" {
					t.Fatalf("%s truncated at %d: %q", suffix, cut, got)
				}
			}
		}
	}
}

func TestAppendToOtherFiles(t *testing.T) {
	t.Parallel()
	one := text("1.1", "resource", "x:1", "eins")
	for name, content := range map[string][]byte{
		"a.warc":    []byte("Dear diary"),
		"b.warc.gz": zipped("Dear diary"),
		"c.warc.gz": []byte("Dear diary"),
		"d.warc.gz": []byte(one),
		"e.warc":    zipped(one),
		"f.warc.gz": zstandardOf(t, nil, one),
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Create(path, WriterOptions{Append: true}); err == nil || !strings.Contains(err.Error(), "cannot append to") {
			t.Errorf("%s: %v", name, err)
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(after, content) {
			t.Errorf("%s was changed", name)
		}
	}
}

func TestExistingIndexIsNotChanged(t *testing.T) {
	t.Parallel()
	for _, max := range []int64{0, 1000} {
		dir := t.TempDir()
		index := filepath.Join(dir, "a.cdxj")
		if err := os.WriteFile(index, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		w, err := Create(filepath.Join(dir, "a"), WriterOptions{Index: true, MaxSize: max})
		if !errors.Is(err, fs.ErrExist) {
			t.Fatalf("%v, %v", w, err)
		}
		if list, _ := os.ReadDir(dir); len(list) != 1 {
			t.Errorf("files: %v", list)
		}
		if after, _ := os.ReadFile(index); string(after) != "x" {
			t.Errorf("index: %q", after)
		}
	}
}

func TestConcurrentWrites(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.warc.gz")
	w := create(t, path, WriterOptions{MaxSize: 0})
	var group sync.WaitGroup
	for i := range 8 {
		var list []*Draft
		for j := range 10 {
			list = append(list, draft(t, fmt.Sprintf("x:%d-%d", i, j), strings.Repeat("x", (j%3)*spoolMemory)))
		}
		group.Go(func() {
			for _, d := range list {
				w.Write(d)
			}
		})
	}
	group.Wait()
	w.Close()
	got := contents(t, path)
	if len(got) != 80 || slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "damage") }) {
		t.Errorf("%d records: %q", len(got), got)
	}
}

func TestWriteErrorLeavesCompleteRecords(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.warc")
	w := create(t, path, WriterOptions{})
	w.Write(draft(t, "x:1", "eins"))
	bad := draft(t, "x:2", strings.Repeat("x", 3*spoolMemory))
	bad.Block.file.Close() // reading the block fails
	if err := w.Write(bad); !errors.Is(err, fs.ErrClosed) || w.Err() != err {
		t.Errorf("Write: %v, Err: %v", err, w.Err())
	}
	if err := w.Write(draft(t, "x:3", "drei")); err == nil || err != w.Err() {
		t.Errorf("after an error: %v, want %v", err, w.Err())
	}
	if got := contents(t, path); !slices.Equal(got, []string{"WARC/1.1 resource x:1 eins"}) {
		t.Errorf("%q", got)
	}
}

func TestDates(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)
	if got := parseDate(formatDate(at)); !got.Equal(at) {
		t.Error(got)
	}
	for _, text := range []string{"2026-01-02T03:04:05Z", "20260102030405", "2026-01-02T03:04Z", "2026"} {
		if parseDate(text).Year() != 2026 {
			t.Errorf("cannot parse %q", text)
		}
	}
	if !parseDate("yesterday").IsZero() {
		t.Error("parsed \"yesterday\" as a date")
	}
}

func FuzzReader(f *testing.F) {
	one, two := text("1.1", "resource", "x:1", "eins"), text("1.0", "response", "<x:2>", "zwei")
	f.Add([]byte(one + two))
	f.Add(zipped(one, two))
	f.Add(zipped(one + two))
	f.Add(zstandardOf(f, nil, one, two))
	f.Add(zipped(strings.Repeat("\r\n", 1000)))
	f.Add(bzip2File(f, bzip2Parts))
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := NewReader(bytes.NewReader(file))
		if err != nil {
			return
		}
		defer r.Close()
		before := int64(-1)
		for n := 0; ; n++ {
			rec, err := r.Next()
			var damage *DamageError
			switch {
			case err == io.EOF:
				if r.ValidSize() > int64(len(file)) {
					t.Fatalf("ValidSize %d of %d", r.ValidSize(), len(file))
				}
				return
			case errors.As(err, &damage):
				if damage.Offset < before || damage.Offset > int64(len(file)) {
					t.Fatalf("damage at %d after %d", damage.Offset, before)
				}
				before = damage.Offset
			case err != nil:
				t.Fatal(err)
			default:
				io.CopyN(io.Discard, rec.Block, 1<<20)
				before = rec.Offset
			}
			if n > 10*len(file)+10 {
				t.Fatal("Next does not reach the end")
			}
		}
	})
}

// The coverage line of an index covers a file only if the index has all its records.
func TestIndexCoverage(t *testing.T) {
	t.Parallel()
	for _, o := range []WriterOptions{{Index: true}, {Index: true, MaxSize: 300}} {
		dir := t.TempDir()
		path := filepath.Join(dir, "a")
		covered := func() (sizes []int64, missing int) {
			index, err := os.ReadFile(path + ".cdxj")
			if err != nil {
				t.Fatal(err)
			}
			names, _ := filepath.Glob(filepath.Join(dir, "*.warc.gz"))
			for _, name := range names {
				info, _ := os.Stat(name)
				n, err := Covered(bytes.NewReader(index), filepath.Base(name))
				if err != nil {
					t.Fatal(err)
				}
				if sizes = append(sizes, n); n != info.Size() {
					missing++
				}
			}
			return sizes, missing
		}
		for i := range 3 {
			o.Append = i > 0
			w := create(t, path, o)
			w.Write(draft(t, fmt.Sprintf("x:%d", i), "content"))
			w.Close()
			if sizes, missing := covered(); missing > 0 {
				t.Errorf("run %d: %v", i, sizes)
			}
		}
		// A killed run writes no coverage line, and later runs do not know what it wrote.
		w := create(t, path, o)
		w.Write(draft(t, "x:killed", "content"))
		w.file.Close()
		w.index.WriteString("incomplete li")
		w.index.Close()
		w = create(t, path, o)
		w.Write(draft(t, "x:after", "content"))
		w.Close()
		if sizes, missing := covered(); missing != 1 {
			t.Errorf("after a killed run: %v", sizes)
		}
		index, _ := os.ReadFile(path + ".cdxj")
		if !strings.Contains(string(index), "\nx:after ") {
			t.Errorf("no line after the incomplete line: %q", index)
		}
	}
}

func TestIndex(t *testing.T) {
	t.Parallel()
	const web = "Content-Type: application/http;msgtype=response\r\n"
	head := "HTTP/1.1 404 Not Found\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
	records := []string{text("1.0", "warcinfo", "", ""),
		strings.Replace(text("1.0", "request", "http://h/a", "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", "Content-Type: application/http;msgtype=request\r\n"), "urn:x", "urn:request", 1),
		text("1.0", "response", "<http://h/a>", head, web, "WARC-Concurrent-To: <urn:request>\r\n", "WARC-Payload-Digest: sha1:X\r\n"),
		text("1.0", "revisit", "http://h/b", "", "WARC-Refers-To: <urn:x>\r\n"),
		text("1.0", "resource", "ftp://h/c", "zwei"),
	}
	for name, file := range map[string][]byte{"plain": []byte(strings.Join(records, "")), "gzip": zipped(records...),
		"damaged": append([]byte(strings.Join(records, "")), "WARC/1.0\r\nhalf"...)} {
		var got []IndexEntry
		covered, err := Index(bytes.NewReader(file), "f", func(e IndexEntry) error { got = append(got, e); return nil })
		if damage, _ := errors.AsType[*DamageError](err); err != nil && damage == nil || (damage != nil) != (name == "damaged") || len(got) != 3 {
			t.Fatalf("%s: %+v, %v", name, got, err)
		}
		if want := int64(len(file)); name == "damaged" && covered >= want || name != "damaged" && covered != want {
			t.Errorf("%s: %d of %d bytes covered", name, covered, want)
		}
		a, b, c := got[0], got[1], got[2]
		if a.Status != 404 || a.Mime != "text/html" || a.Digest != "sha1:X" || a.Method != "HEAD" || a.Request == 0 || a.URL != "http://h/a" {
			t.Errorf("%s: %+v", name, a)
		}
		if b.Mime != "warc/revisit" || b.Origin != a.Offset || c.Mime != "unk" {
			t.Errorf("%s: %+v %+v", name, b, c)
		}
		for _, e := range got {
			r, _ := NewReader(bytes.NewReader(file[e.Offset : e.Offset+e.Length]))
			if rec, err := r.Next(); err != nil || rec.TargetURI() != e.URL {
				t.Errorf("%s: %+v refers to %v, %v", name, e, rec, err)
			}
		}
	}
	if _, err := Index(bytes.NewReader(zipped(strings.Join(records, ""))), "f", nil); err != errShared {
		t.Errorf("records in one member: %v", err)
	}
	post := IndexEntry{URL: "http://h/a?b=c", Method: "POST"}
	if line := string(post.AppendTo(nil)); !strings.HasPrefix(line, "h)/a?__wb_method=post&b=c ") {
		t.Error(line)
	}
}

// Interim responses and short HTTP versions, as other programs write them, do not affect indexes
// and digests.
func TestResponsesOfOtherPrograms(t *testing.T) {
	t.Parallel()
	const web = "Content-Type: application/http;msgtype=response\r\n"
	for _, head := range []string{"HTTP/2 404\r\n", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\n"} {
		file := []byte(text("1.0", "response", "http://h/a", head+"Content-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npear\r\n0\r\n\r\n", web,
			"WARC-Payload-Digest: "+sha1Of("pear")+"\r\n"))
		var got []IndexEntry
		if _, err := Index(bytes.NewReader(file), "f", func(e IndexEntry) error { got = append(got, e); return nil }); err != nil {
			t.Fatal(err)
		}
		if len(got) != 1 || got[0].Status != 404 || got[0].Mime != "text/html" {
			t.Errorf("%q: %+v", head, got)
		}
		if _, err := Verify(bytes.NewReader(file), func(p Problem) { t.Errorf("%q: %+v", head, p) }); err != nil {
			t.Error(err)
		}
	}
}
