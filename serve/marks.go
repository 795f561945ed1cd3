package serve

import (
	"bytes"
	_ "embed" // for places
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/filelock"
)

const (
	maxBookmarks     = 10_000
	maxBookmarksFile = 4 << 20 // bytes
)

// bookmarks manages the bookmarks file. A line has a URL, a space and a title. Empty lines and
// comments that begin with "#" are preserved.
type bookmarks struct {
	mu   sync.Mutex
	file string
}

type mark struct {
	url   uri.URI
	title string
}

// places has the bookmarks of a user without a file: public servers to try, one for each kind.
//
//go:embed places.txt
var places []byte

func (b *bookmarks) read() ([]byte, error) {
	if b.file == "" {
		return places, nil
	}
	text, err := readSmall(b.file, maxBookmarksFile)
	if errors.Is(err, fs.ErrNotExist) {
		return places, nil
	}
	return text, err
}

func (b *bookmarks) isNew() bool {
	_, err := os.Stat(b.file)
	return b.file == "" || errors.Is(err, fs.ErrNotExist)
}

func parseMark(line string) (mark, bool) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return mark{}, false
	}
	where, title, _ := strings.Cut(line, " ")
	u, err := uri.Parse(where)
	if err != nil || !u.IsAbs() {
		return mark{}, false
	}
	if title = strings.TrimSpace(title); title == "" {
		title = u.Redacted()
	}
	return mark{u, title}, true
}

func (b *bookmarks) all() ([]mark, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	text, err := b.read()
	return parseMarks(text), err
}

func parseMarks(text []byte) (list []mark) {
	for line := range bytes.Lines(text) {
		if m, ok := parseMark(string(line)); ok && len(list) < maxBookmarks {
			list = append(list, m)
		}
	}
	return list
}

func (b *bookmarks) has(u uri.URI) bool {
	list, _ := b.all()
	return slices.ContainsFunc(list, func(m mark) bool { return m.url == u })
}

func (b *bookmarks) add(m mark) error {
	return b.change(func(text []byte) []byte {
		if n := len(text); n > 0 && text[n-1] != '\n' {
			text = append(text, '\n')
		}
		title := strings.Join(strings.Fields(fetch.Printable(m.title)), " ")
		return fmt.Appendf(text, "%s %s\n", m.url.WithoutPassword(), title)
	})
}

func (b *bookmarks) remove(u uri.URI) error {
	return b.change(func(text []byte) []byte {
		var kept []byte
		for line := range bytes.Lines(text) {
			if m, ok := parseMark(string(line)); !ok || m.url != u {
				kept = append(kept, line...)
			}
		}
		return kept
	})
}

func (b *bookmarks) change(f func([]byte) []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.file == "" {
		return errors.New("no bookmarks file is configured")
	}
	if err := os.MkdirAll(filepath.Dir(b.file), 0o777); err != nil {
		return err
	}
	defer filelock.Guard(b.file)()
	text, err := b.read()
	if err != nil {
		return err
	}
	return replaceFile(b.file, f(text))
}

func (s *Server) bookmark(w http.ResponseWriter, r *http.Request) {
	s.changeMarks(w, r, func(a address) error {
		if s.marks.has(a.url) {
			return nil
		}
		return s.marks.add(mark{a.url, r.PostForm.Get("title")})
	})
}

func (s *Server) unbookmark(w http.ResponseWriter, r *http.Request) {
	s.changeMarks(w, r, func(a address) error { return s.marks.remove(a.url) })
}

func (s *Server) changeMarks(w http.ResponseWriter, r *http.Request, f func(address) error) {
	if !parseForm(w, r, "bookmark form") {
		return
	}
	a, err := s.verify(r.PostForm)
	if err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	next := s.link("/view", a)
	if r.PostForm.Has("list") { // pressed on the list of all
		next = "/following"
	}
	s.afterChange(w, r, f(a), next)
}

func (s *Server) afterChange(w http.ResponseWriter, r *http.Request, err error, next string) {
	if err != nil {
		s.newPage(w, r, address{}).show(nil, &fetch.Error{Code: fetch.ErrFile, Err: err})
		return
	}
	http.Redirect(w, r, next, http.StatusSeeOther)
}
