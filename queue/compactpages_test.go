package queue_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/queuetest"
)

func (e steppedEngine) PageValues(ctx context.Context) iter.Seq2[queue.Stored, error] {
	return func(yield func(queue.Stored, error) bool) {
		if err := e.do(func() error { return nil }); err != nil {
			yield(queue.Stored{}, err)
			return
		}
		e.Admin.PageValues(ctx)(yield)
	}
}

func (e steppedEngine) RemovePages(ctx context.Context, last uint64) error {
	return e.do(func() error { return e.Admin.RemovePages(ctx, last) })
}

// A movingPages value is a crawl whose pages a compaction moves to a store.
type movingPages struct {
	engine queue.Admin
	store  memory
	reader *queue.Results
	move   queue.Compaction
	depths []int             // of the pages
	others map[string]string // values that remain in the engine
}

func pageName(i int) string { return fmt.Sprintf("%02x%030x", i*37%256, i) }

// newMovingPages returns a crawl with n pages that are a day old.
func newMovingPages(t *testing.T, n int) *movingPages {
	t.Helper()
	m := &movingPages{engine: queuetest.NewModel(queuetest.Options{}).Connect("c"), store: memory{},
		move:   queue.Compaction{Age: 3 * time.Hour, Least: 4, Settle: movedSettle},
		others: map[string]string{"crawl": "{}", "spent/pages": "50", "page/00": `{"d":1}`, "page/" + pageName(1000): `{"d":1,"v":["http://a/"]}`}}
	m.reader = &queue.Results{Engine: m.engine, Store: func(context.Context) (queue.Store, error) { return m.store, nil }}
	for key, value := range m.others {
		if err := m.engine.Pages().Put(t.Context(), key, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		m.depths = append(m.depths, 0)
		m.set(t, i, i%5)
	}
	time.Sleep(24 * time.Hour)
	return m
}

// set sets the depth of a page.
func (m *movingPages) set(t *testing.T, i, depth int) {
	t.Helper()
	m.depths[i] = depth
	err := m.engine.Pages().Put(t.Context(), "page/"+pageName(i), fmt.Appendf(nil, `{"d":%d,"x":%d}`, depth, depth+1))
	if err != nil {
		t.Fatal(err)
	}
}

func (m *movingPages) run(t *testing.T) *queue.Compacted {
	t.Helper()
	done, err := m.move.Run(t.Context(), m.engine, m.store)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// check checks that a worker which has just started knows each page and its depth, and no other page.
func (m *movingPages) check(t *testing.T, when string) {
	t.Helper()
	find := queue.FindPage(m.reader)
	for i, want := range m.depths {
		if depth, known, err := find(t.Context(), pageName(i)); depth != want || !known || err != nil {
			t.Fatalf("%s, page %d has depth %d (%v), %v, want %d", when, i, depth, known, err, want)
		}
	}
	if _, known, err := find(t.Context(), pageName(999)); known || err != nil {
		t.Fatalf("%s, a new page is known (%v), %v", when, known, err)
	}
	for key, want := range m.others {
		if value, _, err := m.engine.Pages().Get(t.Context(), key); string(value) != want || err != nil {
			t.Fatalf("%s, %s is %q, %v, want %q", when, key, value, err, want)
		}
	}
}

// inEngine returns the number of pages that the engine has.
func (m *movingPages) inEngine(t *testing.T) (n int) {
	t.Helper()
	for v, err := range m.engine.PageValues(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if _, other := m.others[v.ID]; !other && strings.HasPrefix(v.ID, "page/") {
			n++
		}
	}
	return n
}

// A compaction fails at each of its steps in turn, before or after the step is performed. Each page is known
// with its latest depth, and the next compaction moves all but the last.
func TestNoPageIsForgottenIfACompactionFails(t *testing.T) {
	t.Parallel()
	for _, most := range []int{0, 10} {
		t.Run(fmt.Sprint("at most ", most), func(t *testing.T) { testFailingCompactions(t, most) })
	}
}

func testFailingCompactions(t *testing.T, most int) {
	t.Parallel()
	for fail, last := 1, false; !last; fail++ {
		synctest.Test(t, func(t *testing.T) {
			m := newMovingPages(t, 30)
			queue.LimitPages(&m.move, most)
			m.run(t)
			m.set(t, 5, 0) // in the set with another depth
			m.set(t, 29, 1)
			m.depths = append(m.depths, 0, 0, 0)
			for i := range 3 {
				m.set(t, 30+i, i)
			}
			time.Sleep(24 * time.Hour)
			s := &steps{fail: fail}
			_, err := m.move.Run(t.Context(), steppedEngine{m.engine, s}, steppedStore{m.store, s})
			if last = err == nil; !last && !errors.Is(err, errStep) {
				t.Fatal(err)
			}
			m.check(t, fmt.Sprint("after fault ", fail))
			m.run(t)
			m.check(t, fmt.Sprint("after fault ", fail, " and another compaction"))
			if n := m.inEngine(t); n != 1 {
				t.Errorf("after fault %d and another compaction, the engine has %d pages", fail, n)
			}
			if last && fail < 30 {
				t.Errorf("a compaction has only %d steps", fail/2)
			}
		})
	}
}

// A compaction removes no more pages at once than it may move, so that its memory is bounded.
func TestPagesAreMovedInParts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMovingPages(t, 30)
		queue.LimitPages(&m.move, 10)
		removals := &countedRemovals{Admin: m.engine}
		done, err := m.move.Run(t.Context(), removals, m.store)
		if err != nil || done.Pages != 29 || done.PagesRemoved != 29 || removals.n != 3 {
			t.Errorf("%+v, %v, and %d removals, want 29 pages in 3", done, err, removals.n)
		}
		m.check(t, "after the compaction")
	})
}

type countedRemovals struct {
	queue.Admin
	n int
}

func (e *countedRemovals) RemovePages(ctx context.Context, last uint64) error {
	e.n++
	return e.Admin.RemovePages(ctx, last)
}

// A mark that changes after it was copied stays in the engine.
func TestPagesThatChangeMeanwhileAreNotRemoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMovingPages(t, 20)
		m.move.Listed = func(done *queue.Compacted) {
			if n := m.inEngine(t); n != 20 || done.Pages != 19 {
				t.Errorf("%d pages in the engine, %+v", n, done)
			}
			m.check(t, "while pages are in both")
			m.set(t, 3, 0)
			m.others["spent/pages"] = "70"
			if err := m.engine.Pages().Put(t.Context(), "spent/pages", []byte("70")); err != nil {
				t.Fatal(err)
			}
		}
		if done := m.run(t); done.PagesRemoved != 18 || m.inEngine(t) != 2 {
			t.Errorf("%+v, and %d pages remain", done, m.inEngine(t))
		}
		m.check(t, "after the compaction")
	})
}

// A worker uses the list that it has read for two seconds. The pages that are removed meanwhile are in it.
func TestWorkersWithAnOlderListKnowAllPages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMovingPages(t, 20)
		m.move.Settle = 0
		find := queue.FindPage(m.reader)
		end := time.Now().Add(10 * time.Second)
		go m.move.Run(t.Context(), m.engine, m.store)
		for time.Now().Before(end) {
			for i, want := range m.depths {
				if depth, known, err := find(t.Context(), pageName(i)); depth != want || !known || err != nil {
					t.Fatalf("page %d has depth %d (%v), %v, want %d", i, depth, known, err, want)
				}
			}
			time.Sleep(100 * time.Millisecond)
		}
		if n := m.inEngine(t); n != 1 {
			t.Errorf("%d pages remain", n)
		}
	})
}

// If a content is damaged, the pages with results are known by these, and the next compaction stores them again.
// A content that is missing may be in another store.
func TestPagesAreKnownByTheirResultsIfTheSetIsDamaged(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(m memory, sum string){
		"missing": func(m memory, sum string) { delete(m, sum) },
		"altered": func(m memory, sum string) { m[sum][len(m[sum])-1] ^= 1 },
		"short":   func(m memory, sum string) { m[sum] = m[sum][:len(m[sum])-1] },
	} {
		t.Run(name, func(t *testing.T) {
			for content := range 2 {
				synctest.Test(t, func(t *testing.T) {
					m := newMovingPages(t, 20)
					m.run(t)
					for i := range m.depths {
						if i != 19 { // the last one is in the engine
							m.depths[i] = 0
						}
						if err := m.engine.PutResult(t.Context(), pageName(i), []byte("{}")); err != nil {
							t.Fatal(err)
						}
					}
					var sums []string
					if err := m.reader.EachContent(t.Context(), func(sum string) { sums = append(sums, sum) }); err != nil || len(sums) != 2 {
						t.Fatal(sums, err)
					}
					damage(m.store, sums[content])
					if _, _, err := queue.FindPage(m.reader)(t.Context(), pageName(1)); name == "missing" && fetch.CodeOf(err) != fetch.ErrFile {
						t.Errorf("with a missing content, a page is found with %v, want class %s", err, fetch.ErrFile)
					}
					if name != "missing" {
						m.check(t, "with a damaged content")
					}
					m.depths = append(m.depths, 0, 0, 0, 0, 0)
					for i := range 5 {
						m.set(t, 20+i, i)
					}
					time.Sleep(24 * time.Hour)
					m.move.Least = 3
					m.run(t)
					m.check(t, "after another compaction")
				})
			}
		})
	}
}

// A compaction with another store changes nothing that the first one has.
func TestPagesStayInTheirStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMovingPages(t, 20)
		for i := range m.depths {
			if err := m.engine.PutResult(t.Context(), pageName(i), []byte("{}")); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(24 * time.Hour)
		m.run(t)
		m.depths = append(m.depths, 0, 0, 0, 0, 0)
		for i := range 5 {
			m.set(t, 20+i, i)
		}
		time.Sleep(24 * time.Hour)
		if done, err := m.move.Run(t.Context(), m.engine, memory{}); fetch.CodeOf(err) != fetch.ErrFile || done.PagesRemoved > 0 {
			t.Errorf("with another store: %+v, %v, want class %s", done, err, fetch.ErrFile)
		}
		m.check(t, "after a compaction with another store")
	})
}

// A crawl without moved pages needs no store.
func TestPagesNeedTheStoreOnlyIfTheyWereMoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMovingPages(t, 20)
		r := &queue.Results{Engine: m.engine}
		if _, known, err := queue.FindPage(r)(t.Context(), pageName(999)); known || err != nil {
			t.Errorf("%v, %v", known, err)
		}
		m.run(t)
		if _, _, err := queue.FindPage(r)(t.Context(), pageName(3)); fetch.CodeOf(err) != fetch.ErrRequest {
			t.Errorf("%v, want class %s", err, fetch.ErrRequest)
		}
	})
}
