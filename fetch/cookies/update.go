package cookies

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/urlget/urlget/internal/filelock"
)

// Update is Save for a file that Load has read. It applies the changes that servers made since then to the
// current contents of the file, so that changes by other processes remain.
func (j *Jar) Update(path string, session bool) error {
	defer filelock.Guard(path)()
	current := New()
	current.now = j.now
	err := current.Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return j.Save(path, session)
	}
	if _, skipped := errors.AsType[*SkipError](err); err != nil && !skipped {
		return err
	}
	j.mu.Lock()
	changes := slices.Clone(j.removed)
	j.mu.Unlock()
	for _, c := range append(changes, j.oldestFirst(func(c *cookie) bool { return c.received })...) {
		c := *c // put numbers it anew
		current.put(&c)
	}
	if err := current.Save(path, session); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.changed = false
	return nil
}
