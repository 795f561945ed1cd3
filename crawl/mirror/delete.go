package mirror

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch/uri"
)

// removeGone removes the files of earlier mirrors that their listing no longer has. If a listing
// could not be read, everything stays: what is not in it may be there.
func (m *mirror) removeGone() error {
	if m.broken != "" {
		m.report.Kept = m.broken + " could not be read"
		return nil
	}
	var files, dirs []string
	for name, now := range m.state.Names(fileName) {
		if !now {
			files = append(files, strings.TrimPrefix(name, fileName))
		}
	}
	for _, name := range files {
		owner, _, err := m.state.Owner(fileName + name)
		if err != nil {
			return err
		}
		u, err := uri.Parse(owner)
		if err != nil {
			continue
		}
		gone, err := m.gone(places.Path(u, m.d.Client.Traits(u)))
		if err != nil {
			return err
		}
		if !gone {
			continue
		}
		if err := m.remove(name, u); err != nil {
			return err
		}
	}
	for name, now := range m.state.Names(readDir) {
		if !now {
			dirs = append(dirs, strings.TrimPrefix(name, readDir))
		}
	}
	slices.SortFunc(dirs, func(a, b string) int { return cmp.Compare(b, a) }) // what is below comes first
	for _, dir := range dirs {
		if gone, err := m.gone(dir); err != nil || !gone {
			if err != nil {
				return err
			}
			continue
		}
		if dir := m.Layout.below(dir); dir != "." {
			m.d.Root.Remove(dir) // if it is empty
		}
		m.state.Disclaim(readDir + dir)
		m.state.Disclaim(seenDir + dir)
	}
	return nil
}

// places says where everything is on its server, whatever the layout of the files: one that leaves out
// directories gives files of several listings one directory.
var places Layout

// gone reports whether the nearest listing above that could be read does not have what leads to
// name, a place.
func (m *mirror) gone(name string) (bool, error) {
	for at := name; at != "."; {
		parent := path.Dir(at)
		if _, read, err := m.state.Owner(readDir + parent); err != nil || read {
			return read, err
		}
		if _, seen, err := m.state.Owner(seenDir + parent); err != nil || seen {
			return false, err // it is there, and was not looked into
		}
		at = parent
	}
	return false, nil
}

// remove removes a file that is gone from its server, with its original.
func (m *mirror) remove(name string, u uri.URI) error {
	if info, err := m.d.Root.Lstat(name); err == nil && info.Mode().IsRegular() {
		if err := m.d.Root.Remove(name); err != nil {
			return fileError(err)
		}
		m.mu.Lock()
		m.report.Deleted++
		m.tell(Event{URL: u, Outcome: Deleted, Path: name, Size: info.Size()})
		m.mu.Unlock()
	}
	if err := m.d.Root.Remove(name + backup); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fileError(err)
	}
	m.state.Disclaim(fileName + name)
	return nil
}
