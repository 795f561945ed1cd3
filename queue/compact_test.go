package queue_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/internal/artefact"
	"github.com/urlget/urlget/queue/queuetest"
)

var errStep = errors.New("a step failed")

// steps fails one step of a program, before or after it is performed.
type steps struct{ done, fail int }

// do performs a step. Step n fails before it if fail is 2n+1, and after it if fail is 2n+2.
func (s *steps) do(f func() error) error {
	s.done++
	if s.fail == 2*s.done-1 {
		return errStep
	}
	err := f()
	if s.fail == 2*s.done {
		return errStep
	}
	return err
}

// A steppedEngine has the steps of a compaction that change or read the engine. It yields results one by one,
// as an engine with a server does: results that are removed after the first one are not yielded.
type steppedEngine struct {
	queue.Admin
	*steps
}

func (e steppedEngine) Results(ctx context.Context, after uint64, follow bool) iter.Seq2[queue.Stored, error] {
	return func(yield func(queue.Stored, error) bool) {
		if err := e.do(func() error { return nil }); err != nil {
			yield(queue.Stored{}, err)
			return
		}
		for {
			found := false
			for m, err := range e.Admin.Results(ctx, after, follow) {
				if found = true; !yield(m, err) {
					return
				}
				after = m.Sequence
				break
			}
			if !found {
				return
			}
		}
	}
}

func (e steppedEngine) Segments(ctx context.Context) (list []byte, revision uint64, err error) {
	err = e.do(func() error {
		list, revision, err = e.Admin.Segments(ctx)
		return err
	})
	return list, revision, err
}

func (e steppedEngine) SetSegments(ctx context.Context, list []byte, revision uint64) (uint64, error) {
	err := e.do(func() (err error) {
		revision, err = e.Admin.SetSegments(ctx, list, revision)
		return err
	})
	return revision, err
}

func (e steppedEngine) RemoveResults(ctx context.Context, last uint64) error {
	return e.do(func() error { return e.Admin.RemoveResults(ctx, last) })
}

type steppedStore struct {
	queue.Store
	*steps
}

func (s steppedStore) Begin() (spool queue.Spool, err error) {
	err = s.do(func() error {
		spool, err = s.Store.Begin()
		return err
	})
	if err != nil {
		return nil, err
	}
	return steppedSpool{spool, s.steps}, nil
}

func (s steppedStore) Get(ctx context.Context, sum string) (r io.ReadCloser, err error) {
	err = s.do(func() error {
		r, err = s.Store.Get(ctx, sum)
		return err
	})
	return r, err
}

type steppedSpool struct {
	queue.Spool
	*steps
}

func (s steppedSpool) Write(p []byte) (n int, err error) {
	err = s.do(func() error {
		n, err = s.Spool.Write(p)
		return err
	})
	return n, err
}

func (s steppedSpool) Commit(ctx context.Context, sum string) (path string, err error) {
	err = s.do(func() error {
		path, err = s.Spool.Commit(ctx, sum)
		return err
	})
	return path, err
}

// A memory is a store in memory.
type memory map[string][]byte

func (s memory) Begin() (queue.Spool, error) { return &memorySpool{store: s}, nil }

func (s memory) Get(_ context.Context, sum string) (io.ReadCloser, error) {
	data, ok := s[sum]
	if !ok {
		return nil, &fetch.Error{Code: fetch.ErrNotFound, Err: errors.New("no such body")}
	}
	return artefact.Verify(io.NopCloser(bytes.NewReader(data)), sum), nil
}

type memorySpool struct {
	bytes.Buffer
	store memory
}

func (s *memorySpool) Reader() (io.Reader, error) { return bytes.NewReader(s.Bytes()), nil }

func (s *memorySpool) Commit(_ context.Context, sum string) (string, error) {
	s.store[sum] = bytes.Clone(s.Bytes())
	return artefact.Path(sum), nil
}

func (s *memorySpool) Discard() {}

// A moving queue has results, a store and a compaction that moves them.
type moving struct {
	engine queue.Admin
	store  memory
	reader *queue.Results
	move   queue.Compaction
	all    []queue.Stored // before the compaction
}

const movedSettle = time.Minute

// newMoving returns a queue with n results that are a day old. A segment has 4 to 8.
func newMoving(t *testing.T, n int) *moving {
	t.Helper()
	m := &moving{engine: queuetest.NewModel(queuetest.Options{}).Connect("c"), store: memory{},
		move: queue.Compaction{Age: 3 * time.Hour, Least: 4, Most: 8, Settle: movedSettle}}
	m.reader = m.with(m.engine)
	m.put(t, "", n)
	m.all = queuetest.Collect(t, m.reader.All(t.Context(), 0, false))
	time.Sleep(24 * time.Hour)
	return m
}

// with returns a reader of the results of another engine with the same store.
func (m *moving) with(e queue.Engine) *queue.Results {
	return &queue.Results{Engine: e, Store: func(context.Context) (queue.Store, error) { return m.store, nil }}
}

func (m *moving) put(t *testing.T, prefix string, n int) {
	t.Helper()
	for i := range n {
		id := fmt.Sprint(prefix, i)
		if err := m.engine.PutResult(t.Context(), id, fmt.Appendf(nil, `{"id":%q}`, id)); err != nil {
			t.Fatal(err)
		}
	}
}

func (m *moving) run(t *testing.T) *queue.Compacted {
	t.Helper()
	done, err := m.move.Run(t.Context(), m.engine, m.store)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// check checks that readers have each result once.
func (m *moving) check(t *testing.T, when string) {
	t.Helper()
	got := queuetest.Collect(t, m.reader.All(t.Context(), 0, false))
	if !reflect.DeepEqual(got, m.all) {
		t.Fatalf("%s, the results are\n%s\nwant\n%s", when, idsOf(got), idsOf(m.all))
	}
	for _, want := range m.all {
		data, err := m.reader.Get(t.Context(), want.ID, want.Time)
		if string(data) != string(want.Data) || err != nil {
			t.Fatalf("%s, the result of %s is %q, %v", when, want.ID, data, err)
		}
	}
	if s, err := m.engine.Status(t.Context()); err != nil || s.Results != uint64(len(m.all)) {
		t.Fatalf("%s, the status has %d results, %v, want %d", when, s.Results, err, len(m.all))
	}
}

func idsOf(list []queue.Stored) string {
	var ids []string
	for _, m := range list {
		ids = append(ids, fmt.Sprint(m.Sequence, "=", m.ID))
	}
	return strings.Join(ids, " ")
}

// inEngine returns the number of results that the engine has.
func (m *moving) inEngine(t *testing.T) int {
	t.Helper()
	return len(queuetest.Collect(t, m.engine.Results(t.Context(), 0, false)))
}

// A compaction fails at each of its steps in turn, before or after the step is performed. Each result is there
// once, and the next compaction moves all.
func TestNoResultIsLostOrDoubledIfACompactionFails(t *testing.T) {
	t.Parallel()
	for fail, last := 1, false; !last; fail++ {
		synctest.Test(t, func(t *testing.T) {
			m := newMoving(t, 22)
			s := &steps{fail: fail}
			_, err := m.move.Run(t.Context(), steppedEngine{m.engine, s}, steppedStore{m.store, s})
			if last = err == nil; !last && !errors.Is(err, errStep) {
				t.Fatal(err)
			}
			m.check(t, fmt.Sprint("after fault ", fail))
			m.run(t)
			m.check(t, fmt.Sprint("after fault ", fail, " and another compaction"))
			if n := m.inEngine(t); n != 1 {
				t.Errorf("after fault %d and another compaction, the engine has %d results", fail, n)
			}
			if last && fail < 50 {
				t.Errorf("a compaction has only %d steps", fail/2)
			}
		})
	}
}

// Results are removed only after they were listed for the time in which the engine may lose the list.
func TestEngineKeepsResultsUntilTheListHasSettled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMoving(t, 10)
		listed := time.Time{}
		m.move.Listed = func(done *queue.Compacted) {
			listed = time.Now()
			if n := m.inEngine(t); n != 10 || done.Results != 8 {
				t.Errorf("%d results in the engine, %+v", n, done)
			}
			m.check(t, "while results are in both")
		}
		done := m.run(t)
		if time.Since(listed) != movedSettle || done.Removed != 8 || m.inEngine(t) != 2 {
			t.Errorf("after %v, %d were removed and %d remain", time.Since(listed), done.Removed, m.inEngine(t))
		}
		m.check(t, "after the compaction")
	})
}

func TestYoungResultsAndTheLastOneRemain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMoving(t, 8)
		m.put(t, "young", 5)
		m.all = queuetest.Collect(t, m.reader.All(t.Context(), 0, false))
		if done := m.run(t); done.Results != 8 || m.inEngine(t) != 5 {
			t.Errorf("%+v, and %d remain", done, m.inEngine(t))
		}
		m.check(t, "after the first compaction")
		time.Sleep(24 * time.Hour)
		if done := m.run(t); done.Results != 4 || m.inEngine(t) != 1 {
			t.Errorf("%+v, and %d remain", done, m.inEngine(t))
		}
		m.check(t, "after the second compaction")
		time.Sleep(24 * time.Hour)
		if done := m.run(t); *done != (queue.Compacted{}) {
			t.Errorf("with one result, %+v", done)
		}
		m.move.Age = queue.MinAge - 1
		if _, err := m.move.Run(t.Context(), m.engine, m.store); fetch.CodeOf(err) != fetch.ErrRequest {
			t.Errorf("young results: %v", err)
		}
	})
}

// A reader is interrupted after each result by a compaction of all others.
func TestReaderDuringACompaction(t *testing.T) {
	t.Parallel()
	const n = 18
	for _, follow := range []bool{false, true} {
		for at := 0; at <= n; at++ {
			synctest.Test(t, func(t *testing.T) {
				m := newMoving(t, n)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var got []queue.Stored
				r := m.with(steppedEngine{m.engine, &steps{}})
				if at == 0 {
					m.run(t)
				}
				for s, err := range r.All(ctx, 0, follow) {
					if err != nil {
						t.Fatal(err)
					}
					s.Time = s.Time.UTC().Round(0)
					if got = append(got, s); len(got) == at {
						m.run(t)
					}
					if len(got) == n && follow {
						cancel() // it would wait for more
					}
				}
				if !reflect.DeepEqual(got, m.all) {
					t.Errorf("with follow %v, interrupted after %d: %s, want %s", follow, at, idsOf(got), idsOf(m.all))
				}
			})
		}
	}
}

// Two compactions run at the same time. One of them fails, or finds nothing.
func TestTwoCompactions(t *testing.T) {
	t.Parallel()
	for at := range 3 { // after so many segments of the first one
		synctest.Test(t, func(t *testing.T) {
			m := newMoving(t, 22)
			e := &interruptedEngine{Admin: m.engine, at: at, interrupt: func() { m.run(t) }}
			if _, err := m.move.Run(t.Context(), e, m.store); fetch.CodeOf(err) != fetch.ErrBusy {
				t.Errorf("interrupted by another compaction: %v", err)
			}
			m.check(t, "after two compactions")
			m.run(t)
			m.check(t, "after a third")
			if n := m.inEngine(t); n != 1 {
				t.Errorf("the engine has %d results", n)
			}
		})
	}
}

// An interruptedEngine is interrupted before a list is set.
type interruptedEngine struct {
	queue.Admin
	at        int
	interrupt func()
}

func (e *interruptedEngine) SetSegments(ctx context.Context, list []byte, revision uint64) (uint64, error) {
	if e.at--; e.at == -1 {
		e.interrupt()
	}
	return e.Admin.SetSegments(ctx, list, revision)
}

// An engine that has lost all its results counts from 1 again. Its new results are not those of the segments.
func TestResultsOfANewStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMoving(t, 22)
		m.run(t)
		list, _, err := m.engine.Segments(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m.engine = queuetest.NewModel(queuetest.Options{}).Connect("c")
		if _, err := m.engine.SetSegments(t.Context(), list, 0); err != nil {
			t.Fatal(err)
		}
		m.reader, m.all = m.with(m.engine), m.all[:21] // the last one was lost
		m.check(t, "after the loss")
		m.put(t, "new", 13) // of which one remains
		m.all = append(m.all, queuetest.Collect(t, m.engine.Results(t.Context(), 0, false))...)
		m.check(t, "with new results")
		time.Sleep(24 * time.Hour)
		m.run(t)
		m.check(t, "after they were moved")
		if n := m.inEngine(t); n != 1 {
			t.Errorf("the engine has %d results", n)
		}
	})
}

// contents returns the digests of the contents of the segments.
func (m *moving) contents(t *testing.T) (sums []string) {
	t.Helper()
	if err := m.reader.EachContent(t.Context(), func(sum string) { sums = append(sums, sum) }); err != nil {
		t.Fatal(err)
	}
	return sums
}

// Each content of the segments is damaged in turn.
func TestDamagedSegments(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(s memory, sum string){
		"missing": func(s memory, sum string) { delete(s, sum) },
		"short":   func(s memory, sum string) { s[sum] = s[sum][:5] },
		"altered": func(s memory, sum string) { s[sum][len(s[sum])/2] ^= 1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i, last := 0, 1; i < last; i++ {
				synctest.Test(t, func(t *testing.T) {
					m := newMoving(t, 18)
					m.move.Listed = func(*queue.Compacted) {
						sums := m.contents(t)
						last = len(sums)
						damage(m.store, sums[i])
					}
					lost := &queue.SegmentError{}
					if _, err := m.move.Run(t.Context(), m.engine, m.store); !errors.As(err, &lost) {
						t.Fatalf("content %d: %v", i, err)
					}
					if n := m.inEngine(t); n != 18 && n != 10 { // segments before it are complete
						t.Errorf("content %d: the engine has %d results", i, n)
					}
					if err := m.engine.RemoveResults(t.Context(), m.all[15].Sequence); err != nil {
						t.Fatal(err)
					}
					m.checkDamaged(t, i, name)
				})
			}
		})
	}
}

// checkDamaged checks that readers name the lost results, and have all others once.
func (m *moving) checkDamaged(t *testing.T, content int, kind string) {
	t.Helper()
	known := map[uint64]int{}
	for s, err := range m.reader.All(t.Context(), 0, false) {
		var lost *queue.SegmentError
		switch {
		case errors.As(err, &lost):
			for n := lost.First; n <= lost.Last; n++ {
				known[n]++
			}
		case err != nil:
			t.Fatal(err)
		default:
			known[s.Sequence]++
		}
	}
	for _, want := range m.all {
		if known[want.Sequence] != 1 {
			t.Errorf("content %d: the result %d was named %d times", content, want.Sequence, known[want.Sequence])
		}
		data, err := m.reader.Get(t.Context(), want.ID, time.Time{})
		var lost *queue.SegmentError
		if string(data) != string(want.Data) && !errors.Is(err, queue.ErrNotFound) &&
			!(kind == "missing" && errors.As(err, &lost)) {
			t.Errorf("content %d: the result of %s is %q, %v", content, want.ID, data, err)
		}
	}
}

// A job is delivered again after its result was moved. It is not executed, and has one result.
func TestJobWhoseResultWasMovedIsNotExecutedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMoving(t, 0)
		ctx := t.Context()
		id, _, err := queue.Submit(ctx, m.engine, queue.Normal, &job.Job{URL: uri.MustParse("http://h/")})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.engine.Next(ctx); err != nil { // and is never acknowledged
			t.Fatal(err)
		}
		if err := m.engine.PutResult(ctx, id, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		m.put(t, "", 10)
		time.Sleep(24 * time.Hour)
		m.run(t)
		d := &slowDriver{}
		withWorker(t, m.engine, d, queue.Worker{Store: m.store}, func(context.Context) { time.Sleep(time.Hour) })
		s, err := m.engine.Status(ctx)
		if d.requests.Load() != 0 || err != nil || s.Depth() != 0 || s.Results != 11 {
			t.Errorf("%d requests; %+v, %v", d.requests.Load(), s, err)
		}
	})
}

// While a worker holds a job, the result of another worker is moved to a segment. The first worker must not
// store a second result.
func TestLongJobWhoseResultWasMovedHasNoSecondOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMoving(t, 0)
		ctx := t.Context()
		id, _, err := queue.Submit(ctx, m.engine, queue.Normal, &job.Job{URL: uri.MustParse("http://h/")})
		if err != nil {
			t.Fatal(err)
		}
		d := &endlessDriver{until: make(chan struct{})}
		withWorker(t, m.engine, d, queue.Worker{Store: m.store, Stall: 240 * time.Hour}, func(context.Context) {
			time.Sleep(time.Minute)
			if err := m.engine.PutResult(ctx, id, []byte("{}")); err != nil {
				t.Fatal(err)
			}
			m.put(t, "", 10)
			time.Sleep(m.move.Age + time.Minute)
			m.run(t)
			close(d.until)
			time.Sleep(time.Minute)
		})
		s, err := m.engine.Status(ctx)
		if err != nil || s.Depth() != 0 || s.Results != 11 {
			t.Errorf("%+v, %v", s, err)
		}
		if n := len(queuetest.Collect(t, m.reader.All(ctx, 0, false))); n != 11 {
			t.Errorf("%d results, want 11", n)
		}
	})
}

// An endlessDriver responds when until is closed.
type endlessDriver struct{ until chan struct{} }

func (d *endlessDriver) Open(context.Context, *fetch.Request) (*fetch.Response, error) {
	<-d.until
	return &fetch.Response{Meta: fetch.Meta{Size: 1}, Body: &closer{strings.NewReader("x"), func() {}}}, nil
}
