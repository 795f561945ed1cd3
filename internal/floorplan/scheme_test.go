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
	"strconv"
	"strings"
	"testing"
)

// schemes are the names that only homes may contain. "file", "data" and "webdav" are missing, because they
// are also ordinary words.
var schemes = strings.Fields(`afs cid cso dav davs dict finger ftp ftps ftpes gemini gopher gophers
	http https imap imaps ipfs ipns irc ldap ldapi ldaps mailserver mailto mid news nex nfs ni nntp nntps ph pop pop3 pop3s pops prospero rlogin rsync
	rtsp s3 scp sftp smb snews spartan ssh telnet telnets tftp tn3270 urn wais webdavs whois ws wss z39.50 z39.50r z39.50s`)

// aboveDrivers lists folders whose code must not name a scheme, and uses fetch.Traits instead.
var aboveDrivers = []string{"archive", "cmd/urlget", "crawl", "fetch", "queue", "serve"}

// homes maps the files and folders that may name schemes to the reason.
var homes = map[string]string{
	"fetch/uri":                            "the syntax of URLs differs by scheme",
	"fetch/proxy.go":                       "URLs of proxies have schemes",
	"fetch/fetchhttp":                      "it is an http.RoundTripper",
	"fetch/cookies":                        "it is an http.CookieJar (RFC 6265)",
	"fetch/middleware/otel":                "attributes of HTTP have names of their own",
	"archive/internal/httprecord":          "records of HTTP differ from others (ISO 28500)",
	"archive/warc":                         "records of HTTP differ from others (ISO 28500)",
	"queue/cmd/urlget-queue/network.go":    "URLs of proxies have schemes",
	"queue/cmd/urlget-queue/store.go":      "the URL of a store has a scheme",
	"queue/jetstream":                      "URLs of NATS servers have schemes",
	"queue/otel":                           "the URL of a collector has a scheme",
	"queue/s3":                             "the URL of a store has a scheme",
	"serve/guard.go":                       "the server has an origin of its own",
	"cmd/urlget/internal/flags/schemes.go": "flags set the options of drivers",
}

// documents are prefixes of URLs that identify documents in archives.
var documents = []string{"https://github.com/urlget/", "http://netpreserve.org/warc/"}

var schemePrefix = regexp.MustCompile(`^[a-z][a-z0-9+.-]*://`)

func TestSchemesAreNamedAtHomeOnly(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, dir := range aboveDrivers {
		err := fs.WalkDir(os.DirFS("../.."), dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			problems, err := findSchemes("../../"+name, nil)
			home := homeOf(name)
			used[home] = used[home] || len(problems) > 0
			if home == "" {
				for _, p := range problems {
					t.Error(p)
				}
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	for home := range homes {
		if !used[home] {
			t.Errorf("%s does not name a scheme: remove it from homes", home)
		}
	}
}

// homeOf returns the entry of homes that contains a file, or "".
func homeOf(name string) string {
	for home := range homes {
		if name == home || strings.HasPrefix(name, home+"/") {
			return home
		}
	}
	return ""
}

// findSchemes returns the places where a Go file names a scheme, as a whole string or at the start
// of a URL.
func findSchemes(file string, src any) (problems []string, err error) {
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
		if slices.Contains(schemes, strings.TrimSuffix(text, ":")) || schemePrefix.MatchString(text) && !isDocument(text) {
			problems = append(problems, fmt.Sprintf("%v: %s names a scheme; ask for fetch.Traits",
				fset.Position(lit.Pos()), lit.Value))
		}
		return true
	})
	return problems, nil
}

func isDocument(text string) bool {
	return slices.ContainsFunc(documents, func(d string) bool { return strings.HasPrefix(text, d) })
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
		`"scp"`:                             1,
		`"https://github.com/urlget/x"`:     0,
	} {
		problems, err := findSchemes("x.go", "package p\nimport _ \"ftp\"\nvar _ = "+expr+"\n")
		if err != nil || len(problems) != want {
			t.Errorf("%s: %q, %v; want %d", expr, problems, err, want)
		}
	}
}
