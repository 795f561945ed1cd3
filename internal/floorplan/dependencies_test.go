package floorplan

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	required  = regexp.MustCompile(`(?m)^\t(\S+) v\S+$`) // direct requirements in go.mod: no comment follows
	quotedIn  = regexp.MustCompile("`([^`]+)`")
	tableLine = regexp.MustCompile(`(?m)^\|.*\|$`)
)

// TestEveryDependencyIsExplained compares go.mod with the table of dependencies in CONTRIBUTING.md.
func TestEveryDependencyIsExplained(t *testing.T) {
	t.Parallel()
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	document, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(document), "\n## Dependencies\n")
	if !ok {
		t.Fatal("CONTRIBUTING.md has no section of dependencies")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	listed := map[string]bool{}
	for _, line := range tableLine.FindAllString(section, -1) {
		for _, name := range quotedIn.FindAllStringSubmatch(line, -1) {
			listed[name[1]] = true
		}
	}
	needs := map[string]bool{}
	for _, m := range required.FindAllStringSubmatch(string(mod), -1) {
		needs[m[1]] = true
		if !listed[m[1]] {
			t.Errorf("CONTRIBUTING.md does not list %s with its purpose", m[1])
		}
	}
	if len(needs) == 0 {
		t.Error("go.mod requires nothing")
	}
	for name := range listed {
		if !needs[name] {
			t.Errorf("CONTRIBUTING.md lists %s, which go.mod does not require", name)
		}
	}
}

// apart maps packages with large dependencies to their permitted importers, so that programs without
// these do not link them.
var apart = map[string][]string{
	"fetch/middleware/otel":    {"queue/otel"},
	"queue/jetstream":          {"cmd/urlget-queue"},
	"queue/jetstream/embedded": {"cmd/urlget-queue"},
	"queue/otel":               {"cmd/urlget-queue"},
	"queue/s3":                 {"cmd/urlget-queue"},
	"protocols/http/http3":     {"protocols"},
}

func TestLargeDependenciesAreIsolated(t *testing.T) {
	t.Parallel()
	pkgs := list(t)
	imports := make(map[string][]string, len(pkgs))
	for _, p := range pkgs {
		imports[p.ImportPath] = p.Imports
	}
	for name, by := range apart {
		if _, ok := imports[module+"/"+name]; !ok {
			t.Errorf("there is no package %s", name)
		}
		for importer, list := range imports {
			if slices.Contains(list, module+"/"+name) && !slices.Contains(by, strings.TrimPrefix(importer, module+"/")) {
				t.Errorf("%s imports %s", importer, name)
			}
		}
	}
}
