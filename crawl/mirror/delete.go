package mirror

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch/uri"
)

// removeGone removes files of earlier mirrors that are no longer in their listing. If a listing
// could not be read, no file is removed, because the listing may contain it.
func (m *mirror) removeGone() error {
	if m.unreadListing != "" {
		m.report.Kept = m.unreadListing + " could not be read"
		return nil
	}
	for _, name := range m.earlierNames(filePrefix) {
		owner, _, err := m.state.Owner(filePrefix + name)
		if err != nil {
			return err
		}
		u, err := uri.Parse(owner)
		if err != nil {
			continue
		}
		gone, err := m.isGone(serverPaths.Path(u, m.d.Client.Traits(u)))
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
	for _, dir := range slices.Backward(m.earlierNames(listedDirPrefix)) { // subdirectories first
		gone, err := m.isGone(dir)
		if err != nil {
			return err
		}
		if !gone {
			continue
		}
		if dir := m.Layout.below(dir); dir != "." {
			m.d.Root.Remove(dir) // fails if it is not empty
		}
		m.state.Disclaim(listedDirPrefix + dir)
		m.state.Disclaim(seenDirPrefix + dir)
	}
	return nil
}

// earlierNames returns the names with a prefix that were claimed only in earlier mirrors, in
// lexical order.
func (m *mirror) earlierNames(prefix string) (list []string) {
	for name, now := range m.state.Names(prefix) {
		if !now {
			list = append(list, strings.TrimPrefix(name, prefix))
		}
	}
	return list
}

// serverPaths is the layout that identifies directories of servers. It ignores Options.Layout,
// which may map files of several listings to one directory.
var serverPaths Layout

// isGone reports whether the nearest listing above name that was read does not lead to it. Name is
// a path in the layout serverPaths.
func (m *mirror) isGone(name string) (bool, error) {
	for at := name; at != "."; {
		parent := path.Dir(at)
		if _, read, err := m.state.Owner(listedDirPrefix + parent); err != nil || read {
			return read, err
		}
		if _, seen, err := m.state.Owner(seenDirPrefix + parent); err != nil || seen {
			return false, err // the directory exists, but was not listed
		}
		at = parent
	}
	return false, nil
}

// remove removes a file that no longer exists on the server, and its unconverted original.
func (m *mirror) remove(name string, u uri.URI) error {
	if info, err := m.d.Root.Lstat(name); err == nil && info.Mode().IsRegular() {
		if err := m.d.Root.Remove(name); err != nil {
			return fileError(err)
		}
		m.mu.Lock()
		m.report.Deleted++
		m.emit(Event{URL: u, Outcome: Deleted, Path: name, Size: info.Size()})
		m.mu.Unlock()
	}
	if err := m.d.Root.Remove(name + backup); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fileError(err)
	}
	m.state.Disclaim(filePrefix + name)
	return nil
}
