package queuetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/urlget/urlget/queue"
)

// An aged engine has results and pages that are older than they are.
type aged struct {
	queue.Admin
	by time.Duration
}

// Age returns an engine whose results and pages are older by a duration, so that they may be moved to the
// store.
func Age(e queue.Admin, by time.Duration) queue.Admin { return aged{e, by} }

func (e aged) Results(ctx context.Context, after uint64, follow bool) iter.Seq2[queue.Stored, error] {
	return e.age(e.Admin.Results(ctx, after, follow))
}

func (e aged) PageValues(ctx context.Context) iter.Seq2[queue.Stored, error] {
	return e.age(e.Admin.PageValues(ctx))
}

func (e aged) age(list iter.Seq2[queue.Stored, error]) iter.Seq2[queue.Stored, error] {
	return func(yield func(queue.Stored, error) bool) {
		for m, err := range list {
			m.Time = m.Time.Add(-e.by)
			if !yield(m, err) {
				return
			}
		}
	}
}

// RunCompaction tests that results which are moved to a store are read as before. The engine and the store are
// empty.
func RunCompaction(t *testing.T, e queue.Admin, s queue.Store) {
	ctx := t.Context()
	const n = 50
	for i := range n {
		data := fmt.Appendf(nil, `{"url":"http://h/%d","name":"a \" b"}`, i)
		if i%7 == 0 {
			data = fmt.Appendf(nil, "not JSON\n%d\xff", i)
		}
		check(t, e.PutResult(ctx, fmt.Sprintf("%032x", i), data))
	}
	old := Age(e, 3*queue.MinAge)
	r := &queue.Results{Engine: old, Store: func(context.Context) (queue.Store, error) { return s, nil }}
	all := Collect(t, r.All(ctx, 0, false))
	move := queue.Compaction{Age: queue.MinAge, Least: 9, Most: 20}
	dry := move
	dry.DryRun = true
	if done, err := dry.Run(ctx, old, nil); err != nil || done.Results != n-1 || done.Segments != 3 {
		t.Errorf("a dry run returns %+v, %v", done, err)
	}
	for i, want := range []queue.Compacted{{Results: 49, Segments: 3, Removed: 49}, {}} {
		done, err := move.Run(ctx, old, s)
		check(t, err)
		done.Bytes = 0
		if *done != want {
			t.Errorf("call %d returns %+v, want %+v", i, *done, want)
		}
	}
	if status, err := e.Status(ctx); err != nil || status.Results != n {
		t.Errorf("%+v, %v, want %d results", status, err, n)
	}
	left := 0
	for _, err := range e.Results(ctx, 0, false) {
		check(t, err)
		left++
	}
	if left != 1 {
		t.Errorf("the engine has %d results, want one", left)
	}
	for after := range all {
		var number uint64
		if after > 0 {
			number = all[after-1].Sequence
		}
		same(t, Collect(t, r.All(ctx, number, false)), all[after:])
	}
	for _, m := range all {
		data, err := r.Get(ctx, m.ID, m.Time)
		if string(data) != string(m.Data) || err != nil {
			t.Errorf("the result of %s is %q, %v, want %q", m.ID, data, err, m.Data)
		}
		newer := m.Time.Add(2 * time.Hour)
		if data, err := r.Get(ctx, m.ID, newer); m.Sequence != all[n-1].Sequence && !errors.Is(err, queue.ErrNotFound) {
			t.Errorf("a result of %s since %v: %q, %v", m.ID, newer, data, err)
		}
	}
	if data, err := r.Get(ctx, "another", time.Time{}); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("the result of an unknown ID is %q, %v", data, err)
	}
}

// Collect returns all results.
func Collect(t *testing.T, results iter.Seq2[queue.Stored, error]) (all []queue.Stored) {
	t.Helper()
	for m, err := range results {
		check(t, err)
		m.Time = m.Time.UTC().Round(0)
		all = append(all, m)
	}
	return all
}

func same(t *testing.T, got, want []queue.Stored) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d results, want %d", len(got), len(want))
	}
	for i := range got {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("result %d is %+v, want %+v", i, got[i], want[i])
		}
	}
}

func compaction(t *testing.T, connect func() queue.Admin) {
	s, err := queue.OpenDir(t.TempDir())
	check(t, err)
	defer s.Close()
	RunCompaction(t, connect(), s)
}

// segments checks the list of segments and the removal of old results.
func segments(t *testing.T, connect func() queue.Admin) {
	ctx := t.Context()
	a, b := connect(), connect()
	list, first, err := a.Segments(ctx)
	if len(list) > 0 || first != 0 || err != nil {
		t.Errorf("a new queue has the list %q, %d, %v", list, first, err)
	}
	const one, two = `{"v":1}`, `{"v":1,"segments":[]}`
	first, err = a.SetSegments(ctx, []byte(one), first)
	check(t, err)
	if _, err := b.SetSegments(ctx, []byte(two), 0); !errors.Is(err, queue.ErrConflict) {
		t.Errorf("a second new list: %v", err)
	}
	if list, revision, err := b.Segments(ctx); string(list) != one || revision != first || err != nil {
		t.Errorf("the list is %q, %d, %v, want revision %d", list, revision, err, first)
	}
	second, err := b.SetSegments(ctx, []byte(two), first)
	check(t, err)
	if _, err := a.SetSegments(ctx, []byte(one), first); !errors.Is(err, queue.ErrConflict) {
		t.Errorf("a list of an old revision: %v", err)
	}
	if list, revision, err := a.Segments(ctx); string(list) != two || revision != second || err != nil {
		t.Errorf("the list is %q, %d, %v, want revision %d", list, revision, err, second)
	}
	begin := time.Now()
	for i := range 5 {
		check(t, a.PutResult(ctx, fmt.Sprint(i), []byte("{}")))
	}
	all := Collect(t, b.Results(ctx, 0, false))
	for _, m := range all {
		if d := m.Time.Sub(begin); d < -time.Minute || d > time.Since(begin)+time.Minute {
			t.Errorf("a result was stored at %v, want about %v", m.Time, begin)
		}
	}
	check(t, a.RemoveResults(ctx, all[2].Sequence))
	check(t, a.RemoveResults(ctx, all[0].Sequence))
	same(t, Collect(t, b.Results(ctx, 0, false)), all[3:])
	check(t, a.PutResult(ctx, "5", []byte("{}")))
	if got := Collect(t, b.Results(ctx, 0, false)); len(got) != 3 || got[2].Sequence <= all[4].Sequence {
		t.Errorf("after a removal, the results are %+v", got)
	}
}

// pageValues checks the list of the values of a crawl, which has one, and the removal of old ones.
func pageValues(t *testing.T, a, b queue.Admin) {
	ctx := t.Context()
	begin := time.Now()
	for _, key := range []string{"page/2", "spent/a.b", "page/3", "page/1f"} { // page/1f is the first one before
		check(t, a.Pages().Put(ctx, key, []byte(key)))
	}
	var all []queue.Stored
	for v, err := range b.PageValues(ctx) {
		check(t, err)
		if d := v.Time.Sub(begin); d < -time.Minute || d > time.Since(begin)+time.Minute {
			t.Errorf("a value was stored at %v, want about %v", v.Time, begin)
		}
		all = append(all, v)
	}
	var keys []string
	for i, v := range all {
		keys = append(keys, v.ID)
		if string(v.Data) != v.ID || i > 0 && v.Sequence <= all[i-1].Sequence {
			t.Errorf("a value is %+v", v)
		}
	}
	if want := []string{"page/2", "spent/a.b", "page/3", "page/1f"}; !slices.Equal(keys, want) {
		t.Fatalf("the values are %q, want %q", keys, want)
	}
	_, err := b.Pages().Update(ctx, "spent/a.b", []byte("new"), all[1].Sequence) // the sequence number is the revision
	check(t, err)
	check(t, a.RemovePages(ctx, all[2].Sequence))
	keys = nil
	for v, err := range b.PageValues(ctx) {
		check(t, err)
		keys = append(keys, v.ID)
	}
	if want := []string{"page/1f", "spent/a.b"}; !slices.Equal(keys, want) {
		t.Errorf("after a removal, the values are %q, want %q", keys, want)
	}
	if _, _, err := a.Pages().Get(ctx, "page/2"); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("a removed value: %v", err)
	}
}
