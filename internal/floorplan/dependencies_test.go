package floorplan

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	inGoMod   = regexp.MustCompile(`(?m)^\t(\S+) (v\S+)`)  // requirements in go.mod
	required  = regexp.MustCompile(`(?m)^\t(\S+) (v\S+)$`) // direct ones: no comment follows
	quotedIn  = regexp.MustCompile("`([^`]+)`")
	tableLine = regexp.MustCompile(`(?m)^\|.*\|$`)
)

// requirements returns the versions of the modules that match in the go.mod of both modules.
func requirements(t *testing.T, lines *regexp.Regexp) map[string][]string {
	t.Helper()
	versions := map[string][]string{}
	for _, name := range []string{"go.mod", "queue/go.mod"} {
		found := lines.FindAllStringSubmatch(read(t, name), -1)
		if len(found) == 0 {
			t.Errorf("%s requires nothing", name)
		}
		for _, m := range found {
			if m[1] != module && !slices.Contains(versions[m[1]], m[2]) {
				versions[m[1]] = append(versions[m[1]], m[2])
			}
		}
	}
	return versions
}

// TestModulesRequireSameVersions checks that a module has the same version in a workspace and alone.
func TestModulesRequireSameVersions(t *testing.T) {
	t.Parallel()
	for name, versions := range requirements(t, inGoMod) {
		if len(versions) > 1 {
			t.Errorf("go.mod and queue/go.mod require different versions of %s: %v", name, versions)
		}
	}
}

// TestEveryDependencyIsExplained compares both go.mod with the table of dependencies in CONTRIBUTING.md.
func TestEveryDependencyIsExplained(t *testing.T) {
	t.Parallel()
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
	needs := requirements(t, required)
	for name := range needs {
		if !listed[name] {
			t.Errorf("CONTRIBUTING.md does not list %s with its purpose", name)
		}
	}
	for name := range listed {
		if needs[name] == nil {
			t.Errorf("CONTRIBUTING.md lists %s, which no go.mod requires", name)
		}
	}
}

// apart maps packages with large dependencies to their permitted importers, so that programs without
// these do not link them.
var apart = map[string][]string{
	"fetch/middleware/otel":    {"queue/otel"},
	"queue/jetstream":          {"queue/cmd/urlget-queue"},
	"queue/jetstream/embedded": {"queue/cmd/urlget-queue"},
	"queue/otel":               {"queue/cmd/urlget-queue"},
	"queue/s3":                 {"queue/cmd/urlget-queue"},
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
