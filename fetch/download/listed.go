package download

import (
	"fmt"
	"path"
	"strings"

	"github.com/urlget/urlget/fetch"
)

// checkListed returns an error if name, a path in a list that somebody else may have written, is not held
// to the rules for names from servers: each element is what fetch.SafeName makes of it, and none is that of
// a partial file.
func checkListed(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	for element := range strings.SplitSeq(name, "/") {
		if safe := fetch.SafeName(element); safe != element {
			return &nameError{name, fmt.Sprintf("is not a safe name; a safe one is %q",
				strings.Replace(name, element, safe, 1))}
		}
		if suffix := partialSuffix(element); suffix != "" {
			return &nameError{name, "ends with " + suffix + ", as partial files do"}
		}
	}
	return nil
}

// listedNames are the names of a list, with their lines. Names that differ in case only are those of one
// file on some file systems.
type listedNames struct{ files, dirs map[string]int }

func fold(name string) string { return strings.ToLower(strings.ToUpper(name)) }

// clash returns the line whose file or directory has the name, or 0.
func (l *listedNames) clash(name string) int {
	if line := l.files[fold(name)]; line > 0 {
		return line
	}
	return l.dirs[fold(name)]
}

// below returns the line of a file that the name needs as a directory, or 0.
func (l *listedNames) below(name string) int {
	for dir := path.Dir(fold(name)); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if line := l.files[dir]; line > 0 {
			return line
		}
	}
	return 0
}

// check returns an error if the name cannot be in the same list.
func (l *listedNames) check(name string) error {
	if line := l.clash(name); line > 0 {
		return fmt.Errorf("line %d has the name %q too", line, name)
	}
	if line := l.below(name); line > 0 {
		return fmt.Errorf("%q is below the file of line %d", name, line)
	}
	return nil
}

func (l *listedNames) add(name string, line int) {
	if l.files == nil {
		l.files, l.dirs = make(map[string]int), make(map[string]int)
	}
	name = fold(name)
	l.files[name] = line
	for dir := path.Dir(name); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if l.dirs[dir] == 0 {
			l.dirs[dir] = line
		}
	}
}
