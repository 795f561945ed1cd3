package floorplan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPublicPackagesHaveExamples checks that each public package has an Example and is listed in
// doc.go. Single drivers and test servers need not be listed. Each link of a test binary takes time, so
// the example of the test server NAME is Example_NAME of package fetchtest/servers.
func TestPublicPackagesHaveExamples(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "doc.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list(t) {
		name, ours := local(p.ImportPath)
		if !ours || !isPublic(name) {
			continue
		}
		if !match("protocols/*", name) && !match("protocols/http/http3", name) && !match("fetchtest/servers/*", name) &&
			!strings.Contains(string(page), "["+p.ImportPath+"]") {
			t.Errorf("doc.go does not list %s", name)
		}
		dir, example := name, "Example"
		if server, ok := strings.CutPrefix(name, "fetchtest/servers/"); ok {
			dir, example = "fetchtest/servers", "Example_"+server+"("
		}
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		if !hasExample(t, files, example) {
			t.Errorf("%s has no Example: add one, or move the package below internal", name)
		}
	}
}

// isPublic reports whether programs outside the modules can import a package. Commands and
// integration tests are not public.
func isPublic(name string) bool {
	for _, p := range allPublic {
		if match(p, name) {
			return !strings.Contains("/"+name, "/internal/") && !strings.Contains(name, "/cmd/") && !strings.Contains(name, "/integration/")
		}
	}
	return false
}

func hasExample(t *testing.T, files []string, name string) bool {
	t.Helper()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+name) {
			return true
		}
	}
	return false
}
