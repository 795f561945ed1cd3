package floorplan

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Limits of a type of the command. Without them, one value grows until every command depends on it.
const (
	maxCommandMethods = 30 // promoted ones counted
	maxCommandFields  = 12 // besides the options
)

// TestCommandHasSmallTypes checks that each value of the command has a small job.
func TestCommandHasSmallTypes(t *testing.T) {
	t.Parallel()
	src := &sources{packages: make(map[string]*source)}
	src.checkTypes(t, module+"/cmd/urlget")
}

// TestPromotedMethodsCount checks the counts for types with embedded fields.
func TestPromotedMethodsCount(t *testing.T) {
	t.Parallel()
	src := &sources{packages: map[string]*source{"p": parse(t, `package p
import ("io"; "sync"; "p/flags")
type base struct { a, b int }
func (*base) one() {}
func (base) two() {}
type alias = base
type top struct { *alias; io.ReadCloser; opts *flags.Options; mu sync.Mutex; c int }
func (top) two() {}
type other interface { io.Reader; three() }`)}}
	for name, want := range map[string]int{"base": 2, "top": 4, "other": 2} {
		if got := src.methods(t, "p", name); len(got) != want {
			t.Errorf("%s has the methods %v, want %d", name, got, want)
		}
	}
	if got := fields(src.packages["p"].types["top"].Type.(*ast.StructType)); got != 4 {
		t.Errorf("%d fields, want 4", got)
	}
}

// sources are the parsed packages, by path. Type-checking them would load the whole program.
type sources struct{ packages map[string]*source }

// A source is a parsed package.
type source struct {
	types   map[string]*ast.TypeSpec
	methods map[string][]string // by type
	imports map[*ast.TypeSpec]map[string]string
}

func (s *sources) checkTypes(t *testing.T, path string) {
	t.Helper()
	for name, spec := range s.load(t, path).types {
		if n := len(s.methods(t, path, name)); n > maxCommandMethods {
			t.Errorf("%s has %d methods, at most %d are allowed: pass values as arguments instead", name, n, maxCommandMethods)
		}
		if st, ok := spec.Type.(*ast.StructType); ok && fields(st) > maxCommandFields {
			t.Errorf("%s has %d fields besides options, at most %d are allowed", name, fields(st), maxCommandFields)
		}
	}
}

// load parses a package of this repository or of the standard library. Other packages are empty.
func (s *sources) load(t *testing.T, path string) *source {
	t.Helper()
	if p := s.packages[path]; p != nil {
		return p
	}
	dir := filepath.Join(goroot(), "src", filepath.FromSlash(path))
	if name, ours := local(path); ours {
		dir = filepath.Join("..", "..", filepath.FromSlash(name))
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	texts := make([]string, 0, len(files))
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(text))
		}
	}
	s.packages[path] = parse(t, texts...)
	return s.packages[path]
}

// goroot asks the go command, because runtime.GOROOT is "" in a test built with -trimpath.
var goroot = sync.OnceValue(func() string {
	dir, _ := exec.Command("go", "env", "GOROOT").Output()
	return strings.TrimSpace(string(dir))
})

func parse(t *testing.T, texts ...string) *source {
	t.Helper()
	p := &source{map[string]*ast.TypeSpec{}, map[string][]string{}, map[*ast.TypeSpec]map[string]string{}}
	for _, text := range texts {
		file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		imports := make(map[string]string)
		for _, spec := range file.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			name := path[strings.LastIndex(path, "/")+1:]
			if spec.Name != nil {
				name = spec.Name.Name
			}
			imports[name] = path
		}
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					_, name := named(d.Recv.List[0].Type)
					p.methods[name] = append(p.methods[name], d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok {
						p.types[spec.Name.Name], p.imports[spec] = spec, imports
					}
				}
			}
		}
	}
	return p
}

// methods returns the methods of a type, promoted ones included.
func (s *sources) methods(t *testing.T, path, name string) map[string]bool {
	t.Helper()
	p, all := s.load(t, path), make(map[string]bool)
	for _, method := range p.methods[name] {
		all[method] = true
	}
	spec := p.types[name]
	if spec == nil {
		return all
	}
	promote := func(embedded ast.Expr) {
		pkg, name := named(embedded)
		from := path
		if pkg != "" {
			from = p.imports[spec][pkg]
		}
		maps.Copy(all, s.methods(t, from, name))
	}
	if spec.Assign.IsValid() { // an alias
		promote(spec.Type)
		return all
	}
	switch typ := spec.Type.(type) {
	case *ast.StructType:
		for _, field := range typ.Fields.List {
			if len(field.Names) == 0 {
				promote(field.Type)
			}
		}
	case *ast.InterfaceType:
		for _, method := range typ.Methods.List {
			if len(method.Names) == 0 {
				promote(method.Type)
			} else {
				all[method.Names[0].Name] = true
			}
		}
	}
	return all
}

// named returns the package and the name of a type, or "" for types without a name.
func named(expr ast.Expr) (pkg, name string) {
	switch e := expr.(type) {
	case *ast.StarExpr:
		return named(e.X)
	case *ast.IndexExpr:
		return named(e.X)
	case *ast.SelectorExpr:
		_, pkg = named(e.X)
		return pkg, e.Sel.Name
	case *ast.Ident:
		return "", e.Name
	}
	return "", ""
}

// fields returns the number of fields of a struct except options, whose types are in package flags.
func fields(st *ast.StructType) (n int) {
	for _, field := range st.Fields.List {
		if pkg, _ := named(field.Type); pkg != "flags" {
			n += max(len(field.Names), 1)
		}
	}
	return n
}
