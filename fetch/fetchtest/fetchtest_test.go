package fetchtest

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRunPassesARightDriver(t *testing.T) {
	t.Parallel()
	Run(t, Harness{Start: func(t testing.TB, tree fs.FS) Site { return treeSite(t, tree, "") }})
}

func TestRunPassesADriverThatSaysWhatItCannot(t *testing.T) {
	t.Parallel()
	for _, bug := range []string{"has no ranges"} {
		Run(t, Harness{
			Start: func(t testing.TB, tree fs.FS) Site { return treeSite(t, tree, bug) },
			Skip:  map[string]string{"Explain": "to see a case skipped"},
		})
	}
}

// Each broken driver fails the cases that are about its bug, and no other.
func TestRunFailsBrokenDrivers(t *testing.T) {
	t.Parallel()
	bodies := []string{"Empty", "OneOctet", "Size64K1", "AllOctets"}
	tests := map[string][]string{
		"reads text":                        {"AllOctets", "Cut"},
		"changes the request":               bodies,
		"hangs in the second Close":         append(bodies, "EarlyClose"),
		"decodes twice":                     {"Names", "List"},
		"splits the query":                  {"Injection"},
		"guesses sizes":                     {"Stat"},
		"counts ranges from 1":              {"Range"},
		"hides ranges":                      {"Range"},
		"does one thing at a time":          {"Parallel"},
		"pumps":                             {"EarlyClose"},
		"loses the first entry":             {"List"},
		"does not escape entries":           {"List"},
		"runs unknown operations":           {"Operations"},
		"calls everything a server failure": {"NotFound", "ListNotFound"},
		"ignores the context":               {"Canceled", "Stall"},
		"takes the close for the end":       {"Cut"},
		"drains in Close":                   {"EarlyClose", "CloseStalled"},
		"takes noise for content":           {"Noise"},
		"sends CR LF":                       {"Injection"},
		"tells secrets":                     {"Secrets"},
		"dials by itself":                   {"Canceled", "IdleTimeout", "Dialer", "Address"},
		"connects to explain":               {"Explain"},
	}
	for bug, want := range tests {
		t.Run(bug, func(t *testing.T) {
			t.Parallel()
			site := treeSite(t, Tree(), bug)
			var failed []string
			var text strings.Builder
			for _, c := range cases {
				patience := 20 * time.Second
				if slices.Contains(want, c.name) {
					patience = time.Second // it may be that it hangs
				}
				r := record(t, func(r *recorder) {
					e := &exam{TB: r, site: site, tree: Tree(), patience: patience}
					e.run(c)
				})
				if bad, _, said := r.result(); bad {
					failed = append(failed, c.name)
					text.WriteString(c.name + ": " + said)
				}
			}
			slices.Sort(failed)
			slices.Sort(want)
			if !slices.Equal(failed, want) {
				t.Errorf("fails %q, want %q\n%s", failed, want, text.String())
			}
		})
	}
}

func TestUnknownSkipsAreFound(t *testing.T) {
	t.Parallel()
	h := Harness{Skip: map[string]string{"Names": "known", "Nonsense": "unknown"}}
	if got := h.unknownSkips(); !slices.Equal(got, []string{"Nonsense"}) {
		t.Errorf("unknown skips %q, want only Nonsense", got)
	}
}

func TestSkippedCasesGiveTheReason(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]*exam{
		"declared in Skip":     {h: Harness{Skip: map[string]string{"Cut": "declared in Skip"}}},
		"Site.Fault is nil":    {site: Site{URL: func(string) string { return "x-tree://h/x" }, Load: treeSite(t, Tree(), "").Load}},
		"Site.URL has no URL ": {site: Site{URL: func(string) string { return "" }}},
	} {
		r := record(t, func(r *recorder) {
			e.TB, e.tree, e.patience = r, Tree(), time.Second
			e.run(cases[slices.Index(Cases(), "Cut")])
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
	for _, name := range []string{octetsFile, bigFile, smallFile, "pub/c/d/e/four.txt", "names/" + HardNames[0]} {
		want, err := fs.ReadFile(Tree(), name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d octets and error %v, want %d", name, len(got), err, len(want))
		}
	}
}
