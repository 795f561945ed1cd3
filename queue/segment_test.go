package queue

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"
)

// FuzzLine checks that the line of a result is read as it was, and is JSON.
func FuzzLine(f *testing.F) {
	for _, data := range []string{`{"a":1}`, "", "not JSON", "{\n}", `"}`, `{"result":2}`, "\xff", `{"a":"\u2028"}`, "null"} {
		f.Add(uint64(1), "0123456789abcdef", data, int64(5))
	}
	f.Add(uint64(1<<63), `a","stored":"b`, "{}", int64(-1))
	f.Fuzz(func(t *testing.T, sequence uint64, id, data string, at int64) {
		at %= int64(100 * 365 * 24 * time.Hour)
		want := Stored{Sequence: sequence, ID: strings.ToValidUTF8(id, "\ufffd"), Data: []byte(data), Time: time.Unix(0, at).UTC()}
		line := appendLine(nil, &want)
		if bytes.Count(line, []byte("\n")) != 1 || !json.Valid(line) {
			t.Fatalf("%q is not a line of JSON", line)
		}
		got, err := parseLine(line[:len(line)-1])
		if len(got.Data) == 0 && len(want.Data) == 0 {
			got.Data, want.Data = nil, nil
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q is %+v, %v, want %+v", line, got, err, want)
		}
	})
}

// FuzzForgedLine checks that a line which no program has written is an error or a result.
func FuzzForgedLine(f *testing.F) {
	f.Add([]byte(`{"sequence":1,"id":"x","stored":"2026-01-02T03:04:05Z","result":{}}`))
	f.Add([]byte(`{"sequence":-1,"id":"x","stored":"","result":}`))
	f.Add([]byte(`{"sequence":1,"id":"","stored":"","raw":"!"}`))
	f.Fuzz(func(_ *testing.T, line []byte) { parseLine(line) })
}

// one is a store with one content.
type one []byte

func (s one) Begin() (Spool, error) { return nil, errors.ErrUnsupported }

func (s one) Get(context.Context, string) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(s)), nil
}

func (s one) piece() piece {
	sum := sha256.Sum256(s)
	return piece{hex.EncodeToString(sum[:]), int64(len(s))}
}

// The contents of a segment that another program has written have their digests. What they say is not believed.
func TestForgedSegmentsAreDamaged(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no index": "text", "another version": `{"v":2,"shards":[{}]}`, "no shards": `{"v":1}`,
		"three shards": `{"v":1,"shards":[{},{},{}]}`,
	} {
		s := one(text)
		if x, err := (&segment{piece: s.piece()}).index(t.Context(), s); !errors.Is(err, errDamaged) {
			t.Errorf("%s: %+v, %v", name, x, err)
		}
	}
	if data, err := (piece{Size: maxPiece + 1}).read(t.Context(), one("text")); !errors.Is(err, errDamaged) {
		t.Errorf("a content that is too long: %q, %v", data, err)
	}
	const line = `{"sequence":1,"id":"x","stored":"2026-01-02T03:04:05Z","result":{}}` + "\n"
	for name, tt := range map[string]struct {
		text  string
		lines int
		want  bool
	}{
		"valid": {line, len(line), true}, "longer than it says": {line + line, len(line), true},
		"shorter than it says": {line, len(line) + 1, false}, "less than nothing": {line, -1, false},
		"too long": {line, maxPiece + 1, false}, "no line": {"text", 4, false},
	} {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		io.WriteString(z, tt.text)
		z.Close()
		s, n := one(b.Bytes()), 0
		err := (&block{piece: s.piece(), Lines: tt.lines}).lines(t.Context(), s, func(Stored) bool { n++; return true })
		if tt.want && (n != 1 || err != nil) || !tt.want && (n != 0 || !errors.Is(err, errDamaged)) {
			t.Errorf("a block that is %s: %d results, %v", name, n, err)
		}
	}
	s := one("text")
	if err := (&block{piece: s.piece(), Lines: 4}).lines(t.Context(), s, nil); !errors.Is(err, errDamaged) {
		t.Errorf("a block without gzip: %v", err)
	}
	for _, s := range []one{nil, one("salt"), one(strings.Repeat("\x00", 2*keySize)), one(strings.Repeat("\x00", 2*keySize+5))} {
		x := &segmentIndex{shardIndex: shardIndex{Shards: []piece{s.piece()}}}
		if blocks, err := x.find(t.Context(), s, 0); len(blocks) > 0 || len(s) >= 2*keySize && !errors.Is(err, errDamaged) {
			t.Errorf("a shard of %d bytes: %v, %v", len(s), blocks, err)
		}
	}
}

// TestShards finds each key in a segment of many shards.
func TestShards(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 4, 256} {
		for i := range n {
			low := uint64(i) * (1 << 63 / uint64(n)) * 2
			if n == 1 {
				low = 0
			}
			if got := shardOf(low, n); got != i {
				t.Errorf("the shard of %#x of %d is %d, want %d", low, n, got, i)
			}
			if got := shardOf(low+(1<<63/uint64(n))*2-1, n); got != i {
				t.Errorf("the shard of the last key of shard %d of %d is %d", i, n, got)
			}
		}
	}
}
