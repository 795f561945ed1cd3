package rsync

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestGreetings(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]struct {
		protocol int
		digests  []string
	}{
		"@RSYNCD: 27":              {27, nil},
		"@RSYNCD: 31.0":            {31, nil},
		"@RSYNCD: 31.14":           {30, nil}, // a prerelease
		"@RSYNCD: 32.0 sha512 md5": {32, []string{"sha512", "md5"}},
	} {
		if protocol, digests, err := ParseGreeting(line); protocol != want.protocol || !slices.Equal(digests, want.digests) || err != nil {
			t.Errorf("%s: %d, %q, %v", line, protocol, digests, err)
		}
	}
	for _, line := range []string{"", "@RSYNCD: ", "@RSYNCD: OK", "@RSYNCD: -1", "220 FTP", "@RSYNCD:31.0"} {
		if _, _, err := ParseGreeting(line); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %v", line, err)
		}
	}
	if got := Greeting(31, []string{"sha1", "md5"}); got != "@RSYNCD: 31.0 sha1 md5" {
		t.Error(got)
	}
	if got := Greeting(27, nil); got != "@RSYNCD: 27.0" {
		t.Error(got)
	}
}

// TestLoginResponses compares responses with those that rsync 3.5.0 sends.
func TestLoginResponses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		protocol int
		offered  []string
		want     string
	}{
		{31, []string{"md5", "sha512", "sha1"}, "sha512"}, {31, []string{"md5", "none"}, "md5"}, {27, []string{"md4"}, "md4"},
		{31, nil, "md5"}, {29, nil, "md4-seeded"}, {31, []string{"xxh3"}, ""},
	} {
		if got := LoginDigest(tt.protocol, tt.offered); got != tt.want {
			t.Errorf("%d, %q: %q, want %q", tt.protocol, tt.offered, got, tt.want)
		}
	}
	for digest, want := range map[string]string{
		"md4":        "YFfwli44GkSO1Tz0aPrxhA",
		"md4-seeded": "A5u9yPfAUmSgnxeTgRvhrA",
		"md5":        "T45UhOTWEo1IlsNF9HiQBQ",
		"sha256":     "xX3IL+5JDgbHjxHFtM/58JxF/AVqTxdzwgJAfzpZLkg",
		"sha512":     "wp8WS4pZLemLDGEWc3MQlD2iGh8NCagAPSg8C+yhOU712IxkjvivzbD5x4Yod3PXR2LlnxQz8PdvNeoVmts0ng",
		"sha1":       "i9IVmz93q0qaz8YHdgztbYh1ytQ",
	} {
		if got := LoginResponse(digest, "s3cret", "challenge"); got != want {
			t.Errorf("%s: %s, want %s", digest, got, want)
		}
	}
}

// TestValues encodes integers as rsync does, and decodes them.
func TestValues(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		v     int64
		least int // 0 for a varint
		want  string
	}{
		{0, 0, "00"}, {127, 0, "7f"}, {128, 0, "8080"}, {300, 0, "812c"}, {1 << 14, 0, "c00040"}, {math.MaxInt32, 0, "f0ffffff7f"}, {-1, 0, "f0ffffffff"},
		{0, 3, "000000"}, {12, 3, "000c00"}, {3000000, 3, "2dc0c6"}, {1 << 23, 3, "80000080"}, {1 << 40, 3, "e10000000000"},
		{math.MaxInt64, 3, "fcffffffffffffff7f"}, {1580702706, 4, "5ef29b37"}, {-1, 4, "f8ffffffffffffffff"},
	} {
		var b []byte
		if tt.least == 0 {
			b = AppendVarint(nil, 30, int32(tt.v))
		} else {
			b = AppendLong(nil, 30, tt.v, tt.least)
		}
		if got := hex.EncodeToString(b); got != tt.want {
			t.Errorf("%d, %d: %s, want %s", tt.v, tt.least, got, tt.want)
		}
		d := NewDecoder(bytes.NewReader(b), 30)
		got := int64(0)
		if tt.least == 0 {
			got = int64(d.Varint())
		} else {
			got = d.Long(tt.least)
		}
		if got != tt.v || d.Err() != nil {
			t.Errorf("%s: %d, %v; want %d", tt.want, got, d.Err(), tt.v)
		}
	}
	for _, v := range []int64{0, 7, math.MaxInt32, -1, math.MaxInt64} {
		d := NewDecoder(bytes.NewReader(AppendLong(nil, 29, v, 3)), 29)
		if got := d.Long(3); got != v || d.Err() != nil {
			t.Errorf("version 29: %d, %v; want %d", got, d.Err(), v)
		}
	}
}

func TestInvalidValues(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		data string
		read func(*Decoder)
		want error
	}{
		"varint of 6 bytes":     {"f80000000000", func(d *Decoder) { d.Varint() }, ErrMalformed},
		"long of 10 bytes":      {"fc000000000000000000", func(d *Decoder) { d.Long(4) }, ErrMalformed},
		"long of 66 bits":       {"fd0000000000000000", func(d *Decoder) { d.Long(3) }, ErrMalformed},
		"cut varint":            {"c000", func(d *Decoder) { d.Varint() }, io.ErrUnexpectedEOF},
		"nothing":               {"", func(d *Decoder) { d.Byte() }, io.ErrUnexpectedEOF},
		"negative string":       {"", func(d *Decoder) { d.Text(-1, 9) }, ErrMalformed},
		"long string":           {"", func(d *Decoder) { d.Text(10, 9) }, ErrMalformed},
		"another file":          {"0200a0", func(d *Decoder) { d.File() }, ErrMalformed},
		"a file without data":   {"010020", func(d *Decoder) { d.File() }, ErrMalformed},
		"a file with its basis": {"0100a8", func(d *Decoder) { d.File() }, ErrMalformed},
		"block sums":            {"0100a001000000" + strings.Repeat("0", 24), func(d *Decoder) { d.File() }, ErrMalformed},
	} {
		data, _ := hex.DecodeString(tt.data)
		d := NewDecoder(bytes.NewReader(data), 31)
		if tt.read(d); !errors.Is(d.Err(), tt.want) {
			t.Errorf("%s: %v, want %v", name, d.Err(), tt.want)
		}
		if d.Int() != 0 || d.Text(0, 1) != "" {
			t.Errorf("%s: values after a failure", name)
		}
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	for protocol, want := range map[int]struct{ args, file, done string }{
		27: {"610a620a0a", "00000000" + strings.Repeat("0", 32), "ffffffff"},
		29: {"610a620a0a", "0000000000a0" + strings.Repeat("0", 32), "ffffffff"},
		31: {"6100620000", "0100a0" + strings.Repeat("0", 32), "00"},
	} {
		if got := hex.EncodeToString(AppendArguments(nil, protocol, []string{"a", "b"})); got != want.args {
			t.Errorf("%d: arguments %s, want %s", protocol, got, want.args)
		}
		b := AppendFile(nil, protocol)
		if got := hex.EncodeToString(b); got != want.file {
			t.Errorf("%d: file %s, want %s", protocol, got, want.file)
		}
		if got := hex.EncodeToString(AppendDone(nil, protocol)); got != want.done {
			t.Errorf("%d: done %s, want %s", protocol, got, want.done)
		}
		d := NewDecoder(bytes.NewReader(AppendDone(b, protocol)), protocol)
		if first, second := d.File(), d.File(); !first || second || d.Err() != nil {
			t.Errorf("%d: %v, %v, %v", protocol, first, second, d.Err())
		}
	}
}

func TestFramesCarryDataAndMessages(t *testing.T) {
	t.Parallel()
	b := AppendFrame(nil, Info, []byte("hello"))
	b = AppendFrame(b, Data, []byte("ab"))
	b = AppendFrame(b, Data, nil)
	b = AppendFrame(b, Noop, nil)
	b = AppendFrame(b, ErrorXfer, []byte("no"))
	b = AppendFrame(b, Data, []byte("c"))
	var said []string
	f := &Frames{Source: bytes.NewReader(b), Message: func(tag Tag, p []byte) error {
		said = append(said, tag.String()+" "+string(p))
		return nil
	}}
	if got, err := io.ReadAll(f); string(got) != "abc" || err != nil || !slices.Equal(said, []string{"MSG_INFO hello", "MSG_ERROR_XFER no"}) {
		t.Errorf("%q, %v, %q", got, err, said)
	}
	for name, tt := range map[string]struct {
		data []byte
		want error
	}{
		"cut head":          {b[:2], io.ErrUnexpectedEOF},
		"cut message":       {b[:7], io.ErrUnexpectedEOF},
		"cut data":          {AppendFrame(nil, Data, []byte("ab"))[:5], io.ErrUnexpectedEOF},
		"unknown":           {AppendFrame(nil, 77, nil), ErrMalformed},
		"a line":            {[]byte("@ERROR: x\n"), ErrMalformed},
		"long message":      {AppendFrame(nil, Info, make([]byte, maxMessage+1)), ErrMalformed},
		"too many messages": {bytes.Repeat(AppendFrame(nil, Noop, nil), maxMessages+1), ErrMalformed},
	} {
		f := &Frames{Source: bytes.NewReader(tt.data), Message: func(Tag, []byte) error { return nil }}
		if _, err := io.ReadAll(f); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
}

// items are those of TestLists.
var items = []Item{
	{Name: ".", Size: 4096, ModTime: time.Unix(1580702706, 789e6), Mode: TypeDir | 0o755},
	{Name: "a.txt", Size: 12, ModTime: time.Unix(1580702706, 0), Mode: TypeFile | 0o640},
	{Name: "link", Size: 5, ModTime: time.Unix(1, 0), Mode: TypeLink | 0o777, Target: "a.txt"},
	{Name: strings.Repeat("x", 300), Size: 1 << 40, ModTime: time.Unix(math.MaxInt32, 0), Mode: TypeFile},
}

func TestLists(t *testing.T) {
	t.Parallel()
	for protocol := MinProtocol; protocol <= MaxProtocol; protocol++ {
		for _, errorBits := range []int32{0, ErrorGeneral} {
			var b []byte
			for _, i := range items {
				b = AppendItem(b, protocol, i)
			}
			b = AppendListEnd(b, protocol, errorBits)
			got, list, err := readList(b, protocol)
			want := slices.Clone(items)
			if protocol < 31 {
				want[0].ModTime = want[0].ModTime.Truncate(time.Second)
			}
			if err != nil || !reflect.DeepEqual(got, want) || list.Errors != errorBits {
				t.Errorf("%d: %+v, %v, errors %d", protocol, got, err, list.Errors)
			}
		}
	}
}

func readList(b []byte, protocol int) (all []Item, l *List, err error) {
	l = NewList(NewDecoder(bytes.NewReader(b), protocol), true)
	for {
		i, ok, err := l.Next()
		if err != nil || !ok {
			return all, l, err
		}
		all = append(all, i)
	}
}

// TestItemsReferToTheOneBefore reads items that share the beginning of the name, the time and the mode.
func TestItemsReferToTheOneBefore(t *testing.T) {
	t.Parallel()
	b, _ := hex.DecodeString("19" + "03" + hex.EncodeToString([]byte("abc")) + "000c00" + "5ef29b37" + "a4810000" + // abc
		"ba" + "02" + "01" + hex.EncodeToString([]byte("d")) + "000d00" + // abd: the same name, time and mode
		"00")
	got, _, err := readList(b, 31)
	at := time.Unix(1580702706, 0)
	if want := []Item{{"abc", 12, at, 0o100644, ""}, {"abd", 13, at, 0o100644, ""}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestInvalidLists(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{
		"hard link":             "1c0201",
		"name of nothing":       "380501" + "61",
		"negative size":         "18" + "0161" + "f8ffffffffffffffff",
		"name of 4 GiB":         "58" + "f0ffffffff",
		"name of 4096 bytes":    "58" + "9000",
		"many nanoseconds":      "1c20" + "0161" + "000000" + "00000000" + "f0ffffff7f",
		"target of 4096 bytes":  "18" + "0161" + "000000" + "00000000" + "ffa10000" + "9000",
		"an error with an item": "1d10",
		"error of 6 bytes":      "0410" + "ff",
	} {
		b, _ := hex.DecodeString(data)
		if _, _, err := readList(append(b, make([]byte, 64)...), 31); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	for mode, want := range map[uint32]fs.FileMode{
		TypeFile | 0o644: 0o644, TypeDir | 0o1777: fs.ModeDir | fs.ModeSticky | 0o777, TypeLink | 0o777: fs.ModeSymlink | 0o777,
		TypeFile | 0o6755: fs.ModeSetuid | fs.ModeSetgid | 0o755, TypeFIFO: fs.ModeNamedPipe, TypeSocket: fs.ModeSocket,
		TypeBlock: fs.ModeDevice, TypeChar: fs.ModeDevice | fs.ModeCharDevice, 0: fs.ModeIrregular,
	} {
		if got := (Item{Mode: mode}).FileMode(); got != want {
			t.Errorf("%o: %v, want %v", mode, got, want)
		}
	}
}

// TestSums compares checksums with those of openssl.
func TestSums(t *testing.T) {
	t.Parallel()
	for protocol, want := range map[int]string{31: "900150983cd24fb0d6963f7d28e17f72", 29: "0bb1c58265e1bea9e9c4fe9e15f761ed"} {
		h := NewSum(protocol, 7)
		h.Write([]byte("abc"))
		if got := hex.EncodeToString(h.Sum(nil)); got != want {
			t.Errorf("%d: %s, want %s", protocol, got, want)
		}
	}
}

func FuzzGreeting(f *testing.F) {
	for _, seed := range []string{"@RSYNCD: 31.0 sha512 md5", "@RSYNCD: 27", "@RSYNCD: 30.9", "@RSYNCD: "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if protocol, digests, err := ParseGreeting(line); err == nil && (protocol < -1 || slices.Contains(digests, "")) {
			t.Errorf("%d, %q", protocol, digests)
		}
	})
}

func FuzzFrames(f *testing.F) {
	f.Add(AppendFrame(AppendFrame(AppendFrame(nil, Data, []byte("ab")), Error, []byte("x")), Data, []byte("c")))
	f.Add([]byte("@ERROR: no\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		messages := 0
		r := &Frames{Source: bytes.NewReader(b), Message: func(_ Tag, p []byte) error {
			messages += len(p)
			return nil
		}}
		data, err := io.ReadAll(r)
		if len(data)+messages > len(b) || err != nil && !errors.Is(err, ErrMalformed) && err != io.ErrUnexpectedEOF {
			t.Errorf("%d bytes and %d of messages from %d, %v", len(data), messages, len(b), err)
		}
	})
}

func FuzzList(f *testing.F) {
	for _, protocol := range []int{27, 29, 30, 31} {
		b := AppendItem(AppendItem(nil, protocol, items[0]), protocol, items[2])
		f.Add(AppendListEnd(b, protocol, ErrorGeneral), protocol)
	}
	f.Fuzz(func(t *testing.T, b []byte, protocol int) {
		all, _, err := readList(b, MinProtocol+(protocol&0xff)%(MaxProtocol-MinProtocol+1))
		for _, i := range all {
			if i.Size < 0 || len(i.Name) >= MaxPath || len(i.Target) >= MaxPath {
				t.Errorf("%+v", i)
			}
		}
		if err != nil && !errors.Is(err, ErrMalformed) && err != io.ErrUnexpectedEOF {
			t.Error(err)
		}
	})
}
