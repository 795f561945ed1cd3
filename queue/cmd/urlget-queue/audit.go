package main

import (
	"context"
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
	receipt, list    string
	resubmit, verify bool
	priority         string
	contents         storeFlags
}

func (a *app) auditCommand() *cobra.Command {
	o := &auditFlags{}
	cmd := &cobra.Command{
		Use: "audit [flags]", Short: "Print the submitted jobs that the queue has lost", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, done, err := a.openAudited(cmd.Context(), o)
			if err != nil {
				return err
			}
			defer done()
			return a.audit(cmd.Context(), e, o)
		},
	}
	a.queueFlags.define(cmd.Flags())
	cmd.Example = `  urlget queue audit -i urls.txt --nats nats://queue.example
  urlget queue audit --receipt FILE --resubmit`
	cmd.Long = `Compare what was submitted with the jobs and results of the queue, and print the
jobs that have neither: they are lost. The exit status is 1 if there are any.
With --receipt, also print the jobs that have more results than receipts. With
--artefacts, also print the jobs whose content is not in the store or has
another size; with --verify, read the contents and print the damaged ones.
Results that "queue compact" has moved are read from that store. Those that
are missing or damaged there are lost.

If the queue is kept on several servers, their copies may differ after all of
them have failed. The audit reads each copy that it can reach, says so if they
differ, and shows the fullest one. With --resubmit, it first makes the copies
equal to the fullest one. If that is not possible without a loss, nothing is
submitted. While a server does not respond, no copy is changed, and results
that only one copy has are added to the fullest one.`
	f := cmd.Flags()
	f.StringVar(&o.receipt, "receipt", "",
		"compare with the receipts in `FILE`, which submit --receipt wrote")
	f.StringVarP(&o.list, "input-file", "i", "", "compare with the URLs in `FILE`, which submit -i has read")
	f.BoolVar(&o.resubmit, "resubmit", false, "submit the lost jobs again, and nothing else")
	f.StringVar(&o.priority, "priority", string(queue.Normal),
		"resubmit with the priority `WORD`: high, normal or low")
	f.BoolVar(&o.verify, "verify", false, "with --artefacts, read the contents and check their digests")
	o.contents.define(f)
	o.contents.location, f.Lookup("artefacts").DefValue = "", ""
	f.Lookup("artefacts").Usage = "also check the contents in `DIR`, in s3://BUCKET/PREFIX, " +
		"or in the object store of NATS (nats:)"
	return cmd
}

type audited struct {
	receipt
	Lost    string `json:"lost,omitempty"`    // what the queue has lost: "job" or "content"
	Damage  string `json:"damage,omitempty"`  // of a content: "missing", "size", "digest" or "unreadable"
	Results int    `json:"results,omitempty"` // number of results, if there are more than receipts
	job     *job.Job
}

// openAudited opens the queue. It returns nil if there is none, and creates it only if lost jobs are
// submitted again.
func (a *app) openAudited(ctx context.Context, o *auditFlags) (*jetstream.Engine, func(), error) {
	a.queueFlags.mustExist = true
	e, done, err := a.queueFlags.open(ctx, nil)
	var none *jetstream.NoQueueError
	switch {
	case err == nil:
		return e, done, nil
	case o.resubmit && (errors.As(err, &none) || errors.Is(err, jetstream.ErrIncomplete)):
		a.queueFlags.mustExist = false
		return a.queueFlags.open(ctx, nil)
	case errors.As(err, &none):
		fmt.Fprintf(a.err, "urlget: %v; --resubmit creates it\n", err)
		return nil, func() {}, nil
	}
	return nil, nil, err
}

// audit compares what was submitted with the queue. A job is finished if one of its submissions in
// the file has a result. If all of them are duplicates, or if there are no receipts, any result of
// its key counts.
func (a *app) audit(ctx context.Context, e *jetstream.Engine, o *auditFlags) error {
	if o.verify && o.contents.location == "" {
		return usage("--verify requires --artefacts")
	}
	jobs, err := a.auditedJobs(o)
	if err != nil {
		return err
	}
	before, differ := uint64(0), false
	switch {
	case e == nil:
	case o.resubmit:
		before, differ, err = a.repair(ctx, e)
	default:
		differ, err = a.compareCopies(ctx, e)
	}
	if err != nil {
		return err
	}
	c, done, err := compare(ctx, e, &o.contents, o.verify, differ, func(lost *queue.SegmentError) {
		fmt.Fprintf(a.err, "urlget: %s\n", fetch.Printable(lost.Error()))
	})
	if err != nil {
		return err
	}
	defer done()
	if n := c.results; n < before {
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

// compareCopies says which servers do not respond, and whether the copies of the results differ.
func (a *app) compareCopies(ctx context.Context, e *jetstream.Engine) (differ bool, err error) {
	status, err := e.Status(ctx)
	if err != nil || status.Replicas <= 1 {
		return false, err
	}
	copies, fullest, err := e.Copies(ctx)
	if fetch.CodeOf(err) == fetch.ErrRefused {
		fmt.Fprintf(a.err, "urlget: the copies of the queue were not compared: %v\n", err)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if fullest != "" {
		fmt.Fprintf(a.err, "the copies of the results differ: %s; these figures are those of %s\n",
			jetstream.DescribeCopies(copies), fullest)
		return true, nil
	}
	for _, c := range copies {
		if c.Silent {
			fmt.Fprintf(a.err, "%s does not respond; the copies of the other servers are equal\n", c.Server)
		}
	}
	return false, nil
}

// repair makes the replicas of the queue equal, and submits the jobs again that the server would never
// deliver. It returns the number of results that the fullest copy had, and reports whether the copies
// still differ. It needs the rights of an
// administrator. Without them, a queue with several replicas is not audited: what one reader misses, another
// copy may have.
func (a *app) repair(ctx context.Context, e *jetstream.Engine) (results uint64, differ bool, err error) {
	status, err := e.Status(ctx)
	if err != nil {
		return 0, false, err
	}
	if status.Replicas > 1 {
		fmt.Fprintln(a.err, "comparing the copies of the queue")
		r, err := e.Rebuild(ctx)
		if len(r.Before) > 0 {
			fmt.Fprintln(a.err, r)
		}
		if err != nil {
			return 0, false, err
		}
		results, differ = r.Results(), len(r.Silent) > 0
	}
	n, err := e.Restore(ctx)
	if n > 0 {
		fmt.Fprintf(a.err, "%d jobs that the server would never deliver were submitted again\n", n)
	}
	if fetch.CodeOf(err) == fetch.ErrRefused {
		fmt.Fprintf(a.err, "urlget: jobs that the server would never deliver remain: %v\n", err)
		return results, differ, nil
	}
	return results, differ, err
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
