package mirror

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"mime"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/urlget/urlget/fetch/uri"
)

// During a run, the first URL that prefers a path gets it, and a later one gets a provisional path. At
// the end of the run, settle decides about these paths, so that the result does not depend on the
// order of the responses. A path that was settled in an earlier run does not change.

// Prefixes of names in the state for settle.
const (
	// A provisionalPrefix and the key of a URL with a provisional path have the path of the layout as
	// owner.
	provisionalPrefix = "a:"
	// A preferredPrefix, a preferred path, a NUL and a key have no owner. They replace the former when
	// the preferred path is certain.
	preferredPrefix = "p:"
	// A movePrefix and a key have the fields of a move as owner.
	movePrefix = "m:"
	// asideKey has an owner if all files to be moved have temporary names.
	asideKey = "n:"
	// placedKey has an owner if a file has another path than that of the layout. Only the state knows it.
	placedKey = "t:"
	// layoutKey has the version of the layout as owner.
	layoutKey = "l:"
)

// layoutVersion is the version of the rules for names. States of version 1 do not record it.
const layoutVersion = "2"

// prepareNames completes the interrupted work of settle on the state. It renames files with names
// of an older layout.
func (m *mirror) prepareNames() error {
	if err := m.move(); err != nil {
		return err
	}
	version, _, err := m.state.Owner(layoutKey)
	if err != nil {
		return err
	}
	if version == "" && len(m.state.Seeds()) > 0 {
		if err := m.findOldNames(); err != nil {
			return err
		}
	}
	if !m.state.Continues() {
		if err := m.settle(); err != nil {
			return err
		}
	}
	_, err = m.state.Claim(layoutKey, layoutVersion)
	return err
}

// provisionalName matches provisional names, which are the final ones of layout 1.
var provisionalName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%00\d*(\.[^.]*)?$`) })

func isProvisional(name string) bool {
	return strings.Contains(name, "%00") && provisionalName().MatchString(path.Base(name))
}

// withoutNumber returns the path that a URL with a provisional path wants.
func withoutNumber(name string) string {
	return path.Join(path.Dir(name), provisionalName().ReplaceAllString(path.Base(name), "$1"))
}

// findOldNames records the files that have another name in this layout, in the same directory.
func (m *mirror) findOldNames() error {
	for _, name := range m.names(filePrefix, -1) {
		base := path.Base(name)
		if !strings.Contains(base, "%2E") && !provisionalName().MatchString(base) {
			continue
		}
		owner, _, err := m.state.Owner(filePrefix + name)
		if err != nil {
			return err
		}
		u, err := uri.Parse(owner)
		if err != nil {
			continue
		}
		t := m.d.Client.Traits(u)
		want := path.Base(m.Layout.Path(u, t))
		if t.Pages && strings.HasPrefix(base, strings.Replace(t.IndexName(), ".", "%2E", 1)) {
			base = want
		} else {
			base = provisionalName().ReplaceAllString(base, "$1")
		}
		if !strings.HasPrefix(base, want) {
			continue
		}
		if _, err := m.state.Claim(provisionalPrefix+owner, path.Join(path.Dir(name), base)); err != nil {
			return err
		}
	}
	return nil
}

// settle gives the URLs that prefer the same path their final paths. The path goes to the URL that
// has it from an earlier run, otherwise to the first in the order of contender.compare. The others
// get alternatives, or share an index page of the same content.
func (m *mirror) settle() error {
	if err := m.completePreferences(); err != nil {
		return err
	}
	for {
		entries := m.preferences(maxSettled)
		if len(entries) == 0 {
			return nil
		}
		if err := m.d.Flush(); err != nil {
			return err
		}
		s := settlement{mirror: m, taken: map[string]bool{}}
		for len(entries) > 0 {
			want := entries[0].path
			n := 0
			for n < len(entries) && entries[n].path == want {
				n++
			}
			if err := s.group(want, entries[:n]); err != nil {
				return err
			}
			entries = entries[n:]
		}
		for _, v := range s.moves {
			if _, err := m.state.Claim(movePrefix+v.key, v.String()); err != nil {
				return err
			}
		}
		for _, e := range s.done {
			m.state.Disclaim(e.name())
		}
		if err := m.move(); err != nil {
			return err
		}
	}
}

const maxSettled = 100_000

// A preference is the preferred path of a URL that has another one.
type preference struct{ path, key string }

func (p preference) name() string { return preferredPrefix + p.path + "\x00" + p.key }

// completePreferences turns provisional paths into preferences. Only now it is certain which files have
// an added extension, and which paths are directories.
func (m *mirror) completePreferences() error {
	for {
		keys := m.names(provisionalPrefix, maxSettled)
		if len(keys) == 0 {
			return nil
		}
		for _, key := range keys {
			want, _, err := m.state.Owner(provisionalPrefix + key)
			if err != nil {
				return err
			}
			if u, err := uri.Parse(key); err == nil {
				v, _ := m.memoOf(u)
				p := preference{m.preferred(u, v, want), key}
				if _, err := m.state.Claim(p.name(), ""); err != nil {
					return err
				}
			}
			m.state.Disclaim(provisionalPrefix + key)
		}
	}
}

// preferences returns the first preferences by path: all of one path, and more until there are most.
func (m *mirror) preferences(most int) (list []preference) {
	for name := range m.state.Names(preferredPrefix) {
		name, key, _ := strings.Cut(strings.TrimPrefix(name, preferredPrefix), "\x00")
		if n := len(list); n >= most && list[n-1].path != name {
			break
		}
		list = append(list, preference{name, key})
	}
	return list
}

func (m *mirror) preferred(u uri.URI, v memo, want string) string {
	if ext := extension(v.Type, want); m.Extend && ext != "" {
		return want + ext
	}
	t := m.d.Client.Traits(u)
	if info, err := m.d.Root.Lstat(want); err == nil && info.IsDir() && t.Pages && isPage(v.Type) {
		return path.Join(want, t.IndexName())
	}
	return want
}

func isPage(contentType string) bool {
	mediaType, _, _ := mime.ParseMediaType(contentType)
	return mediaType == "text/html" || mediaType == "application/xhtml+xml" || mediaType == "text/gemini"
}

type settlement struct {
	*mirror
	moves []move
	done  []preference
	taken map[string]bool // paths assigned by the decisions
}

// A contender is a URL that prefers the path of a group and has a file.
type contender struct {
	key  string
	u    uri.URI
	memo memo
	rank int // 0 for the URL of a directory, 1 if the layout gives it the path, otherwise 2
}

func (c contender) compare(d contender) int {
	return cmp.Or(cmp.Compare(c.rank, d.rank), strings.Compare(c.key, d.key))
}

// contender returns the contender with a key. It returns false if that has no file of its own.
func (s *settlement) contender(key, want string) (c contender, ok bool) {
	u, err := uri.Parse(key)
	if err != nil {
		return c, false
	}
	c = contender{key: key, u: u}
	c.memo, _ = s.memoOf(u)
	if c.memo.Path == "" || c.memo.Shared != "" || !s.owns(c.memo.Path, key) || !s.isFile(c.memo.Path) {
		return c, false
	}
	switch {
	case s.Layout.Path(u, s.d.Client.Traits(u)) != want:
		c.rank = 2
	case !strings.HasSuffix(u.URLPath(), "/"):
		c.rank = 1
	}
	return c, true
}

func (m *mirror) isFile(name string) bool {
	info, err := m.d.Lstat(name)
	return err == nil && info.Mode().IsRegular()
}

func (s *settlement) group(want string, entries []preference) error {
	s.done = append(s.done, entries...)
	s.removeOrphans(want, entries)
	var list []contender
	for _, e := range entries {
		if c, ok := s.contender(e.key, want); ok {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		return nil
	}
	free, holder, err := s.holder(want)
	if err != nil {
		return err
	}
	if holder != nil && free &&
		!slices.ContainsFunc(list, func(c contender) bool { return c.key == holder.key }) {
		list = append(list, *holder)
	}
	slices.SortFunc(list, contender.compare)
	first := holder
	if free {
		first, list = &list[0], list[1:]
		s.assign(*first, want)
	}
	n := 0
	for _, c := range list {
		if first != nil && s.mayShare(c.u, want) {
			equal, err := s.equal(first.memo, c.memo)
			if err != nil {
				return err
			}
			if equal {
				s.moves = append(s.moves, move{key: c.key, from: c.memo.Path, to: want, shared: first.key})
				continue
			}
		}
		for {
			n++
			name := alternative(want, n)
			ok, err := s.available(name)
			if err != nil {
				return err
			}
			if ok {
				s.assign(c, name)
				break
			}
		}
	}
	return nil
}

// removeOrphans removes the files with provisional paths that no URL has, because a crash came before
// the state was written.
func (s *settlement) removeOrphans(want string, entries []preference) {
	checked := map[string]bool{}
	for i := range len(entries) + 1 {
		name := want
		if i > 0 {
			u, err := uri.Parse(entries[i-1].key)
			if err != nil {
				continue
			}
			name = s.Layout.Path(u, s.d.Client.Traits(u))
		}
		if checked[name] {
			continue
		}
		checked[name] = true
		for n, last := 1, len(entries)+10; n < last; n++ {
			s.removeUnowned(provisional(name, n))
		}
	}
}

// removeUnowned removes what was saved under a provisional path, if no URL has it.
func (m *mirror) removeUnowned(name string) {
	owner, _, err := m.state.Owner(filePrefix + name)
	if err == nil && owner == "" && isProvisional(name) {
		m.d.Root.Remove(name)
		m.removePart(name)
	}
}

// removePart removes the partial file that an interrupted run left under another path for its URL.
func (m *mirror) removePart(name string) {
	m.d.Discard(name) // it does no harm if that fails
}

func (s *settlement) assign(c contender, name string) {
	s.taken[name] = true
	if name != c.memo.Path {
		s.moves = append(s.moves, move{key: c.key, from: c.memo.Path, to: name})
	}
}

// holder returns the URL whose file has a path, or nil if the path has no file of the mirror. Free
// is true if the path can go to another URL.
func (s *settlement) holder(name string) (free bool, _ *contender, _ error) {
	info, err := s.d.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil, nil // its visit may have failed
	}
	owner, _, err2 := s.state.Owner(filePrefix + name)
	if err2 != nil {
		return false, nil, err2
	}
	if err != nil || !info.Mode().IsRegular() || owner == "" {
		return false, nil, nil
	}
	c, ok := s.contender(owner, name)
	if !ok || c.memo.Path != name {
		return false, nil, nil
	}
	if c.memo.Run != s.state.Number() {
		return false, &c, nil
	}
	return true, &c, nil
}

// available reports whether a path can be an alternative path: no other URL prefers it or keeps it.
func (s *settlement) available(name string) (bool, error) {
	owner, _, err := s.state.Owner(filePrefix + name)
	if err != nil || owner != "" || s.taken[name] {
		return false, err
	}
	if _, err := s.d.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	for range s.state.Names(preferredPrefix + name + "\x00") {
		return false, nil
	}
	return true, nil
}

// mayShare reports whether a URL may share the file of the path with another URL: a page of a
// directory has two URLs on most servers.
func (m *mirror) mayShare(u uri.URI, name string) bool {
	t := m.d.Client.Traits(u)
	return t.Pages && path.Base(name) == t.IndexName()
}

func (m *mirror) equal(a, b memo) (bool, error) {
	var files [2]io.ReadCloser
	var infos [2]fs.FileInfo
	for i, v := range []memo{a, b} {
		f, err := m.d.Root.Open(cmp.Or(m.originalOf(v), v.Path))
		if err != nil {
			return false, fileError(err)
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return false, fileError(err)
		}
		files[i], infos[i] = f, info
	}
	if infos[0].Size() != infos[1].Size() || os.SameFile(infos[0], infos[1]) {
		return infos[0].Size() == infos[1].Size(), nil
	}
	x, y := make([]byte, 32<<10), make([]byte, 32<<10)
	for {
		n, err := io.ReadFull(files[0], x)
		k, err2 := io.ReadFull(files[1], y)
		if string(x[:n]) != string(y[:k]) {
			return false, nil
		}
		if err != nil || err2 != nil {
			end := func(err error) bool { return err == io.EOF || err == io.ErrUnexpectedEOF }
			if end(err) && end(err2) {
				return true, nil
			}
			return false, fileError(errors.Join(err, err2))
		}
	}
}
