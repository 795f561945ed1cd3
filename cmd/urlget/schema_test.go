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

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaVariable is the environment variable with the file of the JSON Schema. In scripts, all
// output of --json is validated against it.
const schemaVariable = "URLGET_TEST_SCHEMA"

// statusBadEvent is the exit status in scripts if an event does not match the schema.
const statusBadEvent = 99

// runChecked runs the command with args and, if it prints events, validates them against the schema.
func runChecked(args []string, run func(stdio) int) int {
	std := stdio{os.Stdin, os.Stdout, os.Stderr}
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
func readSchema(name string) (*jsonschema.Schema, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	_, rest, ok := bytes.Cut(text, []byte("\n```json\n"))
	schema, _, ok2 := bytes.Cut(rest, []byte("\n```\n"))
	if !ok || !ok2 {
		return nil, errors.New(name + " has no schema")
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("events", doc); err != nil {
		return nil, err
	}
	return c.Compile("events")
}

// finals lists the final events. Every transfer ends with exactly one of them.
var finals = []string{"saved", "unchanged", "skipped", "listed", "closed", "failed"}

// checkEvents reads all events and returns the first error in them.
func checkEvents(r io.Reader, schema *jsonschema.Schema) error {
	var wrong error
	open := make(map[string]int) // transfers by URL
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(lines.Bytes()))
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
