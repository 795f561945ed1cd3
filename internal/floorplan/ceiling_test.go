package floorplan

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// A ceiling limits a room: the lines of its Go files, and the names that its public packages export.
// Methods, fields and tests do not count.
type ceiling struct{ lines, names int }

// ceilings are the sizes of the rooms when they were last made smaller, rounded up. A commit that raises
// one says why. A folder belongs to the longest matching room.
var ceilings = map[string]ceiling{
	"cmd/urlget":             {16100, 0},
	"serve":                  {7150, 11},
	"archive":                {10770, 69},
	"crawl":                  {7930, 56},
	"protocols":              {41130, 142},
	"fetch":                  {23320, 289},
	"fetch/driver":           {2250, 44},
	"fetch/uri":              {3100, 40},
	"fetch/download":         {6280, 31},
	"internal":               {11620, 0},
	"queue":                  {11130, 76},
	"queue/cmd/urlget-queue": {4000, 0},
}

// isProduct reports whether a file is compiled into a program or imported by users, and is not of the kit
// of tests, an example or a tool.
func isProduct(name string) bool {
	for _, other := range []string{"fetchtest", "integration", "bench", "examples", "tools", "queue/queuetest",
		"queue/integration", "internal/floorplan"} {
		if strings.HasPrefix(name, other+"/") {
			return false
		}
	}
	return strings.Contains(name, "/")
}

func TestRoomsStayBelowTheirCeilings(t *testing.T) {
	t.Parallel()
	sizes := map[string]ceiling{}
	for _, name := range productFiles(t) {
		if !isProduct(name) {
			continue
		}
		room := roomOf(path.Dir(name))
		if room == "" {
			t.Errorf("%s belongs to no room: add its folder to the ceilings", name)
			continue
		}
		size, text := sizes[room], read(t, name)
		size.lines += strings.Count(text, "\n")
		if isPublic(path.Dir(name)) && !strings.HasSuffix(name, "_other.go") {
			size.names += exportedNames(t, name, text)
		}
		sizes[room] = size
	}
	for _, room := range slices.Sorted(maps.Keys(ceilings)) {
		size, limit := sizes[room], ceilings[room]
		if size.lines > limit.lines {
			t.Errorf("%s has %d lines, more than %d", room, size.lines, limit.lines)
		}
		if size.names > limit.names {
			t.Errorf("%s exports %d names, more than %d", room, size.names, limit.names)
		}
		if size.lines < limit.lines*9/10 {
			t.Errorf("%s has only %d lines: lower its ceiling of %d", room, size.lines, limit.lines)
		}
	}
}

// roomOf returns the room of a folder, or "".
func roomOf(dir string) string {
	for ; dir != "."; dir = path.Dir(dir) {
		if _, ok := ceilings[dir]; ok {
			return dir
		}
	}
	return ""
}

func exportedNames(t *testing.T, name, text string) (n int) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	count := func(id *ast.Ident) {
		if id.IsExported() {
			n++
		}
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				count(d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					count(s.Name)
				case *ast.ValueSpec:
					for _, id := range s.Names {
						count(id)
					}
				}
			}
		}
	}
	return n
}
