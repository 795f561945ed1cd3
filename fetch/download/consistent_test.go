package download_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/retry"
)

// Marks around the table in the document.
const (
	reliability  = "../../docs/reliability.md"
	resumeBegins = "<!-- resume -->\n"
	resumeEnds   = "<!-- end of resume -->\n"
)

// A resumeCell is a situation in which the bytes of a partial file meet a response.
type resumeCell struct {
	content, changed []byte
	received         int // bytes of content, before the response
	valid            fetch.Validator
	stated           []fetch.Digest
}

// resumeRows are the responses. Unless toAll is true, only requests of a range, or with a condition, get
// them; others get the content.
var resumeRows = []struct {
	name  string
	toAll bool
	reply func(c *resumeCell) reply
}{
	{"the range, same validator", true, func(*resumeCell) reply { return reply{} }},
	{"the range, no validator", false, func(*resumeCell) reply { return reply{bare: true} }},
	{"the range begins elsewhere", false, func(*resumeCell) reply { return reply{shift: 10} }},
	{"a range of wrong bytes, found at its end", false, func(*resumeCell) reply { return reply{ignored: true} }},
	{"the range in another content coding", false, func(*resumeCell) reply { return reply{coding: "gzip"} }},
	{"the range with another digest", false, func(c *resumeCell) reply { return reply{stated: []fetch.Digest{sha256Of(c.changed)}} }},
	{"the whole, same validator", true, func(*resumeCell) reply { return reply{noRange: true} }},
	{"the whole, no validator", true, func(*resumeCell) reply { return reply{noRange: true, bare: true} }},
	{"the whole, same validator, another size", true, func(c *resumeCell) reply { return reply{whole: c.changed[:250_000], valid: c.valid} }},
	{"status 200 with the rest only, same validator", false, func(c *resumeCell) reply { return reply{whole: c.content[c.received:], valid: c.valid} }},
	{"status 200 with the rest only, no validator", true, func(c *resumeCell) reply { return reply{whole: c.content[c.received:]} }},
	{"other content, same size and type, no validator", true, func(c *resumeCell) reply { return reply{whole: c.changed} }},
	{"a page of another media type, no validator", true, func(*resumeCell) reply { return reply{whole: []byte("<html>"), mediaType: "text/html"} }},
	{"a page of another media type, only for ranges", false, func(*resumeCell) reply { return reply{whole: []byte("<html>"), mediaType: "text/html"} }},
	{"a page of another media type, a later time", true, func(*resumeCell) reply {
		return reply{whole: []byte("<html>"), mediaType: "text/html", valid: fetch.Validator{ModTime: morning.Add(time.Hour)}}
	}},
	{"another strong entity tag", true, func(c *resumeCell) reply {
		return reply{whole: c.changed[:290_000], valid: fetch.Validator{ETag: `"2"`, ModTime: morning.Add(time.Hour)}}
	}},
	{"a later time, same media type", true, func(c *resumeCell) reply {
		return reply{whole: c.changed[:290_000], valid: fetch.Validator{ModTime: morning.Add(time.Hour)}}
	}},
	{"an earlier time, same media type", true, func(c *resumeCell) reply {
		return reply{whole: c.changed[:290_000], valid: fetch.Validator{ModTime: morning.Add(-time.Hour)}}
	}},
	{"no content", true, func(*resumeCell) reply { return reply{none: true} }},
	{"a protocol violation, for ranges", false, fails(fetch.ErrProtocol)},
	{"a protocol violation", true, fails(fetch.ErrProtocol)},
	{"\"not modified\"", false, fails(fetch.ErrNotModified)},
	{"\"range not satisfiable\"", false, fails(fetch.ErrRange)},
	{"a range refused (400, 403, 412)", false, fails(fetch.ErrRefused)},
	{"a range failed (500, 501)", false, fails(fetch.ErrServer)},
	{"refused", true, fails(fetch.ErrRefused)},
	{"not found", true, fails(fetch.ErrNotFound)},
	{"busy, or the network fails", true, func(*resumeCell) reply { return reply{err: &fetch.Error{Code: fetch.ErrNetwork, Retry: true}} }},
}

func fails(code fetch.Code) func(*resumeCell) reply {
	return func(*resumeCell) reply { return reply{err: &fetch.Error{Code: code}} }
}

// exitStatus has the exit status of the command for the classes in the table.
var exitStatus = map[fetch.Code]string{fetch.ErrTruncated: "18", fetch.ErrProtocol: "7", fetch.ErrRefused: "8", fetch.ErrServer: "8", fetch.ErrNotFound: "8", fetch.ErrNetwork: "4"}

// TestResumeTable runs a transfer for each cell of the table in docs/reliability.md. With URLGET_WRITE
// set, it writes the table.
func TestResumeTable(t *testing.T) {
	t.Parallel()
	columns := []struct {
		name  string
		valid fetch.Validator
	}{
		{"strong entity tag", fetch.Validator{ETag: `"1"`, ModTime: morning}},
		{"time", fetch.Validator{ModTime: morning}},
		{"weak entity tag", fetch.Validator{ETag: `W/"1"`}},
		{"none", fetch.Validator{}},
	}
	one, two := pattern(4<<20, 1), pattern(4<<20, 2)
	cells := make([][]string, len(resumeRows))
	t.Run("cells", func(t *testing.T) {
		for i, row := range resumeRows {
			cells[i] = make([]string, len(columns)+2)
			for j := range cells[i] {
				t.Run(fmt.Sprintf("%s/%d", row.name, j), func(t *testing.T) {
					t.Parallel()
					stated := func(content []byte) []fetch.Digest {
						if strings.Contains(row.name, "digest") {
							return []fetch.Digest{sha256Of(content)}
						}
						return nil
					}
					if j < len(columns) {
						c := &resumeCell{one[:300_000:300_000], two[:300_000:300_000], 200_000, columns[j].valid, stated(one[:300_000:300_000])}
						cells[i][j] = c.run(t, row.reply(c), row.toAll, false)
						if later := c.run(t, row.reply(c), row.toAll, true); later != cells[i][j] {
							cells[i][j] += " / " + later
						}
						return
					}
					c := &resumeCell{one, two, 1 << 20, fetch.Validator{ETag: `"1"`, ModTime: morning}, stated(one)}
					cells[i][j] = c.runSegments(t, row.reply(c), row.toAll, j > len(columns))
				})
			}
		}
	})
	var b strings.Builder
	b.WriteString("| response |")
	for _, c := range columns {
		b.WriteString(" " + c.name + " |")
	}
	b.WriteString(" segments | segments, first response lost |\n" + strings.Repeat("|---", len(columns)+3) + "|\n")
	for i, row := range resumeRows {
		fmt.Fprintf(&b, "| %s | %s |\n", row.name, strings.Join(cells[i], " | "))
	}
	text, err := os.ReadFile(reliability)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), resumeBegins)
	shown, after, ok := strings.Cut(rest, resumeEnds)
	switch {
	case !ok:
		t.Fatalf("%s has no lines %q and %q", reliability, resumeBegins, resumeEnds)
	case t.Failed() || shown == b.String():
	case os.Getenv("URLGET_WRITE") == "":
		t.Errorf("docs/reliability.md has another table; to update it, run URLGET_WRITE=1 go test ./fetch/download\n%s", b.String())
	default:
		if err := os.WriteFile(reliability, []byte(before+resumeBegins+b.String()+resumeEnds+after), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// server returns a liar that gives r to requests after the first `given`, and the content to others.
func (c *resumeCell) server(r reply, toAll bool, given ...reply) *liar {
	l := newLiar(c.content)
	l.valid, l.stated = c.valid, c.stated
	if r.mediaType == "" {
		r.mediaType = "application/x-test"
	}
	l.reply = func(req *fetch.Request) reply {
		if n := len(l.received); n <= len(given) {
			return given[n-1]
		}
		if toAll || !req.Range.IsZero() || !req.IfChanged.IsZero() {
			return r
		}
		return reply{mediaType: "application/x-test"}
	}
	return l
}

// run returns the outcome of a transfer that breaks and is resumed, by another run if later is set.
func (c *resumeCell) run(t *testing.T, r reply, toAll, later bool) (outcome string) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		given := []reply{{cut: int64(c.received), mediaType: "application/x-test"}}
		if later {
			given = append(given, reply{err: stop})
		}
		l := c.server(r, toAll, given...)
		d := l.downloader(t, dir)
		restarts := 0
		opts := &download.Options{Exists: download.Resume, Retry: retry.Policy{Tries: 3}, Restart: func(string) { restarts++ }}
		if later {
			if _, err := d.Get(t.Context(), liarURL, "", opts); !errors.Is(err, stop.Code) {
				t.Fatal(err)
			}
		}
		before := len(l.received)
		_, err := d.Get(t.Context(), liarURL, "", opts)
		outcome = c.outcome(t, dir, r, err, restarts, func() bool {
			for _, req := range l.received[max(before, 1):] {
				if req.Range.Offset == 0 && req.Range.Length == 0 {
					return true
				}
			}
			return r.noRange
		})
	})
	return outcome
}

// outcome describes the files after a transfer. Compared reports whether the whole resource was requested.
func (c *resumeCell) outcome(t *testing.T, dir string, r reply, err error, restarts int, compared func() bool) string {
	have := contents(t, dir)
	file, done := have["file.bin"]
	switch {
	case err != nil:
		part := have["file.bin.part"]
		if done || have["file.bin.part.json"] == "" || len(part) < c.received || part[:c.received] != string(c.content[:c.received]) {
			t.Errorf("files %q, or bytes lost, after %v", names(have), err)
		}
		if exitStatus[fetch.CodeOf(err)] == "" {
			t.Errorf("no exit status for %v", err)
		}
		return exitStatus[fetch.CodeOf(err)]
	case len(have) > 1:
		t.Errorf("files %q", names(have))
	case restarts > 0 && (file == string(r.whole) || file == string(c.content)):
		return "starts over"
	case file != string(c.content):
		t.Errorf("%d bytes that are neither the resource nor a new version", len(file))
	case compared():
		return "compared"
	}
	return "appended"
}

// runSegments returns the outcome of a transfer in segments. If lost is set, the first response breaks
// after the first of them, and a run that resumes the others follows.
func (c *resumeCell) runSegments(t *testing.T, r reply, toAll, lost bool) (outcome string) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l := c.server(r, toAll, reply{mediaType: "application/x-test"})
		l.wait = synctest.Wait
		d := l.downloader(t, dir)
		if lost {
			l = c.server(r, toAll)
			digests, err := json.Marshal(c.stated)
			if err != nil {
				t.Fatal(err)
			}
			record := fmt.Sprintf(`{"version":1,"url":%q,"etag":"\"1\"","mtime":"1994-12-01T08:00:00Z","type":"application/x-test","size":%d,"digests":%s,"missing":[[1048576,2097152],[2097152,4194304]]}`,
				liarURL, len(c.content), digests)
			part := append(bytes.Clone(c.content[:c.received]), make([]byte, len(c.content)-c.received)...)
			d = l.downloader(t, dir)
			if err := errors.Join(d.Root.WriteFile("file.bin.part", part, 0o600), d.Root.WriteFile("file.bin.part.json", []byte(record), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		restarts := 0
		_, err := d.Get(t.Context(), liarURL, "", &download.Options{Exists: download.Resume, Segments: 4, Retry: retry.Policy{Tries: 3}, Restart: func(string) { restarts++ }})
		outcome = c.outcome(t, dir, r, err, restarts, func() bool { return false })
		if outcome == "appended" {
			outcome = "whole"
		}
	})
	return outcome
}
