package queuetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/queue"
)

// patience limits waits that must succeed. They take long only if the machine is busy.
const patience = 5 * time.Minute

// Run tests an engine. Open returns a function that opens independent connections to an empty
// engine. Its AckWait and LeaseTTL should be a few seconds, and its window minutes. A connection that
// prefetches jobs should keep them longer than the tests wait, ten minutes, until Next is canceled.
func Run(t *testing.T, open func(t *testing.T) (connect func() queue.Admin)) {
	run(t, open, func(t *testing.T, test func(*testing.T)) { test(t) })
}

// RunWithFakeClock is Run in bubbles of package testing/synctest. It is for engines without input and
// output, such as [Model].
func RunWithFakeClock(t *testing.T, open func(t *testing.T) (connect func() queue.Admin)) {
	run(t, open, synctest.Test)
}

func run(t *testing.T, open func(t *testing.T) (connect func() queue.Admin),
	within func(*testing.T, func(*testing.T))) {
	for name, test := range map[string]func(*testing.T, func() queue.Admin){
		"Duplicates":      duplicates,
		"Redelivery":      redelivery,
		"Extend":          extended,
		"Return":          returned,
		"Move":            moved,
		"Priorities":      priorities,
		"Results":         results,
		"FinishedJobs":    finishedJobs,
		"FollowResults":   followResults,
		"UnfinishedJobs":  unfinishedJobs,
		"DroppedJobs":     droppedJobs,
		"DeadLetters":     deadLetters,
		"RemovedMessages": removedMessages,
		"ValueRevisions":  valueRevisions,
		"LeasesExpire":    leases,
		"Purge":           purging,
		"NextTimeout":     nextTimeout,
		"NextCancelled":   cancelledNext,
		"Status":          status,
		"Pages":           pages,
		"State":           state,
		"HostLimits":      hostLimits,
		"Segments":        segments,
		"Compaction":      compaction,
		"Workers":         workers,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			within(t, func(t *testing.T) { test(t, open(t)) })
		})
	}
}

func submit(t *testing.T, e queue.Engine, p queue.Priority, key, text string) (duplicate bool) {
	t.Helper()
	duplicate, err := e.Submit(t.Context(), p, key, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return duplicate
}

// next returns the next delivery.
func next(t *testing.T, e queue.Engine, want string) queue.Delivery {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	d, err := e.Next(ctx)
	if err != nil {
		t.Fatalf("no delivery: %v", err)
	}
	if want != "" && string(d.Data()) != want {
		t.Fatalf("delivered %q, want %q", d.Data(), want)
	}
	return d
}

// noDelivery checks that no job is delivered within d.
func noDelivery(t *testing.T, e queue.Engine, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	switch d, err := e.Next(ctx); {
	case err == nil:
		t.Fatalf("unexpected delivery %q", d.Data())
	case !errors.Is(err, context.DeadlineExceeded):
		t.Fatalf("no delivery: %v, want the error of the context", err)
	}
}

func duplicates(t *testing.T, connect func() queue.Admin) {
	a, b := connect(), connect()
	if submit(t, a, queue.Normal, "k", "one") || !submit(t, a, queue.Normal, "k", "two") ||
		!submit(t, b, queue.Normal, "k", "three") {
		t.Error("the first submission is a duplicate, or a later one is not")
	}
	if submit(t, b, queue.Normal, "other", "four") {
		t.Error("a submission with another key is a duplicate")
	}
	d := next(t, a, "one")
	if d.Again() || d.Priority() != queue.Normal {
		t.Errorf("Again %v, priority %q", d.Again(), d.Priority())
	}
	check(t, d.Ack(t.Context()))
	check(t, next(t, a, "four").Ack(t.Context()))
	if !submit(t, b, queue.Normal, "k", "five") {
		t.Error("a finished job is accepted again within the window")
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func redelivery(t *testing.T, connect func() queue.Admin) {
	a := connect()
	ackWait := a.Limits().AckWait
	conclusive(t, func(text string) bool {
		start := time.Now() // before the first delivery, so that no redelivery is earlier than start+ackWait
		submit(t, a, queue.Normal, text, text)
		nextOf(t, a, text)
		d := nextOf(t, a, text)
		if elapsed := time.Since(start); elapsed < ackWait*9/10 || !d.Again() {
			t.Errorf("redelivered after %v, Again %v", elapsed, d.Again())
		}
		check(t, d.Ack(t.Context()))
		inTime := time.Since(start) < 2*ackWait
		if d := within(t, a, text, ackWait*3/2); d != nil && inTime {
			t.Error("delivered again after its acknowledgement")
		} else if d != nil {
			check(t, d.Ack(t.Context()))
		}
		return inTime
	})
}

func extended(t *testing.T, connect func() queue.Admin) {
	a, b := connect(), connect()
	ackWait := a.Limits().AckWait
	conclusive(t, func(text string) bool {
		last := time.Now() // before the delivery or its last extension
		submit(t, a, queue.Normal, text, text)
		d := nextOf(t, a, text)
		inTime := true
		for range 6 {
			begin := time.Now()
			check(t, d.Extend())
			_, err := a.Status(t.Context()) // the engine receives it after the extension
			check(t, err)
			inTime = inTime && time.Since(last) < ackWait
			last = begin
			again := within(t, b, text, ackWait/6)
			if again == nil {
				again = within(t, a, text, ackWait/6) // which may have prefetched it
			}
			if again == nil {
				continue
			}
			if inTime = inTime && time.Since(last) < ackWait; inTime {
				t.Error("delivered again although its delivery was extended")
			}
			check(t, again.Ack(t.Context()))
			return inTime
		}
		check(t, d.Ack(t.Context()))
		return true
	})
}

// conclusive repeats a test with another text until it returns true. A test returns false if the
// machine was so slow that the engine was free to deliver a job again.
func conclusive(t *testing.T, test func(text string) bool) {
	t.Helper()
	start := time.Now()
	for i := 0; !test(fmt.Sprint("one", i)); i++ {
		if time.Since(start) > patience {
			t.Fatalf("the machine was too slow %d times", i+1)
		}
	}
}

// nextOf returns the next delivery with a text. It acknowledges all others.
func nextOf(t *testing.T, e queue.Engine, text string) queue.Delivery {
	t.Helper()
	d := within(t, e, text, patience)
	if d == nil {
		t.Fatalf("%q is not delivered", text)
	}
	return d
}

// within returns the next delivery with a text within a time, or nil. It acknowledges all others.
func within(t *testing.T, e queue.Engine, text string, wait time.Duration) queue.Delivery {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	for {
		switch d, err := e.Next(ctx); {
		case errors.Is(err, context.DeadlineExceeded):
			return nil
		case err != nil:
			t.Fatal(err)
		case string(d.Data()) == text:
			return d
		default:
			check(t, d.Ack(t.Context()))
		}
	}
}

func returned(t *testing.T, connect func() queue.Admin) {
	a := connect()
	submitted := time.Now()
	submit(t, a, queue.Normal, "k", "one")
	d := next(t, a, "one")
	start := time.Now()
	check(t, d.Return(300*time.Millisecond))
	d = next(t, a, "one")
	early := time.Since(start) < 250*time.Millisecond && time.Since(submitted) < a.Limits().AckWait
	if early || !d.Again() {
		t.Errorf("redelivered after %v, Again %v", time.Since(start), d.Again())
	}
	check(t, d.Return(0))
	check(t, next(t, a, "one").Ack(t.Context()))
}

// moved checks that a moved job follows all others, that a duplicate of it is still detected, and that it
// can be dropped.
func moved(t *testing.T, connect func() queue.Admin) {
	a := connect()
	for i := range 3 {
		submit(t, a, queue.Normal, fmt.Sprint("key", i), fmt.Sprint("job", i))
	}
	first := next(t, a, "job0")
	before := first.Place()
	if before.Moves != 0 || before.Behind > 2 || before.Since.IsZero() {
		t.Errorf("the place of the first of three jobs is %+v", before)
	}
	check(t, first.Move(t.Context()))
	for i := 1; i < 3; i++ {
		check(t, next(t, a, fmt.Sprint("job", i)).Ack(t.Context()))
	}
	for n := 1; n < 3; n++ { // an engine may count the jobs that it has prefetched as delivered
		d := next(t, a, "job0")
		place := d.Place()
		if d.Again() || place.Moves != n || place.Sequence <= before.Sequence || place.Behind != 0 ||
			place.Since.Before(before.Since) || d.Priority() != queue.Normal {
			t.Errorf("after %d moves, the place is %+v, Again %v, priority %q", n, place, d.Again(), d.Priority())
		}
		before = place
		check(t, d.Move(t.Context()))
	}
	if !submit(t, connect(), queue.Normal, "key0", "again") {
		t.Error("a submission is not a duplicate of a moved job")
	}
	check(t, next(t, a, "job0").Ack(t.Context()))
	const more = 30 // an engine prefetches fewer
	for i := range more {
		submit(t, a, queue.High, fmt.Sprint("more", i), fmt.Sprint("more", i))
	}
	check(t, next(t, a, "more0").Move(t.Context()))
	var last queue.Stored
	for m, err := range a.Jobs(t.Context(), queue.High) {
		check(t, err)
		last = m
	}
	if string(last.Data) != "more0" || last.Taken {
		t.Fatalf("the last job is %q, taken %v, want the moved one", last.Data, last.Taken)
	}
	check(t, a.DropJob(t.Context(), queue.High, last.Sequence))
	if submit(t, connect(), queue.High, "more0", "again") {
		t.Error("a submission is a duplicate of a job that was moved and dropped")
	}
	for i := 1; i < more; i++ {
		check(t, next(t, a, fmt.Sprint("more", i)).Ack(t.Context()))
	}
	check(t, next(t, a, "again").Ack(t.Context()))
}

func priorities(t *testing.T, connect func() queue.Admin) {
	a := connect()
	for i := range 40 {
		submit(t, a, queue.Low, fmt.Sprint("l", i), "low")
		submit(t, a, queue.High, fmt.Sprint("h", i), "high")
	}
	high := 0
	for range 40 {
		d := next(t, a, "")
		if d.Priority() == queue.High {
			high++
		}
		check(t, d.Ack(t.Context()))
	}
	if high < 30 {
		t.Errorf("%d of 40 jobs had high priority", high)
	}
}

func results(t *testing.T, connect func() queue.Admin) {
	a, b := connect(), connect()
	if data, err := a.Result(t.Context(), "x"); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("result %q, %v, want none", data, err)
	}
	check(t, a.PutResult(t.Context(), "x", []byte("first")))
	check(t, b.PutResult(t.Context(), "x", []byte("second")))
	check(t, b.PutResult(t.Context(), "y", []byte("other")))
	if data, err := b.Result(t.Context(), "x"); string(data) != "first" || err != nil {
		t.Errorf("result %q, %v, want the first", data, err)
	}
	var got []string
	var last uint64
	for r, err := range a.Results(t.Context(), 0, false) {
		check(t, err)
		got = append(got, r.ID+" "+string(r.Data))
		if r.Sequence <= last {
			t.Error("results are not in order")
		}
		last = r.Sequence
	}
	if fmt.Sprint(got) != "[x first y other]" {
		t.Errorf("%q", got)
	}
	for range a.Results(t.Context(), last, false) {
		t.Error("results after the last one")
	}
}

// finishedJobs finishes jobs of all priorities together. One of them has a result already, and one has a
// result that is too long.
func finishedJobs(t *testing.T, connect func() queue.Admin) {
	a, b := connect(), connect()
	const earlier, tooLong, n = 1, 2, 6
	for i := range n {
		text := fmt.Sprint("job", i)
		submit(t, b, queue.Priorities[i%len(queue.Priorities)], text, text)
	}
	taken := map[string]queue.Delivery{}
	for len(taken) < n { // on a slow machine, a job may be delivered again
		d := next(t, a, "")
		taken[string(d.Data())] = d
	}
	var jobs []queue.Finished
	for _, text := range slices.Sorted(maps.Keys(taken)) {
		jobs = append(jobs, queue.Finished{Delivery: taken[text], ID: text, Result: []byte(text)})
	}
	check(t, b.PutResult(t.Context(), jobs[earlier].ID, []byte("earlier")))
	jobs[tooLong].Result = make([]byte, a.Limits().Message+1)
	errs := a.Finish(t.Context(), jobs)
	for i, err := range errs {
		data, resultErr := b.Result(t.Context(), jobs[i].ID)
		want := jobs[i].ID
		switch i {
		case tooLong:
			if err == nil || !errors.Is(resultErr, queue.ErrNotFound) {
				t.Errorf("a result that is too long: %v, and then %v", err, resultErr)
			}
			continue
		case earlier:
			want = "earlier"
		}
		if err != nil || string(data) != want || resultErr != nil {
			t.Errorf("%v; the result is %q, %v, want %q", err, data, resultErr, want)
		}
	}
	if s, err := b.Status(t.Context()); len(errs) != n || err != nil || s.Depth() != 1 {
		t.Errorf("%d errors; %d unfinished jobs, %v, want the one without a result", len(errs), s.Depth(), err)
	}
	jobs[tooLong].Result = []byte("short")
	check(t, errors.Join(a.Finish(t.Context(), jobs[tooLong:tooLong+1])...))
	if s, err := b.Status(t.Context()); err != nil || s.Depth() != 0 || s.Results != n {
		t.Errorf("%+v, %v, want no jobs and %d results", s, err, n)
	}
}

func unfinishedJobs(t *testing.T, connect func() queue.Admin) {
	a, b := connect(), connect()
	for i := range 3 {
		submit(t, a, queue.Normal, fmt.Sprint("key", i), fmt.Sprint("job", i))
	}
	check(t, next(t, b, "job0").Ack(t.Context()))
	next(t, b, "job1") // taken, and unfinished
	var got []string
	for _, p := range queue.Priorities {
		for m, err := range b.Jobs(t.Context(), p) {
			check(t, err)
			got = append(got, fmt.Sprint(string(m.Data), " ", m.Taken))
		}
	}
	// An engine may have prefetched the other job for b, and then reports it as taken.
	if len(got) != 2 || got[0] != "job1 true" || !strings.HasPrefix(got[1], "job2 ") {
		t.Errorf("unfinished jobs: %q", got)
	}
}

func followResults(t *testing.T, connect func() queue.Admin) {
	a, b := connect(), connect()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	check(t, a.PutResult(ctx, "x0", []byte("r")))
	n := 0
	for r, err := range b.Results(ctx, 0, true) {
		check(t, err)
		if r.ID != fmt.Sprint("x", n) {
			t.Fatalf("%s after %d", r.ID, n)
		}
		if n++; n == 4 {
			cancel()
			continue
		}
		check(t, a.PutResult(ctx, fmt.Sprint("x", n), []byte("r")))
	}
	if n != 4 {
		t.Errorf("%d results", n)
	}
}

// droppedJobs checks that a dropped job is not delivered and may be submitted again, once.
func droppedJobs(t *testing.T, connect func() queue.Admin) {
	a := connect()
	drop := func(text string) {
		t.Helper()
		for m, err := range a.Jobs(t.Context(), queue.Normal) {
			check(t, err)
			if string(m.Data) != text {
				continue
			}
			if m.Taken {
				t.Errorf("%s was not delivered and is reported as taken", text)
			}
			check(t, a.DropJob(t.Context(), queue.Normal, m.Sequence))
			if err := a.DropJob(t.Context(), queue.Normal, m.Sequence); !errors.Is(err, queue.ErrNotFound) {
				t.Errorf("dropped twice: %v", err)
			}
		}
	}
	for i := range 3 {
		submit(t, a, queue.Normal, fmt.Sprint("key", i), fmt.Sprint("job", i))
	}
	drop("job1")
	for i := range 2 { // each submission after a drop is accepted
		text := fmt.Sprint("again", i)
		if submit(t, connect(), queue.Normal, "key1", text) || !submit(t, a, queue.Normal, "key1", "more") {
			t.Error("a dropped job is a duplicate, or a second submission is not")
		}
		if i == 0 {
			drop(text)
		}
	}
	if !submit(t, a, queue.Normal, "key2", "more") {
		t.Error("another job is not a duplicate")
	}
	for _, want := range []string{"job0", "job2", "again1"} {
		check(t, next(t, a, want).Ack(t.Context()))
	}
	noDelivery(t, a, 100*time.Millisecond)
}

func deadLetters(t *testing.T, connect func() queue.Admin) {
	a := connect()
	check(t, a.PutDead(t.Context(), "x", []byte("first")))
	check(t, a.PutDead(t.Context(), "x", []byte("second")))
	check(t, a.PutDead(t.Context(), "y", []byte("other")))
	for d, err := range a.Dead(t.Context(), 0) {
		check(t, err)
		if d.ID == "x" {
			check(t, a.DropDead(t.Context(), d.Sequence))
			if err := a.DropDead(t.Context(), d.Sequence); !errors.Is(err, queue.ErrNotFound) {
				t.Errorf("dropped twice: %v", err)
			}
		}
	}
	n := 0
	for d, err := range a.Dead(t.Context(), 0) {
		check(t, err)
		if n++; string(d.Data) != "other" {
			t.Errorf("remaining dead letter %q", d.Data)
		}
	}
	if n != 1 {
		t.Errorf("%d dead letters left, want 1", n)
	}
}

// removedMessages checks that a list ends if its messages are removed before they are listed.
func removedMessages(t *testing.T, connect func() queue.Admin) {
	a := connect()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, id := range []string{"x", "y", "z"} {
		check(t, a.PutDead(ctx, id, []byte("d")))
	}
	var all []uint64
	for d, err := range a.Dead(ctx, 0) {
		check(t, err)
		all = append(all, d.Sequence)
	}
	check(t, a.DropDead(ctx, all[2]))
	for d, err := range a.Dead(ctx, all[1]) {
		t.Fatalf("message %q after the last one: %v", d.ID, err)
	}
	for i := range 2000 { // more than one batch
		check(t, a.PutResult(ctx, fmt.Sprint("x", i), []byte("r")))
	}
	n := 0
	for _, err := range a.Results(ctx, 0, false) {
		if err != nil {
			t.Fatalf("after %d: %v", n, err)
		}
		if n++; n == 1 {
			_, err := a.PurgeResults(ctx)
			check(t, err)
		}
	}
}

func valueRevisions(t *testing.T, connect func() queue.Admin) {
	ctx := t.Context()
	v, w := connect().Records(), connect().Records()
	key := "host/1f/0"
	if _, _, err := v.Get(ctx, key); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("Get of a missing value: %v", err)
	}
	r, err := v.Create(ctx, key, []byte("a"))
	check(t, err)
	if _, err := w.Create(ctx, key, []byte("b")); !errors.Is(err, queue.ErrExists) {
		t.Errorf("second Create: %v", err)
	}
	r2, err := w.Update(ctx, key, []byte("c"), r)
	check(t, err)
	if _, err := v.Update(ctx, key, []byte("d"), r); !errors.Is(err, queue.ErrConflict) {
		t.Errorf("Update of an old revision: %v", err)
	}
	if err := v.Delete(ctx, key, r); !errors.Is(err, queue.ErrConflict) {
		t.Errorf("Delete of an old revision: %v", err)
	}
	if value, got, err := v.Get(ctx, key); err != nil || string(value) != "c" || got != r2 {
		t.Errorf("%q, %d, %v", value, got, err)
	}
	check(t, v.Delete(ctx, key, r2))
	if _, err := v.Update(ctx, key, []byte("e"), r2); !errors.Is(err, queue.ErrConflict) {
		t.Errorf("Update of a deleted value: %v", err)
	}
	if _, err := v.Create(ctx, key, []byte("f")); err != nil {
		t.Errorf("after a deletion: %v", err)
	}
	check(t, w.Put(ctx, key, []byte("g")))
	check(t, w.Put(ctx, "pause/x", []byte("h")))
	check(t, w.Delete(ctx, key, 0))
	if _, _, err := v.Get(ctx, key); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("after a deletion: %v", err)
	}
}

func leases(t *testing.T, connect func() queue.Admin) {
	ctx := t.Context()
	a := connect()
	v, ttl := a.Leases(), a.Limits().LeaseTTL
	start := time.Now()
	r, err := v.Create(ctx, "k", []byte("a"))
	check(t, err)
	for updates := 0; updates < 4; updates++ {
		wait(t, ttl/2)
		begin := time.Now() // the TTL starts before the response arrives
		updated, err := v.Update(ctx, "k", []byte("a"), r)
		if errors.Is(err, queue.ErrConflict) && time.Since(start) > ttl*9/10 {
			updates = -1 // the machine was too slow to extend the lease in time
			updated, err = v.Create(ctx, "k", []byte("a"))
		}
		check(t, err)
		r, start = updated, begin
	}
	for {
		_, err := v.Create(ctx, "k", []byte("b"))
		elapsed := time.Since(start)
		if err == nil {
			if elapsed < ttl*9/10 {
				t.Errorf("lease expired after %v, before its TTL of %v", elapsed, ttl)
			}
			break
		}
		if !errors.Is(err, queue.ErrExists) || elapsed > ttl+patience {
			t.Fatalf("after %v: %v", elapsed, err)
		}
		wait(t, 50*time.Millisecond)
	}
	if _, err := v.Update(ctx, "k", []byte("a"), r); !errors.Is(err, queue.ErrConflict) {
		t.Errorf("Update of an expired lease: %v", err)
	}
}

// wait sleeps, because timeouts are under test.
func wait(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

func pages(t *testing.T, connect func() queue.Admin) {
	ctx := t.Context()
	a, b := connect(), connect()
	if a.Pages() == nil {
		t.Skip("not a crawl queue")
	}
	r, err := a.Pages().Create(ctx, "page/1f", []byte("x"))
	check(t, err)
	if _, err := b.Pages().Create(ctx, "page/1f", []byte("y")); !errors.Is(err, queue.ErrExists) {
		t.Errorf("second Create: %v", err)
	}
	wait(t, a.Limits().LeaseTTL*3/2)
	if _, err := b.Pages().Update(ctx, "page/1f", []byte("z"), r); err != nil {
		t.Errorf("Update of a page after LeaseTTL: %v", err)
	}
	for name, values := range map[string]queue.Values{"records": a.Records(), "secrets": a.Secrets()} {
		if _, _, err := values.Get(ctx, "page/1f"); !errors.Is(err, queue.ErrNotFound) {
			t.Errorf("page found among the %s: %v", name, err)
		}
	}
	pageValues(t, a, b)
}

func hostLimits(t *testing.T, connect func() queue.Admin) {
	ctx := t.Context()
	a, b := connect(), connect()
	if text, err := a.HostLimits(ctx); len(text) > 0 || err != nil {
		t.Errorf("limits of a new queue: %q, %v", text, err)
	}
	for _, want := range []string{"a 1 5s\n", "b 2 -\n", "", "c 3 0s\n"} {
		check(t, a.SetHostLimits(ctx, []byte(want)))
		if got, err := b.HostLimits(ctx); string(got) != want || err != nil {
			t.Errorf("after SetHostLimits(%q): %q, %v", want, got, err)
		}
	}
	if err := a.SetHostLimits(ctx,
		make([]byte, a.Limits().Message+1)); fetch.CodeOf(err) != fetch.ErrTooLarge {
		t.Errorf("limits that exceed a message: %v, want class %s", err, fetch.ErrTooLarge)
	}
	wait(t, a.Limits().LeaseTTL*3/2)
	if got, err := connect().HostLimits(ctx); string(got) != "c 3 0s\n" || err != nil {
		t.Errorf("after LeaseTTL: %q, %v", got, err)
	}
	if s, err := b.State(ctx); s != queue.Running || err != nil {
		t.Errorf("the state is %q, %v", s, err)
	}
}

func workers(t *testing.T, connect func() queue.Admin) {
	ctx := t.Context()
	a, b := connect(), connect()
	list := func() string {
		t.Helper()
		var found []string
		for m, err := range b.Workers(ctx) {
			check(t, err)
			found = append(found, m.ID+"="+string(m.Data))
		}
		slices.Sort(found)
		return strings.Join(found, " ")
	}
	if got := list(); got != "" {
		t.Errorf("workers of a new queue: %s", got)
	}
	// put replaces the reports and returns the list. It repeats that if reports may have expired.
	put := func(reports ...string) (got string) {
		t.Helper()
		conclusive(t, func(string) bool {
			start := time.Now()
			for _, r := range reports {
				id, text, _ := strings.Cut(r, "=")
				var report []byte // nil removes
				if text != "" {
					report = []byte(text)
				}
				check(t, a.PutWorker(ctx, id, report))
			}
			got = list()
			return time.Since(start) < a.Limits().LeaseTTL*9/10
		})
		return got
	}
	if _, err := a.Leases().Create(ctx, "host/worker", nil); err != nil { // is not a report
		t.Fatal(err)
	}
	if got := put("A=1", "B=2", "A=3"); got != "A=3 B=2" {
		t.Errorf("workers %s, want A=3 B=2", got)
	}
	if got := put("B=2", "A=", "A="); got != "B=2" { // A is removed, and then not there
		t.Errorf("workers after the end of A: %s, want B=2", got)
	}
	for start := time.Now(); list() != ""; wait(t, 100*time.Millisecond) {
		if time.Since(start) > patience {
			t.Fatal("the report of a worker does not expire")
		}
	}
}

// state checks that other connections notice a change of the state within seconds.
func state(t *testing.T, connect func() queue.Admin) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	a, b := connect(), connect()
	for _, want := range []queue.State{queue.Running, queue.Paused, queue.Draining, queue.Running} {
		check(t, a.SetState(ctx, want))
		if got, err := a.State(ctx); got != want || err != nil {
			t.Errorf("after SetState(%q): %q, %v", want, got, err)
		}
		for {
			got, err := b.State(ctx)
			check(t, err)
			if got == want {
				break
			}
			wait(t, 50*time.Millisecond)
		}
		if got, err := connect().State(ctx); got != want || err != nil {
			t.Errorf("a new connection: %q, %v; want %q", got, err, want)
		}
	}
}

func purging(t *testing.T, connect func() queue.Admin) {
	ctx := t.Context()
	a := connect()
	submit(t, a, queue.High, "k", "one")
	submit(t, a, queue.Low, "l", "two")
	check(t, a.PutResult(ctx, "x", []byte("r")))
	check(t, a.PutDead(ctx, "x", []byte("d")))
	for _, tt := range []struct {
		kind  string
		purge func(context.Context) (uint64, error)
		want  uint64
	}{{"jobs", a.PurgeJobs, 2}, {"results", a.PurgeResults, 1}, {"dead letters", a.PurgeDead, 1}} {
		if n, err := tt.purge(ctx); n != tt.want || err != nil {
			t.Errorf("%d %s purged, want %d: %v", n, tt.kind, tt.want, err)
		}
	}
	if s, err := a.Status(ctx); err != nil || s.Depth()+s.Results+s.Dead != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	check(t, a.PutResult(ctx, "x1", []byte("again")))
	for range 2 { // purged jobs can be submitted again, once after each purge
		if submit(t, a, queue.High, "k", "one") || !submit(t, connect(), queue.High, "k", "one") {
			t.Error("a purged job is a duplicate, or a second submission is not")
		}
		if n, err := a.PurgeJobs(ctx); n != 1 || err != nil {
			t.Errorf("%d jobs purged, %v", n, err)
		}
	}
}

func cancelledNext(t *testing.T, connect func() queue.Admin) {
	a, b := connect(), connect()
	const jobs = 40
	for _, submitted := range []bool{true, false} { // whether the queue has jobs at that time
		if submitted {
			for i := range jobs {
				submit(t, b, queue.Normal, fmt.Sprint("k", i), "first")
			}
			check(t, next(t, a, "first").Ack(t.Context())) // the engine is prefetching others
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		wait := make(chan error)
		if submitted {
			cancel()
		}
		go func() {
			_, err := a.Next(ctx)
			wait <- err
		}()
		if !submitted {
			noDelivery(t, b, 100*time.Millisecond)
			cancel()
		}
		if err := <-wait; !errors.Is(err, context.Canceled) {
			t.Fatalf("%v, want the error of the context", err)
		}
		if !submitted {
			for i := range jobs {
				submit(t, b, queue.Normal, fmt.Sprint("l", i), "second")
			}
		}
		for i := range jobs {
			if submitted && i == 0 {
				continue // it was delivered
			}
			check(t, next(t, b, map[bool]string{true: "first", false: "second"}[submitted]).Ack(t.Context()))
		}
	}
}

func nextTimeout(t *testing.T, connect func() queue.Admin) {
	a := connect()
	start := time.Now()
	noDelivery(t, a, 100*time.Millisecond)
	if elapsed := time.Since(start); elapsed > 15*time.Second {
		t.Errorf("Next returned after %v", elapsed)
	}
}

func status(t *testing.T, connect func() queue.Admin) {
	ctx := t.Context()
	a, b := connect(), connect()
	for i := range 30 {
		submit(t, a, queue.Normal, fmt.Sprint(i), "some")
		if s, err := b.Status(ctx); err != nil || s.Depth() != uint64(i+1) {
			t.Fatalf("%d jobs in the status, %d submitted: %v", s.Depth(), i+1, err)
		}
	}
	for range 3 {
		check(t, next(t, a, "some").Ack(ctx))
	}
	check(t, b.PutResult(ctx, "x", []byte("r")))
	s, err := b.Status(ctx)
	check(t, err)
	if s.Depth() != 27 || s.Taken[queue.Normal] > 20 || s.Results != 1 || s.Dead != 0 || s.Bytes == 0 {
		t.Errorf("%+v", s)
	}
}
