package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/message"
)

type partRecord struct {
	eventHead
	Number      int    `json:"number"`
	ContentType string `json:"content_type"`
	Size        int64  `json:"size"` // decoded, in bytes
	Name        string `json:"name,omitempty"`
	ContentID   string `json:"content_id,omitempty"`
	Attachment  bool   `json:"attachment,omitempty"`
}

func (r *reporter) printParts(j *job.Job, resp *fetch.Response) error {
	if err := checkMessage(&resp.Meta); err != nil {
		return err
	}
	defer r.con.Pause()()
	out := bufio.NewWriter(r.std.out)
	var rows []partRecord
	err := eachPart(resp.Body, func(p partRecord) error {
		if r.opts.Report.JSON {
			p.eventHead = newEventHead("part", j.URL.Redacted())
			return json.NewEncoder(out).Encode(p)
		}
		rows = append(rows, p)
		return nil
	})
	writePartTable(out, rows)
	return cmp.Or(err, failure.File(out.Flush()))
}

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

const maxTypeText = 40

func writePartTable(w io.Writer, rows []partRecord) {
	numbers, types, sizes := 0, 0, 0
	for _, r := range rows {
		numbers = max(numbers, len(strconv.Itoa(r.Number)))
		types = max(types, min(len(r.ContentType), maxTypeText))
		sizes = max(sizes, len(strconv.FormatInt(r.Size, 10)))
	}
	for _, r := range rows {
		fmt.Fprintf(w, "%*d  %-*s  %*d", numbers, r.Number, types, fetch.Printable(r.ContentType), sizes,
			r.Size)
		if r.Name != "" {
			io.WriteString(w, "  "+fetch.Printable(r.Name))
		}
		io.WriteString(w, "\n")
	}
}
