package floorplan

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestDriversMakeNoClients checks that drivers use no name of the client: its policy, its provenance and
// its limits hold only for what goes through fetch.Env.
func TestDriversMakeNoClients(t *testing.T) {
	t.Parallel()
	client := []string{"New", "Client", "Options", "Policy", "Resource", "Untrusted"}
	files := 0
	err := fs.WalkDir(os.DirFS("../.."), "protocols", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		files++
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "../../"+name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "fetch" && slices.Contains(client, sel.Sel.Name) {
				t.Errorf("%s: a driver must use its Env, not fetch.%s", fset.Position(sel.Pos()), sel.Sel.Name)
			}
			return true
		})
		return nil
	})
	if err != nil || files < 100 {
		t.Fatalf("%d files, %v", files, err)
	}
}
