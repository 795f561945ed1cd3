package render_test

import (
	"bytes"
	"errors"
	"flag"
	"net/textproto"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/internal/render"
)

var update = flag.Bool("update", false, "write testdata/events.jsonl anew")

// TestEventsAreByteForByteTheSame compares events with stored lines, byte for byte, because readers
// may depend on the order of the fields.
func TestEventsAreByteForByteTheSame(t *testing.T) {
	t.Parallel()
	const u = "http://h/x?a&b<c>"
	at := time.Date(2026, 3, 4, 5, 6, 7, 8000, time.FixedZone("", 3600))
	object := fetch.Meta{Kind: fetch.KindObject, ContentType: "text/plain", Size: 5, Total: 9, Validator: fetch.Validator{ETag: `"e"`, ModTime: at},
		Header: textproto.MIMEHeader{"Etag": {`"e"`}}, Reply: fetch.Reply{Code: 206, Text: "Partial"}}
	made := object
	made.Header, made.Total = nil, 0
	refused := &fetch.Error{Op: "get", URL: u, Code: fetch.ErrNotFound, Hint: "try another", Reply: fetch.Reply{Code: 404, Text: "Not\x1b Found"}}
	moved := &fetch.Error{URL: "http://h/y", Code: fetch.ErrBusy, Reply: fetch.Reply{Text: "later"}}
	form := &fetch.Error{URL: u, Code: fetch.ErrNeedForm, Err: &fetch.FormError{Form: fetch.Form{Title: "Order", Fields: []fetch.Field{{Name: "Name:", Kind: fetch.FieldLine, Default: []string{"Joe"}}}}}}
	everything := job.Result{FinalURL: "http://h/y", Status: 200, Size: 5, Received: 4, SHA256: "ab", Entries: 3, Elapsed: 2 * time.Second}
	with := func(o job.Outcome) job.Result {
		r := everything
		r.Outcome = o
		return r
	}
	results := []job.Result{{Outcome: job.Saved, Size: -1}, {Outcome: job.Saved}, with(job.Saved), with(job.Unchanged), {Outcome: job.Unchanged},
		with(job.Skipped), {Outcome: job.Skipped}, with(job.NoContent), with(job.Listed), {Outcome: job.Listed},
		{Outcome: job.Failed, Err: refused}, {Outcome: job.Failed, Err: moved}, {Outcome: job.Failed, Err: form}, {Outcome: job.Failed, Err: errors.New("a\nb")}}
	deceptive := "a\u009b2J\u202e\u2028\x7f\U000e0001ä"
	var got bytes.Buffer
	w := render.NewEventWriter(&got)
	write := func(events ...render.Event) {
		t.Helper()
		for _, ev := range events {
			if err := w.Write(ev); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(
		render.Start{URL: u},
		render.Redirect{URL: u, From: "http://h/x", To: "http://h/y"},
		render.Response{URL: u, Meta: &object},
		render.Response{URL: u, Meta: &made},
		render.Response{URL: u, Meta: &fetch.Meta{Kind: fetch.KindListing, Size: -1}},
		render.Response{URL: u, Meta: &fetch.Meta{Kind: fetch.KindSession, Size: 0}},
		render.Progress{URL: u, Done: 0, Total: -1},
		render.Progress{URL: u, Done: 3, Total: 5},
		render.Progress{URL: u, Done: -1, Total: 5},
		render.Retry{URL: u, Attempt: 2, Wait: 1500 * time.Millisecond, Err: refused},
		render.Retry{URL: u, Attempt: 3, Wait: 0, Err: errors.New("lost")},
		render.Message{URL: u, Message: fetch.Message{Text: true, Data: []byte(deceptive)}},
		render.Message{URL: u, Message: fetch.Message{Text: true}},
		render.Message{URL: u, Message: fetch.Message{Data: []byte{0, 1, 2}}},
		render.Message{URL: u, Message: fetch.Message{}},
		render.Closed{URL: u, Elapsed: 1500 * time.Millisecond},
		render.Closed{URL: "", Elapsed: 0},
		render.Deleted{URL: u, Path: "d/" + deceptive},
		failed(u, refused, 8),
		failed("", errors.New("a\nb"), 1),
	)
	for _, r := range results {
		r.URL = u
		write(render.End(r.Event("d/x")), render.End(r.Event("")))
	}
	lines := regexp.MustCompile(`"time":"[0-9]{4}-[^"]*Z"`).ReplaceAll(got.Bytes(), []byte(`"time":"T"`))
	const name = "testdata/events.jsonl"
	if *update {
		if err := os.WriteFile(name, lines, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(lines) != string(want) {
		t.Errorf("%s\nwant\n%s", lines, want)
	}
}

// failed returns the event of a failure for which the program chose the exit status.
func failed(url string, err error, exit int) render.End {
	ev := (&job.Result{URL: url, Outcome: job.Failed, Err: err}).Event("")
	ev.Exit = exit
	return render.End(ev)
}
