package download

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sync"
)

const (
	// maxNumber bounds the search for a free name.
	maxNumber = 1_000_000
	// maxNumbered is how many names are remembered of which files have numbers.
	maxNumbered = 1000
)

// numbers remembers which numbers the files of one name have, so that the search for a free one does
// not begin anew with each of thousands.
type numbers struct {
	mu   sync.Mutex
	next map[string]int // by path below the root
}

// place calls link with the name at the end of a path below the root and, as long as that exists and
// exists allows another name, with the numbered names that follow. It returns the last one. A number is
// not used again once its file is gone, but the name itself is.
func (m *numbers) place(file string, exists Exists, link func(string) error) (string, error) {
	name := path.Base(file)
	if exists != NewName {
		return name, link(name)
	}
	for n := 0; n < maxNumber; n = max(n+1, m.first(file)) {
		free := numbered(name, n)
		if err := link(free); !errors.Is(err, fs.ErrExist) {
			if err == nil && n > 0 {
				m.took(file, n)
			}
			return free, err
		}
	}
	return "", fmt.Errorf("%s and its numbers: %w", name, fs.ErrExist)
}

// first returns the number that may be free.
func (m *numbers) first(file string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.next[file]
}

func (m *numbers) took(file string, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.next[file]; m.next == nil || !known && len(m.next) >= maxNumbered {
		m.next = make(map[string]int)
	}
	m.next[file] = max(m.next[file], n+1)
}
