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

const stateDir = ".urlget"

// FindState returns the state file that a Run in dir would use, and whether Run would resume an
// unfinished mirror. It changes nothing. If a state is in use, it returns its file name and an
// error that wraps crawl.ErrInUse.
func FindState(c *fetch.Client, dir string, seeds []uri.URI, opts *Options) (name string,
	unfinished bool, err error) {
	m := &mirror{d: &download.Downloader{Client: c}, Options: *opts}
	names := []string{m.State}
	if m.State == "" {
		if names, err = m.statesIn(filepath.Join(dir, stateDir), seeds[0]); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			return names[0], false, err
		}
	}
	fresh := ""
	for _, name := range names {
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			fresh = name
		} else if err := m.tryState(name, seeds); err != nil {
			return name, false, errors.Join(err, m.closeState())
		}
	}
	switch {
	case m.state != nil && (fresh == "" || m.state.Continues()):
		name, unfinished = m.file, m.state.Continues()
	case fresh != "":
		name = fresh
	default:
		name = m.newStateName(names)
	}
	return name, unfinished, m.closeState()
}

// kindKey is the name in a state whose owner is the kind of the mirror.
const kindKey = "k:"

// kind returns the kind of the mirror. Only a mirror of the same kind can resume an unfinished one.
func (m *mirror) kind() string {
	kind := "once"
	switch {
	case m.Spider:
		kind = "spider"
	case m.Newer:
		kind = "newer"
	case m.Convert:
		kind = "kept"
	}
	if m.Crawl.Scope.SeedsOnly {
		kind += " page"
	}
	return kind
}

// keptKind returns the kind of m if m uses the state that an earlier mirror has kept.
func (m *mirror) keptKind() string {
	if m.Keep {
		return strings.Replace(m.kind(), "once", "kept", 1)
	}
	return m.kind()
}

// keepsState reports whether the next run needs the state: for the validators, or because nothing else
// says which pages were converted.
func (m *mirror) keepsState() bool { return (m.Newer || m.Convert) && !m.Spider }

// removesState reports whether the state is removed after a complete run.
func (m *mirror) removesState() bool {
	kind, _, err := m.state.Owner(kindKey)
	placed, _, err2 := m.state.Owner(placedKey)
	return err == nil && err2 == nil && kind == m.kind() && placed == "" && !m.keepsState() && m.State == ""
}

// openState opens the state that m resumes, reuses or creates. It never takes over an unfinished
// state that m cannot resume.
func (m *mirror) openState(seeds []uri.URI) error {
	if len(seeds) == 0 {
		return &fetch.Error{Op: "mirror", Code: fetch.ErrRequest, Err: errors.New("no start URL")}
	}
	names := []string{m.State}
	if m.State == "" {
		var err error
		if names, err = m.stateFiles(seeds[0]); err != nil {
			return err
		}
	}
	for _, name := range names { // all of them, because any state in use means that the tree is in use
		if err := m.tryState(name, seeds); err != nil {
			return errors.Join(err, m.closeState())
		}
	}
	if m.state == nil {
		m.file = m.newStateName(names)
		var err error
		if m.state, err = crawl.Open(m.file); err != nil {
			return err
		}
	}
	if m.state.Continues() {
		return nil
	}
	kind := m.kind()
	old, _, err := m.state.Owner(kindKey)
	if err == nil && m.before != nil && !strings.HasPrefix(old, "once") {
		kind = m.keptKind()
	}
	m.state.Disclaim(kindKey)
	if _, err := m.state.Claim(kindKey, kind); err != nil {
		return errors.Join(err, m.closeState())
	}
	return nil
}

// The results of suitability.
const (
	unsuitable = iota
	reusable   // and can be reused
	resumable
)

// tryState opens a state. The state becomes m.state if it suits m better than the present one,
// otherwise it is closed.
func (m *mirror) tryState(name string, seeds []uri.URI) error {
	before, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) && m.state != nil {
		return nil
	}
	state, err := crawl.Open(name)
	if err != nil {
		return err
	}
	fit, err := m.suitability(state, seeds)
	switch {
	case err != nil:
	case fit == unsuitable && m.State != "":
		err = fileError(fmt.Errorf("%s: state file of another unfinished mirror: choose another file or "+
			"remove this one", name))
	case fit != unsuitable && m.state == nil, fit == resumable && !m.state.Continues():
		err = m.closeState()
		m.state, m.file, m.before = state, name, before
		return err
	}
	return errors.Join(err, closeUnchanged(state, name, before))
}

func (m *mirror) closeState() error {
	state := m.state
	if m.state = nil; state == nil {
		return nil
	}
	return closeUnchanged(state, m.file, m.before)
}

func closeUnchanged(state *crawl.State, name string, before fs.FileInfo) error {
	err := state.Close()
	if before == nil {
		os.Remove(name)
	} else {
		os.Chtimes(name, before.ModTime(), before.ModTime())
	}
	return err
}

// suitability reports whether m may use the state. States without a kind were written by older
// versions: unfinished ones fit any kind, and complete ones count as kept.
func (m *mirror) suitability(state *crawl.State, seeds []uri.URI) (int, error) {
	kind, _, err := state.Owner(kindKey)
	switch {
	case err != nil:
		return 0, err
	case len(state.Seeds()) == 0: // never used
		return reusable, nil
	case !state.Continues() &&
		(m.State != "" || m.Keep || m.keepsState() || strings.HasPrefix(kind, "once")):
		return reusable, nil
	case !state.Continues() || kind != "" && kind != m.kind() && kind != m.keptKind():
		return unsuitable, nil
	}
	keys := make([]string, len(seeds))
	for i, u := range seeds {
		s, _ := m.d.Client.Scheme(u.Scheme())
		keys[i] = u.WithoutPort(s.Port).WithoutUserinfo().String()
	}
	for _, seed := range state.Seeds() {
		if !slices.Contains(keys, seed) {
			return unsuitable, nil
		}
	}
	return resumable, nil
}

// stateFiles returns the state files for the server of u and creates their directory. The first has
// the name of the server and may not exist; the others exist.
func (m *mirror) stateFiles(u uri.URI) ([]string, error) {
	if err := m.d.Root.Mkdir(stateDir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fileError(err)
	}
	if info, err := m.d.Root.Lstat(stateDir); err != nil || !info.IsDir() {
		return nil, fileError(&fs.PathError{Op: "open", Path: stateDir, Err: errors.New("not a directory")})
	}
	return m.statesIn(filepath.Join(m.d.Root.Name(), stateDir), u)
}

// statesIn is stateFiles for a given directory, which it does not create. If the directory is
// missing, it returns an error and the first name.
func (m *mirror) statesIn(dir string, u uri.URI) ([]string, error) {
	first := hostName(u) + ".state"
	if m.Spider { // no files belong to it
		first = strings.TrimSuffix(first, ".state") + ".spider"
	}
	names := []string{filepath.Join(dir, first)}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return names, fileError(err)
	}
	for _, e := range entries {
		if isAlternative(e.Name(), first) {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	return names, nil
}

func isAlternative(name, first string) bool {
	ext := path.Ext(first)
	rest, ok := strings.CutPrefix(strings.TrimSuffix(name, ext), strings.TrimSuffix(first, ext)+"%00")
	n, err := strconv.Atoi(rest)
	return ok && err == nil && name == provisional(first, n)
}

func (m *mirror) newStateName(names []string) string {
	for n := 1; ; n++ {
		name := filepath.Join(filepath.Dir(names[0]), provisional(filepath.Base(names[0]), n))
		if !slices.Contains(names, name) {
			return name
		}
	}
}
