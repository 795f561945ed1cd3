package mirror

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
)

// stateDir is the directory of states, below the root.
const stateDir = ".urlget"

// FindState returns the file of the state that a Run in dir would go on with or begin, and whether it
// is one that waits to be gone on with. Nothing is changed. A state that is in use is an error
// (crawl.ErrInUse), with the name of its file.
func FindState(c *fetch.Client, dir string, seeds []uri.URI, opts *Options) (name string, waits bool, err error) {
	m := &mirror{d: &download.Downloader{Client: c}, Options: *opts}
	names := []string{m.State}
	if m.State == "" {
		if names, err = m.statesIn(filepath.Join(dir, stateDir), seeds[0]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return names[0], false, err
		}
	}
	fresh := ""
	for _, name := range names {
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			fresh = name
		} else if err := m.consider(name, seeds); err != nil {
			return name, false, errors.Join(err, m.leaveState())
		}
	}
	switch {
	case m.state != nil && (fresh == "" || m.state.Continues()):
		name, waits = m.file, m.state.Continues()
	case fresh != "":
		name = fresh
	default:
		name = m.freeState(names)
	}
	return name, waits, m.leaveState()
}

// kindName is the name in a state whose owner says what it is for.
const kindName = "k:"

// kind says what the state is for. What one kind has begun, no other goes on with.
func (m *mirror) kind() string {
	kind := "once"
	switch {
	case m.Spider:
		kind = "spider"
	case m.Newer:
		kind = "newer"
	}
	if m.Crawl.Scope.SeedsOnly {
		kind += " page"
	}
	return kind
}

// keepsState reports whether the state is of use when the mirror has come to its end.
func (m *mirror) keepsState() bool { return m.Newer && !m.Spider }

// openState opens the state that m goes on with or begins, and sees to it that none is taken up
// that waits for another one.
func (m *mirror) openState(seeds []uri.URI) error {
	if len(seeds) == 0 {
		return &fetch.Error{Op: "mirror", Code: fetch.ErrRequest, Err: errors.New("no URL to begin at")}
	}
	names := []string{m.State}
	if m.State == "" {
		var err error
		if names, err = m.stateFiles(seeds[0]); err != nil {
			return err
		}
	}
	for _, name := range names { // all: one that is in use says that the tree is
		if err := m.consider(name, seeds); err != nil {
			return errors.Join(err, m.leaveState())
		}
	}
	if m.state == nil {
		m.file = m.freeState(names)
		var err error
		if m.state, err = crawl.Open(m.file); err != nil {
			return err
		}
	}
	if m.state.Continues() {
		return nil
	}
	m.state.Disclaim(kindName)
	if _, err := m.state.Claim(kindName, m.kind()); err != nil {
		return errors.Join(err, m.leaveState())
	}
	return nil
}

// What fits found.
const (
	waitsForAnother = iota
	isOver          // and can be used again
	waitsForUs
)

// consider opens a state, and leaves it open if no better one for m was found before.
func (m *mirror) consider(name string, seeds []uri.URI) error {
	before, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) && m.state != nil {
		return nil
	}
	state, err := crawl.Open(name)
	if err != nil {
		return err
	}
	found, err := m.fits(state, seeds)
	switch {
	case err != nil:
	case found == waitsForAnother && m.State != "":
		err = fileError(fmt.Errorf("%s: another tree waits there to be gone on with: name another file, or remove this one", name))
	case found != waitsForAnother && m.state == nil, found == waitsForUs && !m.state.Continues():
		err = m.leaveState()
		m.state, m.file, m.before = state, name, before
		return err
	}
	return errors.Join(err, leave(state, name, before))
}

// leaveState closes the state of m if there is one, of which nothing was changed.
func (m *mirror) leaveState() error {
	state := m.state
	if m.state = nil; state == nil {
		return nil
	}
	return leave(state, m.file, m.before)
}

func leave(state *crawl.State, name string, before fs.FileInfo) error {
	err := state.Close()
	if before == nil {
		os.Remove(name)
	} else {
		os.Chtimes(name, before.ModTime(), before.ModTime())
	}
	return err
}

// fits tells whether m may use the state. Those that say no kind are older: they may be of any that
// waits, and those that are over are of the kind that is kept.
func (m *mirror) fits(state *crawl.State, seeds []uri.URI) (int, error) {
	kind, _, err := state.Owner(kindName)
	switch {
	case err != nil:
		return 0, err
	case len(state.Seeds()) == 0: // nothing was begun
		return isOver, nil
	case !state.Continues() && (m.State != "" || m.keepsState() == (kind == "" || strings.HasPrefix(kind, "newer"))):
		return isOver, nil
	case !state.Continues() || kind != "" && kind != m.kind():
		return waitsForAnother, nil
	}
	ours := make([]string, len(seeds))
	for i, u := range seeds {
		s, _ := m.d.Client.Scheme(u.Scheme())
		ours[i] = u.WithoutPort(s.Port).WithoutUserinfo().String()
	}
	for _, seed := range state.Seeds() {
		if !slices.Contains(ours, seed) {
			return waitsForAnother, nil
		}
	}
	return waitsForUs, nil
}

// stateFiles returns the files in the directory of states, which it makes, for the server of u: the
// one with its name, whether it is there or not, and others that are there.
func (m *mirror) stateFiles(u uri.URI) ([]string, error) {
	if err := m.d.Root.Mkdir(stateDir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fileError(err)
	}
	if info, err := m.d.Root.Lstat(stateDir); err != nil || !info.IsDir() {
		return nil, fileError(&fs.PathError{Op: "open", Path: stateDir, Err: errors.New("it is not a directory")})
	}
	return m.statesIn(filepath.Join(m.d.Root.Name(), stateDir), u)
}

// statesIn is stateFiles for the directory, which may be missing: then that is the error, and the
// first is returned all the same.
func (m *mirror) statesIn(dir string, u uri.URI) ([]string, error) {
	first := hostName(u) + ".state"
	if m.Spider { // what it has seen is not saved
		first = strings.TrimSuffix(first, ".state") + ".spider"
	}
	names := []string{filepath.Join(dir, first)}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return names, fileError(err)
	}
	for _, e := range entries {
		if isAnother(e.Name(), first) {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	return names, nil
}

// another returns the name of the nth other state of a server. No server is called so.
func another(first string, n int) string {
	ext := path.Ext(first)
	return strings.TrimSuffix(first, ext) + "%00" + strconv.Itoa(n) + ext
}

// isAnother reports whether name is one that another returns.
func isAnother(name, first string) bool {
	ext := path.Ext(first)
	rest, ok := strings.CutPrefix(strings.TrimSuffix(name, ext), strings.TrimSuffix(first, ext)+"%00")
	n, err := strconv.Atoi(rest)
	return ok && err == nil && name == another(first, n)
}

// freeState returns the name of a state that is not there.
func (m *mirror) freeState(names []string) string {
	for n := 1; ; n++ {
		name := filepath.Join(filepath.Dir(names[0]), another(filepath.Base(names[0]), n))
		if !slices.Contains(names, name) {
			return name
		}
	}
}
