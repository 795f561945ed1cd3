package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema" // the program links it, so that it does not slow its start
)

// schemaVariable is the environment variable with the file of the JSON Schema. In scripts, all
// output of --json is validated against it.
const schemaVariable = "URLGET_TEST_SCHEMA"

// statusBadEvent is the exit status in scripts if an event does not match the schema.
const statusBadEvent = 99

// runChecked runs the command and, if it prints events, validates them against the schema.
func runChecked(run func(stdio) int) int {
	std := stdio{os.Stdin, os.Stdout, os.Stderr}
	args := os.Args[1:]
	file := os.Getenv(schemaVariable)
	if file == "" || !slices.Contains(args, "--json") || slices.Contains(args, "schemes") {
		return run(std)
	}
	schema, err := readSchema(file)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return statusBadEvent
	}
	r, w, err := os.Pipe()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return statusBadEvent
	}
	wrong := make(chan error, 1)
	go func() { wrong <- checkEvents(io.TeeReader(r, os.Stdout), schema) }()
	std.out = w
	status := run(std)
	w.Close()
	if err := <-wrong; err != nil {
		fmt.Fprintln(os.Stderr, err)
		return statusBadEvent
	}
	return status
}

// readSchema reads the schema in a Markdown document.
func readSchema(name string) (*jsonschema.Resolved, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	_, rest, ok := bytes.Cut(text, []byte("\n```json\n"))
	schema, _, ok2 := bytes.Cut(rest, []byte("\n```\n"))
	if !ok || !ok2 {
		return nil, errors.New(name + " has no schema")
	}
	parsed := &jsonschema.Schema{}
	if err := json.Unmarshal(schema, parsed); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return parsed.Resolve(nil)
}

// finals lists the final events. Every transfer ends with exactly one of them.
var finals = []string{"saved", "unchanged", "skipped", "listed", "closed", "failed"}

// checkEvents reads all events and returns the first error in them.
func checkEvents(r io.Reader, schema *jsonschema.Resolved) error {
	var wrong error
	open := make(map[string]int) // transfers by URL
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var v any
		err := json.Unmarshal(lines.Bytes(), &v)
		if err == nil {
			err = schema.Validate(v)
		}
		var ev struct{ Event, URL string }
		json.Unmarshal(lines.Bytes(), &ev)
		switch {
		case ev.Event == "start":
			open[ev.URL]++
		case slices.Contains(finals, ev.Event) && open[ev.URL] > 0:
			open[ev.URL]--
		}
		if err != nil && wrong == nil {
			wrong = fmt.Errorf("an event that docs/json.md does not allow: %w: %s", err, lines.Text())
		}
	}
	for url, n := range open {
		if n > 0 && wrong == nil {
			wrong = fmt.Errorf("%d transfers of %s have no end", n, url)
		}
	}
	return errors.Join(wrong, lines.Err())
}

func TestInvalidEventsAreFound(t *testing.T) {
	t.Parallel()
	schema, err := readSchema("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	const start = `{"event":"start","time":"2026-11-28T01:00:00Z","url":"http://h/"}` + "\n"
	const saved = `{"event":"saved","time":"2026-11-28T01:00:00Z","url":"http://h/","path":"x","bytes":1}` + "\n"
	for text, want := range map[string]string{
		"":                    "",
		start + saved:         "",
		start + saved + start: "1 transfers of http://h/ have no end",
		start:                 "1 transfers of http://h/ have no end",
		"{":                   "unexpected end of JSON input",
		`{"event":"unheard of","time":"2026-11-28T01:00:00Z"}`: "enum",
		`{"event":"start","time":"2026-11-28T01:00:00Z"}`:      "required",
		strings.Replace(saved, `"bytes":1`, `"bytes":-1`, 1):   "minimum",
		strings.Replace(saved, `"bytes":1`, `"bytes":"1"`, 1):  "type",
		strings.Replace(saved, `"path":"x"`, `"path":""`, 1):   "minLength",
		strings.Replace(saved, `"bytes":1`, `"size":1`, 1):     "required",
	} {
		err := checkEvents(strings.NewReader(text), schema)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
