package mirror

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A Kept is a part of the mirror in which Options.Delete removed nothing, because the server did not
// prove that files are gone.
type Kept struct {
	URL   string // of a start URL, a directory or a page, redacted
	Files int64  // that would have been removed; for a failed start URL, those not found in this run
	// Reason is a clause such as "the directory could not be read".
	Reason string
}

// The share of the files of a start URL that Options.Delete removes, and the number of files that it
// always removes.
const (
	defaultShare = 50 // percent
	alwaysDelete = 10
)

// ErrTooManyGone matches the error of Run if Options.Delete would have removed too many files.
var ErrTooManyGone = errors.New("mirror: too many files are gone")

type goneError struct{ gone, files, share int64 }

func (e *goneError) Error() string {
	return fmt.Sprintf("%d of %d files are gone from the server, which is more than %d%%: no files were "+
		"deleted", e.gone, e.files, e.share)
}

func (e *goneError) Is(target error) bool { return target == ErrTooManyGone }

// A removal is a file of the mirror that no longer exists on the server.
type removal struct {
	name string
	url  uri.URI // by its key
}

// removeGone removes the files of earlier mirrors that no longer exist on the server: those that are
// not in their listing, those that the server reported as not found, and those that no page links to
// and that the server does not find.
func (m *mirror) removeGone(ctx context.Context, seeds []uri.URI) error {
	d := &deletion{mirror: m, starts: m.startPlaces(), kept: map[string]*Kept{}}
	earlier, err := d.earlierFiles()
	if err != nil {
		return err
	}
	if err := d.addUnlisted(earlier); err != nil {
		return err
	}
	for _, r := range m.notFound {
		d.add(r)
	}
	if err := d.addUnlinked(ctx, seeds, earlier); err != nil {
		return err
	}
	for _, k := range d.kept {
		m.report.Kept = append(m.report.Kept, *k)
	}
	slices.SortFunc(m.report.Kept, func(a, b Kept) int { return strings.Compare(a.URL, b.URL) })
	if err := d.checkShares(); err != nil {
		return err
	}
	for _, r := range d.removals {
		if err := m.remove(r.name, r.url); err != nil {
			return err
		}
	}
	return d.removeDirs()
}

type deletion struct {
	*mirror
	starts   []*place
	removals []removal
	kept     map[string]*Kept // by URL
}

func (d *deletion) keep(url, reason string) {
	k := d.kept[url]
	if k == nil {
		k = &Kept{URL: url, Reason: reason}
		d.kept[url] = k
	}
	k.Files++
}

func (d *deletion) failedStart(u uri.URI) *place {
	for _, p := range d.placesOf(u) {
		if p.failed {
			return p
		}
	}
	return nil
}

// add adds a file unless it belongs to a start URL that failed.
func (d *deletion) add(r removal) {
	if p := d.failedStart(r.url); p != nil {
		d.keep(p.url.Redacted(), "the start URL failed")
		return
	}
	d.removals = append(d.removals, r)
}

func (d *deletion) addUnlisted(earlier []removal) error {
	for _, r := range earlier {
		t := d.d.Client.Traits(r.url)
		if p := d.failedStart(r.url); p != nil {
			d.keep(p.url.Redacted(), "the start URL failed")
			continue
		}
		if t.HasLinks() {
			continue // see addUnlinked
		}
		gone, unproven, err := d.isGone(serverPaths.Path(r.url, t))
		switch {
		case err != nil:
			return err
		case unproven != (Kept{}):
			d.keep(unproven.URL, unproven.Reason)
		case gone:
			d.removals = append(d.removals, r)
		}
	}
	return nil
}

// earlierFiles returns the files that were claimed only in earlier mirrors, in lexical order.
func (d *deletion) earlierFiles() (list []removal, err error) {
	for _, name := range d.earlierNames(filePrefix) {
		owner, _, err := d.state.Owner(filePrefix + name)
		if err != nil {
			return nil, err
		}
		if u, err := uri.Parse(owner); err == nil {
			list = append(list, removal{name, u})
		}
	}
	return list, nil
}

// removeDirs removes directories that are not in a listing any more, if they are empty.
func (d *deletion) removeDirs() error {
	for _, dir := range slices.Backward(d.earlierNames(listedDirPrefix)) { // subdirectories first
		gone, unproven, err := d.isGone(dir)
		if err != nil {
			return err
		}
		if !gone || unproven != (Kept{}) || d.isBelowFailedStart(dir) {
			continue
		}
		if dir := d.Layout.below(dir); dir != "." {
			d.d.Root.Remove(dir) // fails if it is not empty
		}
		for _, prefix := range []string{listedDirPrefix, seenDirPrefix, unreadDirPrefix, emptyDirPrefix} {
			d.state.Disclaim(prefix + dir)
		}
	}
	return nil
}

func (d *deletion) isBelowFailedStart(dir string) bool {
	return slices.ContainsFunc(d.starts,
		func(p *place) bool { return p.failed && (dir == p.dir || isBelow(dir, p.dir)) })
}

// checkShares returns an error if the removals are too many files of a start URL: more likely, the
// server has moved or fails in a new way.
func (d *deletion) checkShares() error {
	share := int64(d.DeleteShare)
	if share <= 0 {
		share = defaultShare
	}
	if share >= 100 || len(d.removals) <= alwaysDelete {
		return nil
	}
	gone := map[*place]int64{}
	for _, r := range d.removals {
		for _, p := range d.placesOf(r.url) {
			gone[p]++
		}
	}
	files, err := d.countFiles()
	if err != nil {
		return err
	}
	for _, p := range d.starts {
		if n := gone[p]; n > alwaysDelete && n*100 > share*files[p] {
			return &fetch.Error{Op: "mirror", URL: p.url.Redacted(), Code: fetch.ErrTruncated,
				Err: &goneError{n, files[p], share}}
		}
	}
	return nil
}

func (d *deletion) countFiles() (map[*place]int64, error) {
	files := map[*place]int64{}
	for _, name := range d.names(filePrefix, -1) {
		owner, now, err := d.state.Owner(filePrefix + name)
		if err != nil {
			return nil, err
		}
		u, err := uri.Parse(owner)
		if err != nil {
			continue
		}
		if v, _ := d.memoOf(u); now && v.Run == d.state.Number() {
			continue // a new file
		}
		for _, p := range d.placesOf(u) {
			files[p]++
		}
	}
	return files, nil
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
// a path in the layout serverPaths. If unproven is not zero, a directory above name could not be read
// or became empty in this run.
func (m *mirror) isGone(name string) (gone bool, unproven Kept, err error) {
	for at := name; at != "."; at = path.Dir(at) {
		why, now, err := m.state.Owner(unreadDirPrefix + path.Dir(at))
		if err != nil || now {
			url, reason, _ := strings.Cut(why, "\x00")
			return false, Kept{URL: url, Reason: reason}, err
		}
	}
	for at := name; at != "."; {
		parent := path.Dir(at)
		url, read, err := m.state.Owner(listedDirPrefix + parent)
		if err != nil {
			return false, Kept{}, err
		}
		if read {
			since, _, err := m.state.Owner(emptyDirPrefix + parent)
			if err == nil && since == m.runNumber() {
				return false, Kept{URL: url,
					Reason: "the directory became empty, which the next run believes"}, nil
			}
			return true, Kept{}, err
		}
		if _, seen, err := m.state.Owner(seenDirPrefix + parent); err != nil || seen {
			return false, Kept{}, err // the directory exists, but was not listed
		}
		at = parent
	}
	return false, Kept{}, nil
}

func (m *mirror) remove(name string, u uri.URI) error {
	if !m.owns(name, u.Key()) {
		return nil // it was renamed or replaced
	}
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
	if m.d.Client.Traits(u).HasLinks() { // no listing says that the directory exists
		m.removeEmptyDirs(path.Dir(name))
	}
	return nil
}

func (m *mirror) removeEmptyDirs(dir string) {
	for ; dir != "."; dir = path.Dir(dir) {
		info, err := m.d.Root.Lstat(dir)
		if err != nil || !info.IsDir() || m.d.Root.Remove(dir) != nil {
			return
		}
	}
}
