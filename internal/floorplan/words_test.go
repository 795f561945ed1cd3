package floorplan

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestNoTracesOfRenames looks for what a rename by machine leaves behind: doubled words and wrong
// articles in comments, and local variables with a capital.
func TestNoTracesOfRenames(t *testing.T) {
	t.Parallel()
	for _, name := range productFiles(t) {
		problems, err := findTraces(name, read(t, name))
		if err != nil {
			t.Error(err)
		}
		for _, p := range problems {
			t.Error(p)
		}
	}
}

// productFiles returns the Go files of both modules that are not tests.
func productFiles(t *testing.T) (names []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS("../.."), ".", func(name string, d fs.DirEntry, err error) error {
		hidden := len(d.Name()) > 1 && strings.HasPrefix(d.Name(), ".")
		switch {
		case err != nil:
			return err
		case d.IsDir() && (hidden || d.Name() == "testdata"):
			return fs.SkipDir
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			names = append(names, name)
		}
		return nil
	})
	if err != nil || len(names) < 500 {
		t.Fatalf("%d Go files, %v", len(names), err)
	}
	return names
}

// findTraces returns the traces of renames in the text of a Go file.
func findTraces(name, text string) (problems []string, err error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	report := func(pos token.Pos, format string, args ...any) {
		problems = append(problems, fmt.Sprintf("%s: ", fset.Position(pos))+fmt.Sprintf(format, args...))
	}
	for _, group := range f.Comments {
		for _, problem := range checkWords(prose(group.Text())) {
			report(group.Pos(), "%s", problem)
		}
	}
	for _, ident := range locals(f) {
		if ast.IsExported(ident.Name) {
			report(ident.Pos(), "the local name %s begins with a capital", ident.Name)
		}
	}
	return problems, nil
}

// prose returns a comment without its indented lines, which are code or tables.
func prose(comment string) string {
	var b strings.Builder
	for line := range strings.Lines(comment) {
		if !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "\t") {
			b.WriteString(line)
		}
	}
	return b.String()
}

var (
	word = regexp.MustCompile(`[A-Za-z]+`)
	// An article and the beginning of a word, if the sound of that can be told from its letters: not
	// for acronyms and names such as "sftp", which are spelled.
	anConsonant = regexp.MustCompile(`\b[Aa]n ((?:[BCDFGJKLMNPQRSTVWYZbcdfgjklmnpqrstvwyz][aeiou]|` +
		`(?i:bl|br|ch|cl|cr|dr|fl|fr|gl|gr|pl|pr|sc|sh|sl|sp|st|th|tr|wh|wr|str|scr|spr)[aeiou]|user?\b|uni(?:x|t|on|que)\b)\w*)`)
	aVowel = regexp.MustCompile(`\b(?:A|[a-z-]+ a|^a) ((?:[AIai][a-z]|[Ee][a-tv-z]|[Oo][a-mo-z]|[Uu]n[a-hj-z]|[Uu]pd)\w*)`)
)

// notAfterArticle are words that follow a variable a, or "a" as in "a is b".
var notAfterArticle = strings.Fields("and are as at in is if it of on or also after into")

// checkWords returns the doubled words and wrong articles of a text.
func checkWords(text string) (problems []string) {
	words := word.FindAllStringIndex(text, -1)
	for i := 1; i < len(words); i++ {
		before, after := words[i-1], words[i]
		w := text[after[0]:after[1]]
		between := text[before[1]:after[0]]
		doubled := w == text[before[0]:before[1]] && (between == " " || between == "\n")
		if doubled && w != "that" && strings.ToUpper(w) != w {
			problems = append(problems, fmt.Sprintf("the word %q is doubled", w))
		}
	}
	for _, m := range anConsonant.FindAllStringSubmatch(text, -1) {
		problems = append(problems, fmt.Sprintf("%q: the article is a", m[0]))
	}
	for _, m := range aVowel.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(notAfterArticle, m[1]) {
			problems = append(problems, fmt.Sprintf("%q: the article is an", m[0]))
		}
	}
	return problems
}

// locals returns the parameters, results and local variables of all functions in a file.
func locals(f *ast.File) (names []*ast.Ident) {
	fields := func(list *ast.FieldList) {
		if list == nil {
			return
		}
		for _, field := range list.List {
			names = append(names, field.Names...)
		}
	}
	defined := func(exprs ...ast.Expr) {
		for _, e := range exprs {
			if ident, ok := e.(*ast.Ident); ok {
				names = append(names, ident)
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			fields(n.Recv)
		case *ast.FuncType:
			fields(n.Params)
			fields(n.Results)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				defined(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				defined(n.Key, n.Value)
			}
		case *ast.DeclStmt:
			if decl, ok := n.Decl.(*ast.GenDecl); ok && decl.Tok == token.VAR {
				for _, spec := range decl.Specs {
					names = append(names, spec.(*ast.ValueSpec).Names...)
				}
			}
		}
		return true
	})
	return names
}

func TestFindTraces(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"// an entry of an FTP server, and a user of a Unix system\nfunc f(a int) (n int) { b := a; return b }": 0,
		"// at most most URLs\nvar x int":                               1,
		"// a link from\n// from the page":                              1,
		"// An guardedResponse is closed\ntype guardedResponse int":     1,
		"// A errWriter is closed\ntype errWriter int":                  1,
		"// it returns a unknown error, and an string":                  2,
		"// that that is\n//\n//\tthe the":                              0,
		"func f(Number int) {}":                                         1,
		"func f() (Number int) { return 1 }":                            1,
		"func f() { Number, unit := 1, 2; for Key := range 3 {} }":      2,
		"func f() { var Number int; func(Unit int) {}(1) }":             2,
		"type T struct { Number int }\nvar Number int\nconst Other = 1": 0,
	} {
		problems, err := findTraces("x.go", "package x\n\n"+text+"\n")
		if err != nil || len(problems) != want {
			t.Errorf("%s: %q, %v", text, problems, err)
		}
	}
}
