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
	// maxNumbered bounds the names whose next number is remembered.
	maxNumbered = 1000
)

// numbers remembers the next number of each name, so that saving thousands of files of one name
// does not search from 1 each time.
type numbers struct {
	mu   sync.Mutex
	next map[string]int // by path below the root
}

// place calls link with the base name of file, a path below the root. With NewName, it then tries
// the numbered names until one does not exist. It returns the last name tried. The number of a file
// that was removed is not used again; the name without a number is.
func (m *numbers) place(file string, exists Exists, link func(string) error) (string, error) {
	name := path.Base(file)
	if exists != NewName {
		return name, link(name)
	}
	for n := 0; n < maxNumber; n = max(n+1, m.first(file)) {
		free := numbered(name, n)
		if err := link(free); !errors.Is(err, fs.ErrExist) {
			if err == nil && n > 0 {
				m.recordUse(file, n)
			}
			return free, err
		}
	}
	return "", fmt.Errorf("%s and all numbered names: %w", name, fs.ErrExist)
}

func (m *numbers) first(file string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.next[file]
}

func (m *numbers) recordUse(file string, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.next[file]; m.next == nil || !known && len(m.next) >= maxNumbered {
		m.next = make(map[string]int)
	}
	m.next[file] = max(m.next[file], n+1)
}
