package download_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
)

// mirrors is a driver for servers that have the same file. The first word of the host name selects
// the server's behavior.
type mirrors struct {
	content   []byte
	mu        sync.Mutex
	exchanges map[string]int
	running   map[string]int
	most      int // maximum number of concurrent exchanges with one server
}

func (m *mirrors) Open(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
	host := req.URL.Host()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.exchanges[host]++
	m.running[host]++
	m.most = max(m.most, m.running[host])
	content := m.content
	switch kind, _, _ := strings.Cut(host, "-"); kind {
	case "gone":
		m.running[host]--
		return nil, &fetch.Error{Code: fetch.ErrNotFound}
	case "short":
		content = content[:len(content)-1]
	case "cut":
		content = content[:len(content)/2]
	}
	forged := int64(len(content) / 3)
	meta := fetch.Meta{Size: int64(len(content))}
	if strings.HasPrefix(host, "cut") {
		meta.Size = -1
	}
	if !req.Range.IsZero() && !strings.HasPrefix(host, "whole") && req.Range.Offset+req.Range.Length <= int64(len(content)) {
		meta.Range = fetch.Range{Offset: req.Range.Offset, Length: req.Range.Length}
		content = content[req.Range.Offset:][:req.Range.Length]
		meta.Size = req.Range.Length
		forged -= req.Range.Offset
	}
	if strings.HasPrefix(host, "liar") && forged >= 0 && forged < int64(len(content)) {
		content = bytes.Clone(content)
		content[forged] ^= 1
	}
	return &fetch.Response{Meta: meta, URL: req.URL, Body: &mirrored{bytes.NewReader(content), m, host}}, nil
}

type mirrored struct {
	io.Reader
	m    *mirrors
	host string
}

func (b *mirrored) Close() error {
	b.m.mu.Lock()
	defer b.m.mu.Unlock()
	b.m.running[b.host]--
	return nil
}

func (m *mirrors) downloader(t *testing.T, dir string) *download.Downloader {
	c := fetch.New(nil, func(_ fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "x-mirror", Ops: []fetch.Op{fetch.OpGet}, Ranges: true, Driver: m})
	})
	t.Cleanup(func() { c.Close() })
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	d := &download.Downloader{Client: c, Root: root}
	t.Cleanup(func() { d.Flush(); root.Close() })
	return d
}

func described(content []byte, piece int64, hosts ...string) *download.Manifest {
	f := &download.Manifest{Name: "d/file", Size: int64(len(content)), Checksum: fmt.Sprintf("sha256:%x", sha256.Sum256(content))}
	for _, h := range hosts {
		f.URLs = append(f.URLs, uri.MustParse("x-mirror://"+h+"/file"))
	}
	if piece > 0 {
		f.Pieces = &download.Pieces{Length: piece, New: sha256.New}
		for p := range slices.Chunk(content, int(piece)) {
			sum := sha256.Sum256(p)
			f.Pieces.Sums = append(f.Pieces.Sums, sum[:])
		}
	}
	return f
}

func TestSources(t *testing.T) {
	t.Parallel()
	content := pattern(9<<20+5, 3)
	tests := []struct {
		name    string
		piece   int64
		hosts   []string
		dropped []string // sources that must be dropped; others may be
		err     fetch.Code
	}{
		{name: "all are good", piece: 1 << 20, hosts: []string{"good-1", "good-2", "good-3"}},
		{name: "more than are asked at once", piece: 100_000, hosts: []string{"good-1", "good-2", "good-3", "good-4", "good-5"}},
		{name: "a piece of all", piece: 64 << 20, hosts: []string{"liar", "good"}},
		{name: "one lies", piece: 1 << 20, hosts: []string{"liar", "good"}},
		{name: "one has lost it", piece: 1 << 20, hosts: []string{"gone", "good"}},
		{name: "one is of another size", piece: 10 << 20, hosts: []string{"short"}, dropped: []string{"short"}, err: fetch.ErrChecksum},
		{name: "one knows no ranges", piece: 1 << 20, hosts: []string{"whole"}},
		{name: "all fail", piece: 1 << 20, hosts: []string{"gone-1", "gone-2"}, dropped: []string{"gone-1", "gone-2"}, err: fetch.ErrNotFound},
		{name: "all lie", piece: 1 << 20, hosts: []string{"liar-1", "liar-2"}, dropped: []string{"liar-1", "liar-2"}, err: fetch.ErrChecksum},
		{name: "no pieces", hosts: []string{"gone", "liar", "short", "good"}, dropped: []string{"gone", "liar", "short"}},
		{name: "no pieces, and all lie", hosts: []string{"liar-1", "liar-2"}, dropped: []string{"liar-1"}, err: fetch.ErrChecksum},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			m := &mirrors{content: content, exchanges: map[string]int{}, running: map[string]int{}}
			var dropped []string
			opts := &download.Options{Dropped: func(u uri.URI, _ error) { dropped = append(dropped, u.Host()) }}
			opts.Retry.Tries = 1
			res, err := m.downloader(t, dir).DoSources(t.Context(), described(content, tt.piece, tt.hosts...), "", opts)
			if fetch.CodeOf(err) != tt.err {
				t.Fatalf("%v, want %q", err, tt.err)
			}
			slices.Sort(dropped)
			for _, host := range tt.dropped {
				if !slices.Contains(dropped, host) {
					t.Errorf("dropped %q, want %q", dropped, tt.dropped)
				}
			}
			for _, host := range dropped {
				if strings.HasPrefix(host, "good") || strings.HasPrefix(host, "whole") {
					t.Errorf("%s was dropped", host)
				}
			}
			if m.most > 1 {
				t.Errorf("%d requests at once to one source", m.most)
			}
			got, readErr := os.ReadFile(filepath.Join(dir, "d", "file"))
			if tt.err != "" {
				if !errors.Is(readErr, os.ErrNotExist) {
					t.Errorf("there is a file: %v", readErr)
				}
				return
			}
			if !bytes.Equal(got, content) || res.Name != "d/file" || res.Size != int64(len(content)) {
				t.Errorf("%d bytes, %+v", len(got), res)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "d", "*.part*")); left != nil {
				t.Errorf("left: %q", left)
			}
		})
	}
}

func TestSourcesKeepGoodPieces(t *testing.T) {
	t.Parallel()
	content := pattern(8<<20, 4)
	dir := t.TempDir()
	m := &mirrors{content: content, exchanges: map[string]int{}, running: map[string]int{}}
	d := m.downloader(t, dir)
	opts := &download.Options{}
	opts.Exists, opts.Retry.Tries = download.Resume, 1
	if _, err := d.DoSources(t.Context(), described(content, 1<<20, "cut"), "f", opts); fetch.CodeOf(err) != fetch.ErrTruncated {
		t.Fatalf("half a file: %v", err)
	}
	part := filepath.Join(dir, "f.part")
	kept, err := os.ReadFile(part)
	if err != nil {
		t.Fatal(err)
	}
	kept[1<<20] ^= 1 // in the second piece
	if err := os.WriteFile(part, kept, 0o600); err != nil {
		t.Fatal(err)
	}
	res, err := d.DoSources(t.Context(), described(content, 1<<20, "good"), "f", opts)
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(len(content) - len(kept) + 1<<20); res.Written != want {
		t.Errorf("%d bytes came, want %d", res.Written, want)
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "f")); !bytes.Equal(got, content) {
		t.Error("it is another file")
	}
	asked := m.exchanges["good"]
	res, err = d.DoSources(t.Context(), described(content, 1<<20, "good"), "f", opts)
	if err != nil || res.Outcome != download.Unchanged || m.exchanges["good"] != asked {
		t.Errorf("again: %+v, %v, %d requests", res, err, m.exchanges["good"]-asked)
	}
}
