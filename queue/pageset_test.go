package queue

import (
	"encoding/hex"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/urlget/urlget/fetch/uri"
)

func directory(t *testing.T) Store {
	t.Helper()
	d, err := OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// A merged set has the latest entry of each page, in order, whatever the number of its shards.
func TestMergeKeepsTheLatestEntryOfEachPage(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	want := map[string]entry{}
	ids := func(n int) (list []entry) {
		seen := map[string]bool{}
		for range n {
			var id [16]byte
			id[0], id[1], id[11] = byte(random.UintN(256)), byte(random.UintN(4)), byte(random.UintN(8))
			e, ok := entryOf(hex.EncodeToString(id[:]), mark{Depth: random.IntN(9), Followed: random.IntN(9)})
			if !ok {
				t.Fatalf("no entry of %x", id)
			}
			if key := string(e[:entryID]); !seen[key] {
				seen[key] = true
				list = append(list, e)
			}
		}
		slices.SortFunc(list, compareEntries)
		return list
	}
	store := directory(t)
	var s *pageSet
	for round, n := range []int{3, 0, 9000, 500, 8000} {
		added := ids(n)
		for _, e := range added {
			want[string(e[:entryID])] = e
		}
		var err error
		if s, err = s.merge(t.Context(), store, added); err != nil {
			t.Fatal(err)
		}
		var got []entry
		for e, err := range s.all(t.Context(), store) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
		}
		all := slices.SortedFunc(maps.Values(want), compareEntries)
		if !slices.Equal(got, all) || s.Pages != uint64(len(all)) {
			t.Fatalf("after round %d the set has %d entries and says %d, want %d", round, len(got), s.Pages, len(all))
		}
		if err := s.verify(t.Context(), store, added); err != nil {
			t.Error(err)
		}
		if err := s.verify(t.Context(), store, []entry{{0: 7, 8: 9}}); !errors.Is(err, errDamaged) {
			t.Errorf("a set without an entry is verified: %v", err)
		}
	}
	x, err := s.index(t.Context(), store)
	if err != nil || len(x.Shards) < 2 {
		t.Errorf("the set has %d shards, %v", len(x.Shards), err)
	}
}

// What a set cannot hold stays in the engine.
func TestEntryHasAllOfTheMark(t *testing.T) {
	const id = "00112233445566778899aabbccddeeff"
	via := []uri.URI{uri.MustParse("http://a/")}
	for _, m := range []mark{{}, {Depth: 7}, {Depth: 7, Followed: 8}, {Depth: 2, Followed: 8}, {Depth: maxDepth, Followed: maxDepth + 1},
		{Depth: 1, Followed: 2, Via: via}} {
		e, ok := entryOf(id, m)
		if got := e.mark(); !ok || got.Depth != m.Depth || got.Followed != m.Followed {
			t.Errorf("the entry of %+v has %+v (%v)", m, got, ok)
		}
	}
	for id, m := range map[string]mark{id: {Via: via}, id + "0": {}, "": {}, "0011": {}, id + "00": {Depth: maxDepth + 1}} {
		if _, ok := entryOf(id, m); ok {
			t.Errorf("%q with %+v has an entry", id, m)
		}
	}
}

func FuzzPageSet(f *testing.F) {
	f.Add([]byte(`{"v":1,"shards":[{"sha256":"0","size":16}]}`), []byte("0123456789abcdef0123456789abcdef"))
	f.Fuzz(func(t *testing.T, index, shard []byte) {
		store := directory(t)
		p, err := put(t.Context(), store, index)
		if err != nil {
			t.Fatal(err)
		}
		s := pageSet{piece: p}
		for _, err := range s.all(t.Context(), store) {
			if err != nil && !errors.Is(err, errDamaged) {
				t.Error(err)
			}
		}
		if p, err = put(t.Context(), store, shard); err != nil {
			t.Fatal(err)
		}
		if list, err := readShard(t.Context(), store, p); err == nil && (len(list)+1)*len(entry{}) != len(shard) {
			t.Errorf("%d bytes have %d entries", len(shard), len(list))
		}
	})
}
