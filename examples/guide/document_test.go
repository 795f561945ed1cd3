package guide

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const document = "../../docs/library.md"

// block matches a program in the document and the line before it, which names its functions.
var block = regexp.MustCompile("(?s)(?:<!-- func ([a-zA-Z ]+) -->\n)?```go\n(.*?)```\n")

// TestGuideShowsFunctions compares the programs of docs/library.md with the functions here. With
// URLGET_WRITE set, it rewrites the guide.
func TestGuideShowsFunctions(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	source := functions(t)
	shown := map[string]bool{}
	wanted := block.ReplaceAllFunc(text, func(b []byte) []byte {
		m := block.FindSubmatch(b)
		if len(m[1]) == 0 {
			t.Errorf("no line <!-- func NAME --> before a program:\n%s", m[2])
			return b
		}
		var parts []string
		for name := range strings.FieldsSeq(string(m[1])) {
			if source[name] == "" {
				t.Errorf("no function %s", name)
			}
			shown[name] = true
			parts = append(parts, source[name])
		}
		return []byte("<!-- func " + string(m[1]) + " -->\n```go\n" + strings.Join(parts, "\n") + "```\n")
	})
	for name := range source {
		if !shown[name] {
			t.Errorf("docs/library.md does not show %s", name)
		}
	}
	if t.Failed() || bytes.Equal(text, wanted) {
		return
	}
	if os.Getenv("URLGET_WRITE") == "" {
		t.Fatal("docs/library.md differs from the functions; to rewrite it: " +
			"URLGET_WRITE=1 go test ./examples/guide")
	}
	if err := os.WriteFile(document, wanted, 0o666); err != nil {
		t.Fatal(err)
	}
}

// queueProgram has the programs about queues, which are in a module of their own.
const queueProgram = "../../queue/guide_test.go"

// functions returns the source of the functions that the guide may show: all those outside of
// tests, the test in program_test.go, and those of queueProgram.
func functions(t *testing.T) map[string]string {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	source := map[string]string{}
	for _, name := range append(files, queueProgram) {
		if strings.HasSuffix(name, "_test.go") && name != "program_test.go" && name != queueProgram {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				source[f.Name.Name] = string(text[fset.Position(f.Pos()).Offset:fset.Position(f.End()).Offset]) + "\n"
			}
		}
	}
	return source
}
