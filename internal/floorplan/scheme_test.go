package floorplan

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// schemes are the names that the command must not know except in schemes.go. "file" and "data" are not among them, because they are words.
var schemes = strings.Fields(`afs cid cso dict finger ftp ftps ftpes gemini gopher gophers
	http https imap imaps irc ldap ldapi ldaps mailserver mailto mid news nex nfs ni nntp nntps ph pop pop3 pop3s pops prospero rlogin
	rtsp sftp smb snews spartan ssh telnet telnets tftp tn3270 urn wais whois z39.50 z39.50r z39.50s`)

var schemePrefix = regexp.MustCompile(`^[a-z][a-z0-9+.-]*://`)

func TestTheCommandNamesNoSchemes(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../cmd/urlget/*.go")
	parts, partsErr := filepath.Glob("../../cmd/urlget/internal/*/*.go")
	if err := errors.Join(err, partsErr); err != nil || len(parts) == 0 {
		t.Fatal(len(parts), err)
	}
	for _, file := range append(files, parts...) {
		if strings.HasSuffix(file, "_test.go") || filepath.Base(file) == "schemes.go" {
			continue
		}
		problems, err := named(file, nil)
		if err != nil {
			t.Error(err)
		}
		for _, p := range problems {
			t.Error(p)
		}
	}
}

// named returns where a Go file names a scheme: as a whole string, or at the beginning of a URL.
func named(file string, src any) (problems []string, err error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	imports := map[*ast.BasicLit]bool{}
	for _, imp := range f.Imports {
		imports[imp.Path] = true
	}
	ast.Inspect(f, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING || imports[lit] {
			return true
		}
		text, err := strconv.Unquote(lit.Value)
		if err != nil {
			return true
		}
		text = strings.ToLower(text)
		if slices.Contains(schemes, strings.TrimSuffix(text, ":")) || schemePrefix.MatchString(text) {
			problems = append(problems, fmt.Sprintf("%v: %s names a scheme; only schemes.go may do that",
				fset.Position(lit.Pos()), lit.Value))
		}
		return true
	})
	return problems, nil
}

func TestNamed(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]int{
		`"ftp"`:                             1,
		"`gopher:`":                         1,
		`"HTTP"`:                            1,
		`"https://example.org/"`:            1,
		`"x-new://"`:                        1,
		`[]string{"ftp", "a", "nntp"}`:      2,
		`"file"`:                            0,
		`"the ftp server"`:                  0,
		`"urlget gopher://gopher.example/"`: 0,
		`"://"`:                             0,
		`'f'`:                               0,
	} {
		problems, err := named("x.go", "package p\nimport _ \"ftp\"\nvar _ = "+expr+"\n")
		if err != nil || len(problems) != want {
			t.Errorf("%s: %q, %v; want %d", expr, problems, err, want)
		}
	}
}
