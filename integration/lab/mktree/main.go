// Mktree writes the fixture tree of the lab into a folder and removes everything else there. It
// does nothing if the folder already has the current tree.
//
//	go run ./integration/lab/mktree DIR
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/urlget/urlget/integration/lab"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: mktree DIR")
		os.Exit(2)
	}
	if err := mktree(filepath.Clean(os.Args[1])); err != nil {
		fmt.Fprintln(os.Stderr, "mktree:", err)
		os.Exit(1)
	}
}

// mktree keeps the folder itself, which may be mounted in containers. A file next to it has the ID
// of the tree.
func mktree(dir string) error {
	stamp := dir + ".id"
	if id, err := os.ReadFile(stamp); err == nil && string(id) == lab.FixtureID() {
		return nil
	}
	if err := os.RemoveAll(stamp); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	old, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range old {
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	if err := lab.WriteFixture(dir); err != nil {
		return err
	}
	return os.WriteFile(stamp, []byte(lab.FixtureID()), 0o644)
}
