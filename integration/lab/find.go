package lab

import (
	"os"
	"os/exec"
	"path/filepath"
)

// rootsCache is the default cache if root runs packages.sh. Other users find root's packages there.
const rootsCache = "/var/cache/urlget-lab"

// cacheDir returns the lab's cache, the same folder as in integration/packages.sh. Root's cache is
// not in its home, which servers that drop root cannot enter.
func cacheDir() string {
	if dir := os.Getenv("URLGET_LAB_CACHE"); dir != "" {
		return dir
	}
	if dir := os.Getenv("XDG_CACHE_HOME"); dir != "" {
		return filepath.Join(dir, "urlget-lab")
	}
	if os.Getuid() == 0 {
		return rootsCache
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return filepath.Join(os.TempDir(), "urlget-lab")
	}
	return filepath.Join(home, ".cache", "urlget-lab")
}

// find returns the path of a program, or "". It looks in the packages unpacked by packages.sh, in
// PATH, and in folders that PATH usually lacks. A name with a slash is a path below the root of a
// package or of the system.
func find(program string) string {
	below := []string{program}
	if filepath.Base(program) == program {
		below = []string{"usr/sbin/" + program, "usr/bin/" + program}
	}
	for _, cache := range []string{cacheDir(), rootsCache} {
		for _, path := range below {
			// Glob only fails for a malformed pattern.
			found, _ := filepath.Glob(filepath.Join(cache, "packages", "*", path))
			if len(found) > 0 {
				return found[0]
			}
		}
	}
	if path, err := exec.LookPath(program); err == nil && filepath.IsAbs(path) {
		return path
	}
	for _, path := range below {
		if _, err := os.Stat("/" + path); err == nil {
			return "/" + path
		}
	}
	return ""
}
