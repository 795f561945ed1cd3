package fetchtest

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRunPassesACorrectDriver(t *testing.T) {
	t.Parallel()
	Run(t, Harness{Start: func(t testing.TB, tree fs.FS) Site { return treeSite(t, tree, "") }})
}

func TestRunSkipsUnsupportedCases(t *testing.T) {
	t.Parallel()
	for _, bug := range []string{"has no ranges"} {
		Run(t, Harness{
			Start: func(t testing.TB, tree fs.FS) Site { return treeSite(t, tree, bug) },
			Skip:  map[string]string{"Explain": "to see a case skipped"},
		})
	}
}

// Each broken driver fails only the cases for its bug. Without URLGET_LONG, only an eighth of the
// other cases is run with each of them.
func TestRunFindsBugs(t *testing.T) {
	t.Parallel()
	bodies := []string{"Empty", "OneByte", "Size64K1", "AllBytes"}
	tests := map[string][]string{
		"reads text":                        {"AllBytes", "Cut"},
		"changes the request":               bodies,
		"hangs in the second Close":         append(bodies, "EarlyClose"),
		"decodes twice":                     {"Names", "List"},
		"splits the query":                  {"Injection"},
		"guesses sizes":                     {"Stat", "Range", "FileSystem"},
		"counts ranges from 1":              {"Range"},
		"hides ranges":                      {"Range"},
		"does one thing at a time":          {"Parallel"},
		"pumps":                             {"EarlyClose", "FileSystem", "RecordedEnds"},
		"loses the first entry":             {"List", "FileSystem"},
		"does not escape entries":           {"List"},
		"reads listings past the client":    {"ListLimit"},
		"lists its URL":                     {"ListSecrets"},
		"calls everything a server failure": {"NotFound", "ListNotFound"},
		"ignores the context":               {"Canceled", "Stall", "RecordedEnds"},
		"takes the close for the end":       {"Cut"},
		"drains in Close":                   {"EarlyClose", "CloseStalled", "RecordedEnds", "FileSystem"},
		"takes noise for content":           {"Noise"},
		"sends CR LF":                       {"Injection"},
		"tells secrets":                     {"Secrets"},
		"dials by itself":                   {"Canceled", "IdleTimeout", "Dialer", "Address"},
		"connects to explain":               {"Explain"},
		"forgets the scope":                 {"Scope"},
		"reads past the record":             {"Recorded"},
	}
	// They run in parallel because they mostly wait; t.Parallel would limit them to the number of
	// processors.
	var all sync.WaitGroup
	for i, bug := range slices.Sorted(maps.Keys(tests)) {
		want := tests[bug]
		all.Go(func() {
			t.Run(bug, func(t *testing.T) {
				failed, text := runBroken(t, bug, want, func(c int) bool { return IsLong() || (i+c)%8 == 0 })
				slices.Sort(failed)
				slices.Sort(want)
				if !slices.Equal(failed, want) {
					t.Errorf("fails %q, want %q\n%s", failed, want, text)
				}
			})
		})
	}
	all.Wait()
}

// runBroken runs the cases in expected, and the others for whose index also returns true, on a driver
// with a bug. It returns the names of failed cases and their messages. Cases in expected may hang, so
// each has a server of its own.
func runBroken(t *testing.T, bug string, expected []string, also func(int) bool) (failed []string, text string) {
	var mu sync.Mutex
	run := func(c testCase, site Site, timeout time.Duration) {
		r := record(t, func(r *recorder) {
			ct := &caseTest{TB: r, site: site, tree: Tree(), timeout: timeout}
			ct.run(c)
		})
		if bad, _, messages := r.result(); bad {
			mu.Lock()
			defer mu.Unlock()
			failed = append(failed, c.name)
			text += c.name + ": " + messages
		}
	}
	var all sync.WaitGroup
	site := treeSite(t, Tree(), bug)
	for _, c := range cases {
		if slices.Contains(expected, c.name) {
			own := treeSite(t, Tree(), bug)
			all.Go(func() { run(c, own, time.Second) })
		}
	}
	for i, c := range cases {
		if !slices.Contains(expected, c.name) && also(i) {
			run(c, site, 5*time.Minute)
		}
	}
	all.Wait()
	return failed, text
}

func TestUnknownSkips(t *testing.T) {
	t.Parallel()
	h := Harness{Skip: map[string]string{"Names": "known", "Nonsense": "unknown"}}
	if got := h.unknownSkips(); !slices.Equal(got, []string{"Nonsense"}) {
		t.Errorf("unknown skips %q, want only Nonsense", got)
	}
}

func TestSkipReasons(t *testing.T) {
	t.Parallel()
	for name, ct := range map[string]*caseTest{
		"declared in Skip":     {h: Harness{Skip: map[string]string{"Cut": "declared in Skip"}}},
		"Site.Fault is nil":    {site: Site{URL: func(string) string { return "x-tree://h/x" }, Load: treeSite(t, Tree(), "").Load}},
		"Site.URL has no URL ": {site: Site{URL: func(string) string { return "" }}},
	} {
		r := record(t, func(r *recorder) {
			ct.TB, ct.tree, ct.timeout = r, Tree(), time.Second
			ct.run(cases[slices.Index(Cases(), "Cut")])
		})
		if failed, skipped, text := r.result(); failed || !skipped || !strings.Contains(text, name) {
			t.Errorf("failed %v, skipped %v, want only skipped with the reason %q: %s", failed, skipped, name, text)
		}
	}
}

func TestTreeCanBeCopiedToADirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, Tree()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{bytesFile, largeFile, smallFile, "pub/c/d/e/four.txt", "names/" + HardNames[0]} {
		want, err := fs.ReadFile(Tree(), name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes and error %v, want %d", name, len(got), err, len(want))
		}
	}
}
