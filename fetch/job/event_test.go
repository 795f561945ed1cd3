package job_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
)

// TestEvents compares the final events of jobs with docs/json.md.
func TestEvents(t *testing.T) {
	t.Parallel()
	const u = "http://h/x?a&b"
	tests := []struct {
		result job.Result
		path   string
		want   string
	}{
		{job.Result{Outcome: job.Unchanged, Elapsed: time.Second}, "x", `{"event":"unchanged","url":"http://h/x?a\u0026b","time":"","path":"x","seconds":1}`},
		{job.Result{Outcome: job.Skipped, Elapsed: time.Second}, "x", `{"event":"skipped","url":"http://h/x?a\u0026b","time":"","path":"x","seconds":1,"reason":"exists"}`},
		{job.Result{Outcome: job.Skipped, Elapsed: time.Second}, "", `{"event":"skipped","url":"http://h/x?a\u0026b","time":"","seconds":1,"reason":"exists"}`},
		{job.Result{Outcome: job.NoContent, Status: 204}, "x", `{"event":"skipped","url":"http://h/x?a\u0026b","time":"","status":204,"reason":"no_content"}`},
		{job.Result{Outcome: job.Listed, Entries: 3, Elapsed: time.Second}, "x", `{"event":"listed","url":"http://h/x?a\u0026b","time":"","entries":3,"seconds":1}`},
		{job.Result{Outcome: job.Saved, Size: 5, SHA256: "ab", Received: 4, Elapsed: 2 * time.Second, FinalURL: "http://h/y", Status: 200}, "x",
			`{"event":"saved","url":"http://h/x?a\u0026b","time":"","final_url":"http://h/y","status":200,"bytes":5,"path":"x","sha256":"ab","seconds":2,"rate":2}`},
		{job.Result{Outcome: job.Saved, Size: -1}, "x", `{"event":"saved","url":"http://h/x?a\u0026b","time":"","path":"x"}`},
		{job.Result{Outcome: job.Failed, Err: &fetch.Error{Code: fetch.ErrNotFound}}, "x",
			`{"event":"failed","url":"http://h/x?a\u0026b","time":"","class":"not_found","exit":8,"message":"not found"}`},
	}
	for _, tt := range tests {
		tt.result.URL = u
		got, err := json.Marshal(tt.result.Event(tt.path))
		if string(got) != tt.want || err != nil {
			t.Errorf("%s: %s, %v; want %s", tt.result.Outcome, got, err, tt.want)
		}
	}
}
