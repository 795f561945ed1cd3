package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/message"
)

// A partRecord describes a part of a message in JSON.
type partRecord struct {
	Event       string `json:"event"`
	URL         string `json:"url"`
	Time        string `json:"time"`
	Number      int    `json:"number"`
	ContentType string `json:"content_type"`
	Size        int64  `json:"size"` // decoded, in bytes
	Name        string `json:"name,omitempty"`
	ContentID   string `json:"content_id,omitempty"`
	Attachment  bool   `json:"attachment,omitempty"`
}

// printParts prints the parts of a message.
func (r *reporter) printParts(j *job.Job, resp *fetch.Response) error {
	if err := checkMessage(&resp.Meta); err != nil {
		return err
	}
	defer r.con.Pause()()
	out := bufio.NewWriter(r.std.out)
	table := partTable{w: out}
	add := table.add
	if r.opts.Report.JSON {
		enc := json.NewEncoder(out)
		add = func(r partRecord) error {
			r.Event, r.URL, r.Time = "part", j.URL.Redacted(), time.Now().UTC().Format(time.RFC3339Nano)
			return enc.Encode(r)
		}
	}
	err := eachPart(resp.Body, add)
	for _, flush := range []func() error{table.flush, out.Flush} {
		if e := flush(); err == nil {
			err = failure.File(e)
		}
	}
	return err
}

// eachPart calls do for each part of a message as it arrives.
func eachPart(r io.Reader, do func(partRecord) error) error {
	for p, err := range message.Parts(r) {
		if err != nil {
			return messageError(err)
		}
		size, err := io.Copy(io.Discard, p.Body())
		if err != nil {
			return messageError(err)
		}
		if err := do(partRecord{Number: p.Number, ContentType: p.ContentType, Size: size, Name: p.Name,
			ContentID: p.ContentID, Attachment: p.Attachment}); err != nil {
			return failure.File(err)
		}
	}
	return nil
}

// A partTable prints parts as aligned lines. The first parts determine the column widths, so that
// it need not hold all parts.
type partTable struct {
	w       io.Writer
	rows    []partRecord // not printed yet
	fixed   bool         // the widths are final
	numbers int
	types   int
	sizes   int
}

const (
	tableAhead  = 64
	maxTypeText = 40 // maximum width of the column of types
)

func (t *partTable) add(r partRecord) error {
	t.rows = append(t.rows, r)
	if t.fixed || len(t.rows) == tableAhead {
		return t.flush()
	}
	return nil
}

// flush prints the rows collected so far.
func (t *partTable) flush() error {
	if !t.fixed {
		for _, r := range t.rows {
			t.numbers = max(t.numbers, len(strconv.Itoa(r.Number)))
			t.types = max(t.types, min(len(r.ContentType), maxTypeText))
			t.sizes = max(t.sizes, len(strconv.FormatInt(r.Size, 10)))
		}
		t.fixed = true
	}
	for _, r := range t.rows {
		line := fmt.Sprintf("%*d  %-*s  %*d", t.numbers, r.Number, t.types, fetch.Printable(r.ContentType), t.sizes, r.Size)
		if r.Name != "" {
			line += "  " + fetch.Printable(r.Name)
		}
		if _, err := io.WriteString(t.w, line+"\n"); err != nil {
			return err
		}
	}
	t.rows = t.rows[:0]
	return nil
}
