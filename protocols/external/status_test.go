package external

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
)

// TestStatuses compares the error classes of exit statuses with the documentation.
func TestStatuses(t *testing.T) {
	t.Parallel()
	want := map[int]fetch.Code{
		2: fetch.ErrURL, 3: fetch.ErrFile, 4: fetch.ErrNetwork, 5: fetch.ErrTLS, 6: fetch.ErrAuth, 7: fetch.ErrProtocol,
		8: fetch.ErrNotFound, 16: fetch.ErrNotRetrievable, 17: fetch.ErrPolicy, 18: fetch.ErrTruncated,
	}
	for status := -1; status < 256; status++ { // -1 means that a signal ended the program
		code, ok := want[status]
		if !ok {
			code = fetch.ErrServer
		}
		if got := codeOf(status); got != code {
			t.Errorf("status %d: %q, want %q", status, got, code)
		}
	}
	manual, err := os.ReadFile("../../docs/external-drivers.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(manual), "| status | meaning |\n")
	rows := regexp.MustCompile(`(?m)^\| (\d+) \|`).FindAllStringSubmatch(table, -1)
	for _, row := range rows {
		status, err := strconv.Atoi(row[1])
		if _, ok := want[status]; err != nil || !ok {
			t.Errorf("docs/external-drivers.md gives status %s a meaning that it does not have", row[1])
		}
	}
	if len(rows) != len(want) {
		t.Errorf("docs/external-drivers.md has %d statuses, want %d", len(rows), len(want))
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	var kept tail
	for range 3 {
		kept.Write([]byte(strings.Repeat("x", maxTail)))
	}
	kept.Write([]byte("\nno such thing\n\n"))
	if got := kept.lastLine(); got != "no such thing" || len(kept.b) > maxTail {
		t.Errorf("%q, of %d bytes that are kept", got, len(kept.b))
	}
}
