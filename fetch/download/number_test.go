package download

import (
	"fmt"
	"io/fs"
	"testing"
)

// TestManyFilesOfOneName counts the names tried. The search must not start from 1 for each file.
func TestManyFilesOfOneName(t *testing.T) {
	t.Parallel()
	const files = 20_000
	there, tried := make(map[string]bool), 0
	link := func(name string) error {
		tried++
		if there[name] {
			return fs.ErrExist
		}
		there[name] = true
		return nil
	}
	var m numbers
	place := func(exists Exists, want string, wrong error) {
		t.Helper()
		if got, err := m.place("dir/x", exists, link); got != want || err != wrong {
			t.Errorf("%q, %v; want %q, %v", got, err, want, wrong)
		}
	}
	place(NewName, "x", nil)
	for n := 1; n < files; n++ {
		place(NewName, fmt.Sprint("x.", n), nil)
	}
	if tried > 3*files {
		t.Errorf("%d names were tried for %d files", tried, files)
	}
	delete(there, "x.5")
	delete(there, "x")
	place(NewName, "x", nil)
	place(Skip, "x", fs.ErrExist)
	place(NewName, fmt.Sprint("x.", files), nil)
}

func TestNumbersAreBounded(t *testing.T) {
	t.Parallel()
	var m numbers
	for n := range 3 * maxNumbered {
		m.recordUse(fmt.Sprint(n), 1)
	}
	if n := len(m.next); n > maxNumbered {
		t.Errorf("%d names are remembered", n)
	}
}
