package floorplan

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// Marks around the table in the document.
const (
	document    = "../../docs/architecture.md"
	tableBegins = "<!-- floor plan -->\n"
	tableEnds   = "<!-- end of floor plan -->\n"
)

// TestDocumentShowsTable compares docs/architecture.md with the table. With URLGET_WRITE set,
// it rewrites the document.
func TestDocumentShowsTable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, began := strings.Cut(string(text), tableBegins)
	shown, after, ended := strings.Cut(rest, tableEnds)
	if !began || !ended {
		t.Fatalf("%s has no lines %q and %q", document, tableBegins, tableEnds)
	}
	drawn, problems := formatTable(list(t))
	for _, problem := range problems {
		t.Error(problem)
	}
	if shown == drawn || t.Failed() {
		return
	}
	if os.Getenv("URLGET_WRITE") == "" {
		t.Fatal("docs/architecture.md is out of date; to update it, run " +
			"URLGET_WRITE=1 go test ./internal/floorplan")
	}
	if err := os.WriteFile(document, []byte(before+tableBegins+drawn+tableEnds+after), 0o666); err != nil {
		t.Fatal(err)
	}
}

// formatTable returns the table of the existing packages in Markdown.
func formatTable(pkgs []pkg) (table string, problems []string) {
	var b strings.Builder
	b.WriteString("| layer | packages | purpose | may import |\n|---|---|---|---|\n")
	for i, l := range layers {
		for j := range l.rows {
			r := &l.rows[j]
			purpose, err := r.describe(r.members(pkgs))
			if err != nil {
				problems = append(problems, err.Error())
			}
			fmt.Fprintf(&b, "| %d %s | `%s` | %s | %s |\n", i, l.name, r.packages, purpose, r.allowed())
		}
	}
	return b.String(), problems
}

// describe returns the purpose of the row with the names of its packages. For a single package, it
// returns the first sentence of its documentation up to a colon.
func (r *row) describe(members []pkg) (string, error) {
	fixed, _, several := strings.Cut(r.packages, "*")
	fixed, _, below := strings.Cut(strings.TrimSuffix(fixed, "/"), "/...")
	switch {
	case r.purpose != "" && (several || below):
		var names []string
		for _, p := range members {
			name, _ := local(p.ImportPath)
			name, _, _ = strings.Cut(strings.TrimPrefix(strings.TrimPrefix(name, fixed), "/"), "/")
			if name = "`" + name + "`"; name != "``" && (len(names) == 0 || names[len(names)-1] != name) {
				names = append(names, name)
			}
		}
		return r.purpose + ": " + strings.Join(names, ", "), nil
	case r.purpose != "":
		return r.purpose, nil
	case len(members) != 1:
		return "", fmt.Errorf("row %q has %d packages, but no purpose", r.packages, len(members))
	}
	begin := docStart.FindStringSubmatch(strings.TrimSuffix(members[0].Doc, "."))
	if begin == nil || !strings.EqualFold(begin[1], path.Base(members[0].ImportPath)) {
		return "", fmt.Errorf("the documentation of package %s must start with its name and state its purpose",
			members[0].ImportPath)
	}
	text, _, _ := strings.Cut(begin[2], ": ")
	return strings.ReplaceAll(text, "|", `\|`), nil
}

// docStart matches the start of package documentation.
var docStart = regexp.MustCompile(`^(?:(?:Package|Command|The) )?(\S+) (.+)$`)

// allowed lists the imports that the row permits outside the standard library.
func (r *row) allowed() string {
	var names []string
	for _, imp := range r.imports {
		if imp == "own" {
			names = append(names, "their own folder")
		} else {
			names = append(names, "`"+imp+"`")
		}
	}
	for _, m := range r.modules {
		names = append(names, "`"+m+"`")
	}
	if names == nil {
		return "only the standard library"
	}
	return strings.Join(names, ", ")
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	tests := []struct {
		row  row
		docs map[string]string // by package
		want string            // or a part of the error
	}{
		{row{packages: "fetch/uri"}, map[string]string{"fetch/uri": "Package uri reads URLs: all of them."}, "reads URLs"},
		{row{packages: "fetch/uri"}, map[string]string{"fetch/uri": "Package uri is a | b."}, `is a \| b`},
		{row{packages: "examples/tour"}, map[string]string{"examples/tour": "The tour visits servers."}, "visits servers"},
		{row{packages: "fetch/uri"}, map[string]string{"fetch/uri": ""}, "must start with its name"},
		{row{packages: "fetch/uri"}, map[string]string{"fetch/uri": "URLs are read here."}, "must start with its name"},
		{row{packages: "bench", purpose: "measures"}, map[string]string{"bench": ""}, "measures"},
		{row{packages: "internal/codec/*", purpose: "messages"},
			map[string]string{"internal/codec/apdu": "", "internal/codec/ardp": ""}, "messages: `apdu`, `ardp`"},
		{row{packages: "integration/...", purpose: "tests"},
			map[string]string{"integration": "", "integration/lab": "", "integration/lab/mktree": ""}, "tests: `lab`"},
		{row{packages: "protocols/*/..."}, map[string]string{"protocols/ftp": "", "protocols/http": ""}, "no purpose"},
	}
	for _, tt := range tests {
		var members []pkg
		for _, name := range []string{"bench", "examples/tour", "fetch/uri", "integration", "integration/lab", "integration/lab/mktree",
			"internal/codec/apdu", "internal/codec/ardp", "protocols/ftp", "protocols/http"} {
			if doc, ok := tt.docs[name]; ok {
				members = append(members, pkg{ImportPath: module + "/" + name, Doc: doc})
			}
		}
		got, err := tt.row.describe(members)
		if err != nil {
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, want %q", tt.row.packages, err, tt.want)
			}
		} else if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.row.packages, got, tt.want)
		}
	}
}
