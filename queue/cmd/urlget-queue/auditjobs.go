package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/queue"
)

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
