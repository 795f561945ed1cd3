package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/internal/render"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
)

type receipt struct {
	Line string `json:"line,omitempty"` // list and line number; "" for an argument
	URL  string `json:"url"`            // without the password
	Key  string `json:"key"`            // see [queue.Key]
	ID   string `json:"id,omitempty"`   // of the submission; "" for a duplicate
}

type auditFlags struct {
	receipt, list string
	resubmit      bool
	priority      string
	contents      storeFlags
}

func (a *app) auditCommand() *cobra.Command {
	o := &auditFlags{}
	cmd := a.engineCommand("audit", "Print the submitted jobs that the queue has lost", noArguments,
		func(ctx context.Context, e *jetstream.Engine, _ []string) error { return a.audit(ctx, e, o) })
	cmd.Use = "audit [flags]"
	cmd.Example = `  urlget queue audit -i urls.txt --nats nats://queue.example
  urlget queue audit --receipt FILE --resubmit`
	cmd.Long = `Compare what was submitted with the jobs and results of the queue, and print the
jobs that have neither: they are lost. The exit status is 1 if there are any.
With --receipt, also print the jobs that have more results than receipts. With
--artefacts, also print the jobs whose content is not in the store. With
--resubmit, first read all copies of the queue, because they may differ after
all servers have failed, and make them equal to the fullest one. If that is not
possible without a loss, nothing is submitted.`
	f := cmd.Flags()
	f.StringVar(&o.receipt, "receipt", "",
		"compare with the receipts in `FILE`, which submit --receipt wrote")
	f.StringVarP(&o.list, "input-file", "i", "", "compare with the URLs in `FILE`, which submit -i has read")
	f.BoolVar(&o.resubmit, "resubmit", false, "submit the lost jobs again, and nothing else")
	f.StringVar(&o.priority, "priority", string(queue.Normal),
		"resubmit with the priority `WORD`: high, normal or low")
	o.contents.define(f)
	o.contents.location, f.Lookup("artefacts").DefValue = "", ""
	f.Lookup("artefacts").Usage = "also check the contents in `DIR`, in s3://BUCKET/PREFIX, " +
		"or in the object store of NATS (nats:)"
	return cmd
}

type audited struct {
	receipt
	Lost    string `json:"lost,omitempty"`    // what the queue has lost: "job" or "content"
	Results int    `json:"results,omitempty"` // number of results, if there are more than receipts
	job     *job.Job
}

// audit compares what was submitted with the queue. A job is finished if one of its submissions in
// the file has a result. If all of them are duplicates, or if there are no receipts, any result of
// its key counts.
func (a *app) audit(ctx context.Context, e *jetstream.Engine, o *auditFlags) error {
	jobs, err := a.auditedJobs(o)
	if err != nil {
		return err
	}
	before := uint64(0)
	if o.resubmit {
		if before, err = a.repair(ctx, e); err != nil {
			return err
		}
	}
	c, done, err := compare(ctx, e, &o.contents)
	if err != nil {
		return err
	}
	defer done()
	if n := uint64(len(c.finished.ids)); n < before {
		return fetch.ErrServer.Wrap("", fmt.Errorf("nothing was submitted: "+
			"the fullest copy had %d results before the repair, and a reader finds %d after it", before, n))
	}
	unfinished, lost, repeated := 0, 0, 0
	for _, j := range jobs.list {
		if c.check(ctx, &j, jobs.ids[j.Key]) {
			unfinished++
		}
		switch {
		case j.Lost != "":
			lost++
		case j.Results > 0:
			repeated++
		default:
			continue
		}
		if j.Lost != "" && o.resubmit {
			if err := j.resubmit(ctx, e, o); err != nil {
				return err
			}
		}
		if err := render.WriteJSON(a.out, j); err != nil {
			return fileError(err)
		}
	}
	finished := len(jobs.list) - unfinished - lost
	fmt.Fprintf(a.err, "%d jobs: %d finished, %d unfinished, %d lost",
		len(jobs.list), finished, unfinished, lost)
	if repeated > 0 {
		fmt.Fprintf(a.err, ", %d with more results than receipts", repeated)
	}
	switch {
	case lost > 0 && o.resubmit:
		fmt.Fprintln(a.err, " and submitted again")
		return nil
	}
	fmt.Fprintln(a.err)
	if lost > 0 {
		return &printedError{1}
	}
	return nil
}

type comparison struct {
	queued, finished jobSet
	store            queue.Store // nil if contents are not checked
}

func compare(
	ctx context.Context, e *jetstream.Engine, contents *storeFlags,
) (c *comparison, done func(), err error) {
	c = &comparison{}
	// Jobs are read before the results, because a job that ends in between has a result.
	if c.queued, err = queuedJobs(ctx, e); err != nil {
		return nil, nil, err
	}
	if c.finished, err = finishedJobs(ctx, e); err != nil {
		return nil, nil, err
	}
	if contents.location == "" {
		return c, func() {}, nil
	}
	c.store, done, err = contents.openExisting(ctx, e)
	return c, done, err
}

// check sets Lost or Results of a job if something is wrong with it, and reports whether it is
// unfinished. The IDs are those of its receipts. Without them, the number of its submissions is not known.
func (c *comparison) check(ctx context.Context, j *audited, ids []string) (unfinished bool) {
	sum, ok := c.finished.find(j.Key, ids)
	switch {
	case ok && c.store != nil && sum != "" && !hasContent(ctx, c.store, sum):
		j.Lost = "content"
	case ok:
		if n := c.finished.count[j.Key]; len(ids) > 0 && n > len(ids) {
			j.Results = n
		}
	case c.queued.has(j.Key, ids):
		return true
	default:
		j.Lost = "job"
	}
	return false
}

// repair makes the replicas of the queue equal, and submits the jobs again that the server would never
// deliver. It returns the number of results that the fullest copy had. It needs the rights of an
// administrator. Without them, a queue with several replicas is not audited: what one reader misses, another
// copy may have.
func (a *app) repair(ctx context.Context, e *jetstream.Engine) (results uint64, err error) {
	status, err := e.Status(ctx)
	if err != nil {
		return 0, err
	}
	if status.Replicas > 1 {
		fmt.Fprintln(a.err, "comparing the copies of the queue")
		r, err := e.Rebuild(ctx)
		if len(r.Before) > 0 {
			fmt.Fprintln(a.err, r)
		}
		if err != nil {
			return 0, err
		}
		results = r.Results()
	}
	n, err := e.Restore(ctx)
	if n > 0 {
		fmt.Fprintf(a.err, "%d jobs that the server would never deliver were submitted again\n", n)
	}
	if fetch.CodeOf(err) == fetch.ErrRefused {
		fmt.Fprintf(a.err, "urlget: jobs that the server would never deliver remain: %v\n", err)
		return results, nil
	}
	return results, err
}

func (j *audited) resubmit(ctx context.Context, e queue.Engine, o *auditFlags) (err error) {
	j.ID, err = queue.SubmitAgain(ctx, e, queue.Priority(o.priority), j.job)
	if err != nil || o.receipt == "" {
		return err
	}
	f, err := openReceipts(o.receipt)
	if err == nil {
		err = errors.Join(render.WriteJSON(f, j.receipt), f.Sync(), f.Close())
	}
	return fileError(err)
}

// submittedJobs has each key once, with the IDs of its submissions as far as they are known.
type submittedJobs struct {
	list []audited
	ids  map[string][]string
}

func (a *app) auditedJobs(o *auditFlags) (*submittedJobs, error) {
	if err := checkPriority(o.priority); err != nil {
		return nil, err
	}
	if o.receipt == "" && o.list == "" {
		return nil, usage("audit requires --receipt FILE or -i FILE: what was submitted")
	}
	jobs := &submittedJobs{ids: map[string][]string{}}
	add := func(r receipt, j *job.Job) {
		if _, known := jobs.ids[r.Key]; !known {
			jobs.list = append(jobs.list, audited{receipt: r, job: j})
			jobs.ids[r.Key] = nil
		}
		if r.ID != "" {
			jobs.ids[r.Key] = append(jobs.ids[r.Key], r.ID)
		}
	}
	if o.list != "" { // it has whole jobs
		err := a.eachLine(o.list, func(text string, line int) error {
			j, err := parseJob(text, true)
			if err != nil { // submit has refused it
				fmt.Fprintf(a.err, "urlget: %s:%d: %s\n", o.list, line, fetch.Printable(err.Error()))
				return nil
			}
			place := fmt.Sprintf("%s:%d", o.list, line)
			add(receipt{Line: place, URL: j.URL.Redacted(), Key: queue.Key(j)}, j)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if o.receipt == "" {
		return jobs, nil
	}
	return jobs, a.eachLine(o.receipt, func(text string, _ int) error {
		var r receipt
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			return err
		}
		if r.Key == "" {
			return errors.New("the receipt has no key")
		}
		j, err := parseJob(r.URL, false)
		if _, listed := jobs.ids[r.Key]; !listed && o.resubmit && (err != nil || queue.Key(j) != r.Key) {
			return errors.New("the job is more than its URL: " +
				"to submit it again, add -i with the list that has it")
		}
		add(r, j)
		return nil
	})
}

func (a *app) eachLine(name string, f func(text string, line int) error) error {
	r, err := a.openList(name)
	if err != nil {
		return err
	}
	defer r.Close()
	for line, err := range job.Lines(r) {
		if err == nil {
			err = f(line.Text, line.Number)
		}
		if err != nil {
			return fileError(fmt.Errorf("%s:%d: %w", name, line.Number, err))
		}
	}
	return nil
}

// A jobSet has jobs by the ID of a submission and by key, with the digests of their contents.
type jobSet struct {
	ids, keys map[string]string
	count     map[string]int // by key
}

func newJobSet() jobSet {
	return jobSet{map[string]string{}, map[string]string{}, map[string]int{}}
}

func (s jobSet) has(key string, ids []string) bool {
	_, ok := s.find(key, ids)
	return ok
}

func (s jobSet) find(key string, ids []string) (sum string, ok bool) {
	for _, id := range ids {
		if sum, ok = s.ids[id]; ok {
			return sum, true
		}
	}
	if len(ids) == 0 {
		sum, ok = s.keys[key]
	}
	return sum, ok
}

func queuedJobs(ctx context.Context, e queue.Admin) (jobSet, error) {
	s := newJobSet()
	for _, p := range queue.Priorities {
		for m, err := range e.Jobs(ctx, p) {
			if err != nil {
				return s, err
			}
			if id, j, err := m.Job(); err == nil { // others become dead letters
				s.ids[id], s.keys[queue.Key(j)] = "", ""
			}
		}
	}
	return s, nil
}

func finishedJobs(ctx context.Context, e queue.Admin) (jobSet, error) {
	s := newJobSet()
	err := eachEvent(ctx, e, func(id string, ev *queue.Event) {
		s.ids[id], s.keys[ev.Key] = ev.SHA256, ev.SHA256
		s.count[ev.Key]++
	})
	return s, err
}

// eachEvent calls f with the results that workers have written.
func eachEvent(ctx context.Context, e queue.Admin, f func(id string, ev *queue.Event)) error {
	for r, err := range e.Results(ctx, 0, false) {
		if err != nil {
			return err
		}
		var ev queue.Event
		if json.Unmarshal(r.Data, &ev) == nil {
			f(r.ID, &ev)
		}
	}
	return nil
}

func hasContent(ctx context.Context, s queue.Store, sum string) bool {
	r, err := s.Get(ctx, sum)
	if err != nil {
		return false
	}
	r.Close()
	return true
}
