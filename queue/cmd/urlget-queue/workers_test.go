package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/queuetest"
)

// reports are the reports of three workers. The second one has a forged name.
var reports = []string{
	`{"name":"vm/1","started":"2026-11-28T01:00:00.5Z","running":3,"ended":12345,"rate":12.34,"parallel":4,"oldest":3723,"trouble":"the store failed: \u001b[2J"}`,
	`{"name":"a\u001b[2J\u202e","started":"2026-11-28T01:00:00+01:00","running":0,"ended":0,"rate":0,"parallel":1,"paused":true,"url":"http://secret/"}`,
	`{"name":"vm/1","started":"2026-11-28T00:30:00Z"}`,
}

// withReports returns an engine with the reports.
func withReports(t *testing.T) queue.Admin {
	t.Helper()
	e := queuetest.NewModel(queuetest.Options{}).Connect("a")
	for i, text := range reports {
		if err := e.PutWorker(t.Context(), string(rune('A'+i)), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

func TestWorkersAreListed(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := (&app{out: &out}).workers(t.Context(), withReports(t), false); err != nil {
		t.Fatal(err)
	}
	const want = `name            running   oldest     ended   per s  since
a\x1b[2J\u202e        0        -         0     0.0  2026-11-28T00:00:00Z paused
vm/1                  0        -         0     0.0  2026-11-28T00:30:00Z
vm/1                  3   1h2m3s     12345    12.3  2026-11-28T01:00:00Z the store failed: \x1b[2J
`
	if got := out.String(); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}

// TestWorkersMatchSchema compares the JSON of workers and watch with docs/json.md.
func TestWorkersMatchSchema(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## Workers of a queue\n")
	_, text, _ = strings.Cut(text, "\n```json\n")
	text, _, _ = strings.Cut(text, "\n```\n")
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("workers", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("workers")
	if err != nil {
		t.Fatal(err)
	}
	var out, watched strings.Builder
	if err := (&app{out: &out}).workers(t.Context(), withReports(t), true); err != nil {
		t.Fatal(err)
	}
	if err := (&app{out: &watched}).watch(t.Context(), withReports(t), &watchFlags{interval: time.Second, untilEmpty: true, asJSON: true}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var sample struct{ Workers []json.RawMessage }
	if err := json.Unmarshal([]byte(watched.String()), &sample); err != nil {
		t.Fatal(err)
	}
	for _, w := range sample.Workers {
		lines = append(lines, string(w))
	}
	if len(lines) != 2*len(reports) || strings.Contains(out.String(), "secret") {
		t.Errorf("%d workers:\n%s%s", len(lines), out.String(), watched.String())
	}
	for i, line := range lines {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err == nil {
			err = schema.Validate(v)
		}
		if err != nil || line != lines[i%len(reports)] {
			t.Errorf("%s: %v", line, err)
		}
	}
}
