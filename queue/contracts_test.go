package queue

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestMessagesOfFirstVersion decodes messages of version 6353048 and later ones, and encodes them
// again.
func TestMessagesOfFirstVersion(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/contracts.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		kind, message, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		var got []byte
		switch kind {
		case "submission":
			s, err := decode([]byte(message))
			if err != nil {
				t.Errorf("%s: %v", message, err)
				continue
			}
			got, err = s.encode(maxSubmission)
			if err != nil {
				t.Errorf("%s: %v", message, err)
			}
		case "crawl":
			got = rewrite(t, message, new(Crawl))
		case "secrets":
			got = rewrite(t, message, new(secrets))
		case "letter":
			got = rewrite(t, message, new(Letter))
		case "mark":
			got = rewrite(t, message, new(mark))
		case "record":
			got = rewrite(t, message, new(record))
		default:
			t.Errorf("unknown kind %q", kind)
		}
		if string(got) != message {
			t.Errorf("%s is\n%s, want\n%s", kind, got, message)
		}
	}
}

// rewrite decodes a message into v, without unknown fields, and encodes v again.
func rewrite(t *testing.T, message string, v any) []byte {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader([]byte(message)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		t.Errorf("%s: %v", message, err)
	}
	got, err := json.Marshal(v)
	if err != nil {
		t.Error(err)
	}
	return got
}
