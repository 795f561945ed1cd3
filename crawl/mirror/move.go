package mirror

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/urlget/urlget/fetch/uri"
)

// A move renames the file of a URL. If shared is a key, the file is removed instead, because that
// of the other URL is the same.
type move struct{ key, from, to, shared string }

func (v move) String() string { return v.from + "\x00" + v.to + "\x00" + v.shared }

// recordedMoves returns the recorded moves. It writes pending changes of the state.
func (m *mirror) recordedMoves() (list []move, err error) {
	for _, key := range m.names(movePrefix, -1) {
		text, _, err := m.state.Owner(movePrefix + key)
		if err != nil {
			return nil, err
		}
		if f := strings.Split(text, "\x00"); len(f) == 3 {
			list = append(list, move{key, f[0], f[1], f[2]})
		}
	}
	return list, nil
}

// move carries out the recorded moves. After a crash it goes on where it was interrupted: first all
// files get temporary names, because a new path may be the old one of another file.
func (m *mirror) move() error {
	moves, err := m.recordedMoves()
	if len(moves) == 0 || err != nil {
		return err
	}
	aside, _, err := m.state.Owner(asideKey)
	if err != nil {
		return err
	}
	if aside == "" {
		for _, v := range moves {
			if err := m.setAside(v); err != nil {
				return err
			}
		}
		if _, err := m.state.Claim(asideKey, layoutVersion); err != nil {
			return err
		}
		if _, err := m.recordedMoves(); err != nil { // for its write
			return err
		}
	}
	for _, v := range moves {
		if err := m.place(v); err != nil {
			return err
		}
		m.state.Disclaim(movePrefix + v.key)
	}
	m.state.Disclaim(asideKey)
	return nil
}

func (v move) temporary() string {
	sum := sha256.Sum256([]byte(v.key))
	return path.Join(path.Dir(v.from), fmt.Sprintf("%s-%x.new", stateDir, sum[:8]))
}

// setAside gives a file and its unconverted original temporary names, or removes them.
func (m *mirror) setAside(v move) error {
	if m.owns(v.from, v.key) {
		m.state.Disclaim(filePrefix + v.from)
	}
	if !m.isFile(v.from) {
		return nil
	}
	for _, suffix := range []string{"", backup} {
		var err error
		if v.shared != "" {
			err = m.d.Root.Remove(v.from + suffix)
		} else {
			err = m.d.Root.Rename(v.from+suffix, v.temporary()+suffix)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fileError(err)
		}
	}
	return nil
}

func (m *mirror) place(v move) error {
	u, err := uri.Parse(v.key)
	if err != nil {
		return nil
	}
	if v.shared != "" {
		return m.share(u, v)
	}
	if v.to != m.Layout.Path(u, m.d.Client.Traits(u)) {
		if _, err := m.state.Claim(placedKey, layoutVersion); err != nil {
			return err
		}
	}
	for _, suffix := range []string{"", backup} {
		err := m.d.Root.Rename(v.temporary()+suffix, v.to+suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fileError(err)
		}
	}
	m.state.Disclaim(filePrefix + v.to) // of a URL without a file
	if _, err := m.state.Claim(filePrefix+v.to, v.key); err != nil {
		return err
	}
	return m.updateSettled(u, v, func(memo *memo) { memo.Path = v.to })
}

func (m *mirror) share(u uri.URI, v move) error {
	other, err := uri.Parse(v.shared)
	if err != nil {
		return nil
	}
	if _, err := m.state.Claim(filePrefix+v.to, v.shared); err != nil {
		return err
	}
	first, _ := m.memoOf(other)
	return m.updateSettled(u, v, func(memo *memo) {
		memo.Path, memo.Shared = v.to, v.shared
		memo.Size, memo.Saved, memo.Page = first.Size, first.Saved, first.Page
	})
}

// updateSettled changes the memo of a URL whose file was moved, and reports the file.
func (m *mirror) updateSettled(u uri.URI, v move, change func(*memo)) error {
	var now memo
	err := m.updateMemo(u, func(v memo, _ bool) memo {
		now = v
		change(&now)
		return now
	})
	if err == nil && now.Path == v.to {
		m.reportNamed(v, now)
	}
	return err
}
