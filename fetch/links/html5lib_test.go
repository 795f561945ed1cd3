package links_test

import (
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// html5lib returns the pages of the tree construction tests of html5lib, which are part of the module
// golang.org/x/net, each followed by a link.
func html5lib(t *testing.T) []string {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/net").Output()
	if err != nil {
		t.Skip("no go command: ", err)
	}
	files, err := filepath.Glob(strings.TrimSpace(string(out)) + "/html/testdata/html5lib-tests/tree-construction/*.dat")
	if err != nil || len(files) == 0 {
		t.Skip("the module has no test data")
	}
	var pages []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for test := range strings.SplitSeq("\n"+string(data), "\n#data\n") {
			if page, rest, ok := strings.Cut(test, "\n#errors\n"); ok && !strings.Contains(rest, "\n#document-fragment\n") {
				pages = append(pages, page)
			}
		}
	}
	return pages
}

// known returns why the anchors of a page may include ones that its tree does not have, or "".
func known(page string) string {
	page = strings.ToLower(page)
	switch {
	case strings.Contains(page, "<noscript"), strings.Contains(page, "<noframes"), strings.Contains(page, "<noembed"):
		return "the content for programs without scripts or frames is read"
	case strings.Contains(page, "<frameset"):
		return "the content beside a frameset is read, as in programs without frames"
	case strings.Contains(page, "<template>") && strings.Contains(page, "<col>"):
		return "a browser drops what is not a column from a template of columns"
	case strings.Contains(page, "<template") && (strings.Contains(page, "<svg") || strings.Contains(page, "<math")):
		return "the other parser loses a template, and all after it, in HTML within foreign content, as in <svg><title><template></template><a>"
	}
	return ""
}

// leavesComment matches pages in which the other parser ends a comment in a script at a "<" that begins no
// tag (HTML, section 13.2.5.23), so that it finds more.
var leavesComment = regexp.MustCompile(`(?is)<script.*<!--.*<[^a-z/]`)

// resolve returns references as anchors returns them.
func resolve(t *testing.T, refs []string) []string {
	from, err := url.Parse(base.String())
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, ref := range refs {
		u, err := from.Parse(strings.ReplaceAll(ref, `\`, "/"))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, strings.TrimPrefix(u.String(), "http://h.example/dir/"))
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// TestHTML5LibPages compares the anchors of pages with those of the tree that the parser of golang.org/x/net
// builds: alone, and in random pairs with anchors between them.
func TestHTML5LibPages(t *testing.T) {
	t.Parallel()
	all := html5lib(t)
	pages := make([]string, 0, 4*len(all))
	for _, page := range all {
		pages = append(pages, page+`<a href="END">t</a>`)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 3 * len(all) {
		pages = append(pages, all[r.IntN(len(all))]+`<a href="MIDDLE">t</a>`+all[r.IntN(len(all))]+`<a href="END">t</a>`)
	}
	failed := 0
	for _, page := range pages {
		got, want := anchors(t, page, "text/html"), resolve(t, parsed(t, page))
		if leavesComment.MatchString(page) {
			want = slices.DeleteFunc(want, func(ref string) bool { return !slices.Contains(got, ref) })
		}
		if known(page) != "" {
			got = slices.DeleteFunc(got, func(ref string) bool { return !slices.Contains(want, ref) })
		}
		if !slices.Equal(got, want) {
			if failed++; failed < 20 {
				t.Errorf("%q: %q, want %q", page, got, want)
			}
		}
	}
	if failed > 0 {
		t.Errorf("%d of %d pages differ", failed, len(pages))
	}
}
