package floorplan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A pkg holds fields of the output of `go list -json`.
type pkg struct {
	ImportPath string
	Doc        string // first sentence
	Standard   bool
	Imports    []string
	ImportMap  map[string]string
}

func TestImports(t *testing.T) {
	t.Parallel()
	for _, problem := range check(list(t)) {
		t.Error(problem)
	}
}

func TestNoRowIsUnused(t *testing.T) {
	t.Parallel()
	for _, problem := range unused(list(t)) {
		t.Error(problem)
	}
}

// A program that links the standard library's templates keeps every exported method. The
// documentation of internal/template has the details. The size of tools/site does not matter.
func TestNoTemplatesThatKeepAllMethods(t *testing.T) {
	t.Parallel()
	for _, p := range list(t) {
		dir, ours := local(p.ImportPath)
		if ours && dir != "tools/site" && (slices.Contains(p.Imports, "html/template") || slices.Contains(p.Imports, "text/template")) {
			t.Errorf("%s: use internal/template", p.ImportPath)
		}
	}
}

// trackFiles reads the directories that list depends on, because the cache of test results does not
// track the reads of the go command.
func trackFiles() error {
	root := filepath.Join("..", "..")
	return filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && name != root && (d.Name()[0] == '.' || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		return err
	})
}

// list returns the packages of both modules with their imports.
func list(t *testing.T) []pkg {
	t.Helper()
	pkgs, err := listed()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"internal/floorplan", "queue"} {
		if !slices.ContainsFunc(pkgs, func(p pkg) bool { return p.ImportPath == module+"/"+name }) {
			t.Fatalf("go list returned %d packages, but not %s", len(pkgs), name)
		}
	}
	return pkgs
}

var listed = sync.OnceValues(func() ([]pkg, error) {
	if err := trackFiles(); err != nil {
		return nil, err
	}
	work, err := filepath.Abs("../../go.work") // with both modules, even if GOWORK is off
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Doc,Standard,Imports,ImportMap", module+"/...")
	cmd.Env = append(os.Environ(), "GOWORK="+work)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("go list: %s", exit.Stderr)
	} else if err != nil {
		return nil, err
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); err == io.EOF {
			return pkgs, nil
		} else if err != nil {
			return nil, err
		}
		pkgs = append(pkgs, p)
	}
})

// check returns the violations of the table in pkgs.
func check(pkgs []pkg) (problems []string) {
	standard := map[string]bool{"C": true}
	for _, p := range pkgs {
		standard[p.ImportPath] = p.Standard
	}
	for _, p := range pkgs {
		name, ours := local(p.ImportPath)
		if !ours {
			continue
		}
		own, r := find(name)
		if r == nil {
			problems = append(problems, fmt.Sprintf(
				"package %s has no row in the table: add {packages: %q, imports: ...} to the layer where it belongs", name, name))
			continue
		}
		for _, imp := range p.Imports {
			if mapped, ok := p.ImportMap[imp]; ok {
				imp = mapped
			}
			if standard[imp] {
				continue
			}
			if !r.allows(name, imp) {
				problems = append(problems, fmt.Sprintf("%s must not import %s (row %q)", name, imp, r.packages))
			} else if rel, ours := local(imp); ours {
				if other, _ := find(rel); other > own {
					problems = append(problems, fmt.Sprintf("%s must not import %s: the layer %s comes before %s",
						name, imp, layers[own].name, layers[other].name))
				}
			}
		}
	}
	return problems
}

// find returns the layer and row of a package. The row is nil if there is none.
func find(name string) (int, *row) {
	layer, found := -1, (*row)(nil)
	for i, l := range layers {
		for j := range l.rows {
			switch r := &l.rows[j]; {
			case r.packages == name:
				return i, r
			case found == nil && match(r.packages, name):
				layer, found = i, r
			}
		}
	}
	return layer, found
}

// unused returns the rows that match no package, and the modules of rows that no package imports.
func unused(pkgs []pkg) (problems []string) {
	for _, l := range layers {
		for i := range l.rows {
			r := &l.rows[i]
			members := r.members(pkgs)
			if len(members) == 0 {
				problems = append(problems, fmt.Sprintf("row %q has no package", r.packages))
				continue
			}
			for _, m := range r.modules {
				if !slices.ContainsFunc(members, func(p pkg) bool {
					return slices.ContainsFunc(p.Imports, func(imp string) bool { return match(m+"/...", imp) })
				}) {
					problems = append(problems, fmt.Sprintf("row %q permits %s, which no package of the row imports", r.packages, m))
				}
			}
		}
	}
	return problems
}

// members returns the packages of the row, sorted by path.
func (r *row) members(pkgs []pkg) (members []pkg) {
	for _, p := range pkgs {
		name, ours := local(p.ImportPath)
		if !ours || !match(r.packages, name) {
			continue // find would look at every row
		}
		if _, other := find(name); other == r {
			members = append(members, p)
		}
	}
	slices.SortFunc(members, func(a, b pkg) int { return strings.Compare(a.ImportPath, b.ImportPath) })
	return members
}

// local returns the path of a package relative to the root. It returns false for other packages.
func local(importPath string) (string, bool) {
	return strings.CutPrefix(importPath, module+"/")
}

// allows reports whether the named package may import imp, which is not in the standard library.
func (r *row) allows(name, imp string) bool {
	if rel, ours := local(imp); ours {
		return slices.ContainsFunc(r.imports, func(pattern string) bool {
			if pattern == "own" {
				return driver(name) == driver(rel)
			}
			return match(pattern, rel)
		})
	}
	return slices.ContainsFunc(r.modules, func(prefix string) bool { return match(prefix+"/...", imp) })
}

// driver returns the first two elements of a path, such as protocols/ftp.
func driver(name string) string {
	parts := strings.SplitN(name, "/", 3)
	return path.Join(parts[:min(2, len(parts))]...)
}

// match reports whether a path matches a pattern of the table. Major versions of modules ("/v2")
// match like subfolders.
func match(pattern, name string) bool {
	prefix, open := strings.CutSuffix(pattern, "/...")
	parts, want := strings.Split(name, "/"), strings.Split(prefix, "/")
	if len(parts) < len(want) || len(parts) > len(want) && !open {
		return false
	}
	for i, w := range want {
		if w != "*" && w != parts[i] {
			return false
		}
	}
	return true
}

// TestCheck checks packages that break each rule.
func TestCheck(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, imports, want string }{
		{"fetch/uri", "strings", ""},
		{"fetch/uri", "golang.org/x/net/idna", ""},
		{"fetch/uri", "golang.org/x/net/html", "must not import golang.org/x/net/html"},
		{"fetch/uri", module + "/fetch", "must not import"},
		{"fetch/driver/wire", "golang.org/x/text", "must not import"},
		{"fetch/driver", module + "/fetch", ""},
		{"fetch/driver/wire", module + "/fetch/driver", "must not import"},
		{"fetch", module + "/fetch/driver", "must not import"},
		{"fetch", module + "/protocols", "must not import"},
		{"fetch", module + "/protocols/ftp", "must not import"},
		{"fetch/download", module + "/protocols/ftp", "must not import"},
		{"protocols", module + "/protocols/ftp", ""},
		{"protocols/ftp", module + "/fetch/driver/wire", ""},
		{"protocols/ftp", module + "/fetch/driver", ""},
		{"protocols/ftp", module + "/fetch", ""},
		{"protocols/ftp", module + "/fetch/download", "must not import"},
		{"protocols/ftp", module + "/protocols/gopher", `must not import ` + module + `/protocols/gopher (row "protocols/*/...")`},
		{"protocols/ftp", module + "/protocols", "must not import"},
		{"protocols/ftp", module + "/protocols/internal/remotefile", ""},
		{"protocols/internal/remotefile", module + "/protocols/ftp", "must not import"},
		{"protocols", module + "/protocols/internal/remotefile", "must not import"},
		{"protocols/ftp", module + "/protocols/ftp/listing", ""},
		{"protocols/ftp/listing", module + "/fetch/driver", ""},
		{"protocols/ftp/listing", module + "/protocols/gopher/menu", "must not import"},
		{"protocols/ftp", "github.com/jlaffaye/ftp", "must not import github.com/jlaffaye/ftp"},
		{"fetch/message", "golang.org/x/text/encoding/htmlindex", ""},
		{"protocols/gopher", "golang.org/x/text", "must not import"},
		{"protocols/ldap", "github.com/go-ldap/ldap/v3", ""},
		{"cmd/urlget", module + "/internal/pace", "must not import"},
		{"cmd/urlget", module + "/fetch/download", ""},
		{"cmd/urlget", module + "/fetchtest", "the layer programs comes before tests"},
		{"cmd/urlget", module + "/queue", "must not import"},
		{"integration/lab", module + "/queue/jetstream", "must not import"},
		{"queue/cmd/urlget-queue", module + "/queue/jetstream", ""},
		{"queue/cmd/urlget-queue", module + "/internal/render", ""},
		{"queue/cmd/urlget-queue", module + "/internal/pace", "must not import"},
		{"queue/integration/machines", module + "/integration/lab", ""},
		{"queue", module + "/queue/jetstream", "must not import"},
		{"examples/get", module + "/protocols", ""},
		{"examples/get", module + "/internal/pace", `(row "examples/...")`},
		{"examples/tour", module + "/internal/pace", `(row "examples/tour")`},
		{"internal/shiny", "strings", `add {packages: "internal/shiny"`},
	}
	for _, tt := range tests {
		got := strings.Join(check([]pkg{
			{ImportPath: "strings", Standard: true},
			{ImportPath: module + "/" + tt.name, Imports: []string{tt.imports}},
		}), "\n")
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s imports %s: %q, want %q", tt.name, tt.imports, got, tt.want)
		}
	}
}

func TestUnused(t *testing.T) {
	t.Parallel()
	problems := unused([]pkg{
		{ImportPath: module + "/fetch/uri", Imports: []string{"golang.org/x/net/idna"}},
		{ImportPath: module + "/fetch/links", Imports: []string{"strings"}},
	})
	for text, want := range map[string]bool{
		`row "fetch/uri"`: false,
		`row "fetch/links" permits golang.org/x/net/html, which no package of the row imports`: true,
		`row "fetch/netrc" has no package`: true,
	} {
		if got := strings.Contains(strings.Join(problems, "\n")+"\n", text); got != want {
			t.Errorf("%q among the problems: %t; want %t:\n%q", text, got, want, problems)
		}
	}
}
