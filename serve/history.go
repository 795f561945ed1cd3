package serve

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/filelock"
)

const (
	maxHistory      = 1000      // pages in the history
	maxHistoryFile  = 16 << 20  // bytes of the file that are read
	maxVisit        = 256 << 10 // bytes of a line
	maxCompletions  = 50        // URLs that the address bar suggests
	historyFileMode = 0o600
)

// A visit is a page in the history. The address is kept with the page that led to it, because the
// user did not enter all URLs that the history has.
type visit struct {
	title   string
	address address
	time    time.Time
}

type historyLine struct {
	Time    time.Time            `json:"time"`
	URL     string               `json:"url"`
	From    string               `json:"from,omitempty"`
	Foreign bool                 `json:"foreign,omitempty"`
	Title   string               `json:"title"`
	Follow  string               `json:"follow,omitempty"` // follows or unfollows; "" for a visit
	Items   map[string]knownItem `json:"items,omitempty"`
}

// history holds the visited and the followed pages: in memory until the program ends, or also in a file.
type history struct {
	mu      sync.Mutex
	file    string
	loaded  bool
	lines   int       // of the file
	list    []visit   // oldest first
	sources []*source // in the order in which the user followed them
}

// load reads the file once.
func (h *history) load() error {
	if h.loaded || h.file == "" {
		return nil
	}
	h.loaded = true
	if err := h.read(); err != nil || h.lines <= 2*maxHistory {
		return err
	}
	return h.rewrite(func(*history) {})
}

// read reads the file. Lines that cannot be parsed or are too long are ignored.
func (h *history) read() error {
	f, err := os.Open(h.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > maxHistoryFile {
		f.Seek(-maxHistoryFile, io.SeekEnd)
	}
	in := bufio.NewReaderSize(f, maxVisit)
	for isRest := false; ; {
		line, err := in.ReadSlice('\n')
		if err == io.EOF && len(line) == 0 {
			return nil
		}
		isLong := errors.Is(err, bufio.ErrBufferFull)
		if err != nil && err != io.EOF && !isLong {
			return err
		}
		if !isLong {
			h.lines++
		}
		if !isLong && !isRest {
			h.take(line)
		}
		isRest = isLong
	}
}

func (h *history) take(text []byte) {
	var line historyLine
	if json.Unmarshal(text, &line) != nil {
		return
	}
	u, err := uri.Parse(line.URL)
	from, bad := uri.Parse(line.From)
	if err != nil || bad != nil || !u.IsAbs() {
		return
	}
	a := address{url: u.WithoutPassword(), from: from, foreign: line.Foreign}
	switch line.Follow {
	case "":
		h.push(visit{line.Title, a, line.Time})
	case follows:
		h.follow(&source{title: line.Title, address: a, since: line.Time, known: line.Items})
	case unfollows:
		h.unfollow(a.url)
	}
}

// push appends a visit to the list. A page that is shown again is not listed twice.
func (h *history) push(v visit) {
	if n := len(h.list); n > 0 && h.list[n-1].address.url == v.address.url {
		h.list = h.list[:n-1]
	}
	h.list = append(h.list, v)
	if len(h.list) > maxHistory {
		h.list = h.list[1:]
	}
}

func (h *history) add(v visit) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.load()
	again := len(h.list) > 0 && h.list[len(h.list)-1].address.url == v.address.url
	h.push(v)
	if again || err != nil {
		return err
	}
	return h.append(v.line())
}

// append appends lines to the file, which is replaced by a shorter one if it is long. The file is also that
// of other programs.
func (h *history) append(lines ...[]byte) error {
	if h.file == "" || len(lines) == 0 {
		return nil
	}
	err := os.MkdirAll(filepath.Dir(h.file), 0o777)
	if err == nil {
		err = h.write(bytes.Join(lines, nil))
	}
	if h.lines += len(lines); err != nil || h.lines <= 2*maxHistory {
		return err
	}
	return h.rewrite(func(*history) {})
}

func (h *history) write(text []byte) error {
	defer filelock.Guard(h.file)()
	f, err := os.OpenFile(h.file, os.O_RDWR|os.O_APPEND|os.O_CREATE, historyFileMode)
	if err != nil {
		return err
	}
	var last [1]byte
	if size, err := f.Seek(0, io.SeekEnd); err == nil && size > 0 {
		if f.ReadAt(last[:], size-1); last[0] != '\n' { // a program was killed while it wrote
			text = append([]byte{'\n'}, text...)
		}
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Chmod(historyFileMode), f.Close())
}

func (v visit) line() []byte { return historyLine{Title: v.title}.at(v.time, v.address) }

// at returns the line, or nothing if it would be too long to be read.
func (l historyLine) at(t time.Time, a address) []byte {
	l.Time, l.URL, l.From, l.Foreign = t.UTC(), a.url.String(), a.from.String(), a.foreign
	text, err := json.Marshal(l)
	if err != nil {
		panic(err) // all fields are text, times and marks
	}
	if len(text) >= maxVisit {
		return nil
	}
	return append(text, '\n')
}

// rewrite replaces the file by what change leaves of the history in it. It reads the file for this, because
// other programs write to it too.
func (h *history) rewrite(change func(all *history)) error {
	defer filelock.Guard(h.file)()
	all := &history{file: h.file}
	if err := all.read(); err != nil {
		return err
	}
	change(all)
	h.lines = len(all.list) + len(all.sources)
	if h.lines == 0 {
		if err := os.Remove(h.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	var text []byte
	for _, v := range all.list {
		text = append(text, v.line()...)
	}
	for _, src := range all.sources { // last, because the beginning of a long file is not read
		text = append(text, src.line()...)
	}
	return replaceFile(h.file, text)
}

func (h *history) all(n int) ([]visit, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.load()
	list := slices.Clone(h.list[max(0, len(h.list)-n):])
	slices.Reverse(list)
	return list, err
}

// clear removes the visits, and what the user has read of the followed pages.
func (h *history) clear() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.load()
	h.forget()
	if h.file == "" || err != nil {
		return err
	}
	return h.rewrite((*history).forget)
}

func (h *history) forget() {
	h.list = nil
	for _, src := range h.sources {
		src.known = nil
	}
}

type visitRow struct{ Title, URL, Link string }

func (p *page) putVisit(title string) {
	a := p.address
	a.url, a.cacheID = a.url.WithoutPassword(), ""
	if err := p.s.history.add(visit{title, a, time.Now()}); err != nil {
		p.put("broken", fetch.Printable("history: "+err.Error()))
	}
}

func (s *Server) visits(n int) ([]visitRow, error) {
	list, err := s.history.all(n)
	var rows []visitRow
	for _, v := range list {
		rows = append(rows, visitRow{fetch.Printable(v.title),
			fetch.Printable(v.address.url.Redacted()), s.link("/view", v.address)})
	}
	return rows, err
}

func (s *Server) completions() []visitRow {
	seen := make(map[string]bool)
	var rows []visitRow
	add := func(title string, u uri.URI) {
		text := u.Redacted()
		if len(rows) < maxCompletions && len(text) <= maxShownURL && !seen[text] &&
			fetch.Printable(text) == text {
			seen[text] = true
			rows = append(rows, visitRow{Title: fetch.Printable(title), URL: text})
		}
	}
	list, _ := s.history.all(maxHistory)
	for _, v := range list {
		add(v.title, v.address.url)
	}
	marks, _ := s.marks.all()
	for _, m := range marks {
		add(m.title, m.url)
	}
	return rows
}

// maxShownURL limits a suggested URL, in bytes.
const maxShownURL = 500

func (s *Server) showHistory(w http.ResponseWriter, r *http.Request) {
	p := s.newPage(w, r, address{})
	p.begin(http.StatusOK, "History")
	rows, err := s.visits(maxHistory)
	p.put("history", struct {
		File string
		Rows []visitRow
	}{fetch.Printable(s.History), rows})
	p.putError(err)
	p.end(nil)
}

func (s *Server) forget(w http.ResponseWriter, r *http.Request) {
	s.afterChange(w, r, s.history.clear(), "/")
}
