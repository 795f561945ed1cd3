package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/cmd/internal/render"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
)

// A receipt is a line of the file of submit --receipt.
type receipt struct {
	Line string `json:"line,omitempty"` // list and line number; "" for an argument
	URL  string `json:"url"`            // without the password
	Key  string `json:"key"`            // see [queue.Key]
	ID   string `json:"id,omitempty"`   // of the submission; "" for a duplicate
}

func (a *app) auditCommand() *cobra.Command {
	var file string
	cmd := a.engineCommand("audit --receipt FILE", "Print the jobs in a receipt of submit that have no result", noArguments,
		func(ctx context.Context, e *jetstream.Engine, _ []string) error {
			if file == "" {
				return usage("audit requires --receipt FILE: the file that submit --receipt wrote")
			}
			return a.audit(ctx, e, file)
		})
	cmd.Flags().StringVar(&file, "receipt", "", "compare the results with the receipts in `FILE`")
	return cmd
}

// audit prints the receipts of jobs without a result, once for each key. A job has a result if one
// of its submissions in the file has one. If all of them are duplicates, any result of its key
// counts.
func (a *app) audit(ctx context.Context, e *jetstream.Engine, file string) error {
	receipts, err := a.readReceipts(file)
	if err != nil {
		return err
	}
	s, err := e.Status(ctx) // before the results: a job that ends in between has a result
	if err != nil {
		return err
	}
	ids, keys := map[string]bool{}, map[string]bool{}
	for r, err := range e.Results(ctx, 0, false) {
		if err != nil {
			return err
		}
		var ev queue.Event
		if json.Unmarshal(r.Data, &ev) == nil {
			ids[r.ID], keys[ev.Key] = true, true
		}
	}
	submitted, done := map[string]bool{}, map[string]bool{}
	for _, r := range receipts {
		submitted[r.Key] = submitted[r.Key] || r.ID != ""
		done[r.Key] = done[r.Key] || ids[r.ID]
	}
	jobs, missing := len(done), 0
	for _, r := range receipts {
		if done[r.Key] || !submitted[r.Key] && keys[r.Key] {
			continue
		}
		done[r.Key] = true // print it once
		missing++
		if err := render.WriteJSON(a.out, r); err != nil {
			return fileError(err)
		}
	}
	fmt.Fprintf(a.err, "%d jobs, %d without a result; the queue reports %d unfinished jobs\n", jobs, missing, s.Depth())
	if missing > 0 {
		return &printedError{1}
	}
	return nil
}

func (a *app) readReceipts(name string) ([]receipt, error) {
	f, err := a.openList(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []receipt
	for line, err := range job.Lines(f) {
		var r receipt
		if err == nil {
			err = json.Unmarshal([]byte(line.Text), &r)
		}
		if err == nil && r.Key == "" {
			err = errors.New("the receipt has no key")
		}
		if err != nil {
			return nil, fileError(fmt.Errorf("%s:%d: %w", name, line.Number, err))
		}
		all = append(all, r)
	}
	return all, nil
}
