package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
)

const (
	// maxSavings limits the list of downloads. Finished ones leave it first.
	maxSavings = 500
	// maxSaving is the number of downloads that run at once. Others wait.
	maxSaving = 4
	// downloadsFile is the list of downloads, in their directory.
	downloadsFile  = ".urlget-downloads.json"
	maxSavingsFile = 16 << 20 // bytes
)

// A saveState is the state of a download. Its value is stored in a file.
type saveState string

const (
	saveWaiting     saveState = "waiting"
	saveRunning     saveState = "running"
	saveDone        saveState = "done"
	saveFailed      saveState = "failed"
	saveCanceled    saveState = "canceled"
	saveInterrupted saveState = "interrupted" // the program ended
)

// A saving is a download of the program, as opposed to one of the browser. Its fields are protected by
// the mutex of its list.
type saving struct {
	id      string
	name    string // of the file, in the directory
	address address
	state   saveState
	message string // error of the last attempt
	done    int64  // bytes so far, including those of earlier attempts
	total   int64  // bytes; -1 if unknown
	started time.Time
	before  int64 // bytes of earlier attempts
	cancel  context.CancelFunc
}

// active reports whether the download is waiting or running.
func (d *saving) active() bool { return d.state == saveWaiting || d.state == saveRunning }

// A savingLine is a download in the file. The address is kept with the page that led to it, because the
// user did not enter all URLs.
type savingLine struct {
	Name    string    `json:"name"`
	URL     string    `json:"url"`
	From    string    `json:"from,omitempty"`
	Foreign bool      `json:"foreign,omitempty"`
	At      time.Time `json:"at,omitzero"` // capture time
	Live    bool      `json:"live,omitempty"`
	State   saveState `json:"state"`
	Message string    `json:"message,omitempty"`
	Done    int64     `json:"done"`
	Total   int64     `json:"total"`
}

// savings holds the downloads of the program in a directory.
type savings struct {
	mu     sync.Mutex
	dir    string // "" means that there are none
	loaded bool
	closed bool
	list   []*saving // oldest first
	slots  chan struct{}
	ended  sync.WaitGroup
}

// load reads the file once. The caller holds the mutex.
func (l *savings) load() error {
	if l.loaded {
		return nil
	}
	l.loaded, l.slots = true, make(chan struct{}, maxSaving)
	text, err := os.ReadFile(filepath.Join(l.dir, downloadsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && len(text) > maxSavingsFile {
		err = fmt.Errorf("%s has more than %d bytes", downloadsFile, maxSavingsFile)
	}
	var lines []savingLine
	if err == nil {
		err = json.Unmarshal(text, &lines)
	}
	if err != nil {
		return fmt.Errorf("the list of downloads: %w", err)
	}
	root, err := os.OpenRoot(l.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	loader := &download.Downloader{Root: root}
	for _, line := range lines {
		if d := line.saving(); d != nil && len(l.list) < maxSavings {
			if d.state == saveInterrupted {
				d.done, _ = loader.Partial(d.name)
			}
			l.list = append(l.list, d)
		}
	}
	return loader.Flush()
}

// saving returns the download of a line, or nil if the line is not valid.
func (line savingLine) saving() *saving {
	u, err := uri.Parse(line.URL)
	from, bad := uri.Parse(line.From)
	if err != nil || bad != nil || !u.IsAbs() || download.CheckName(line.Name) != nil || strings.Contains(line.Name, "/") {
		return nil
	}
	d := &saving{id: newID(), name: line.Name, address: address{url: u.WithoutPassword(), from: from, foreign: line.Foreign, at: line.At, live: line.Live},
		state: line.State, message: line.Message, done: line.Done, total: line.Total}
	if d.active() {
		d.state = saveInterrupted
	}
	return d
}

// save replaces the file. The caller holds the mutex.
func (l *savings) save() error {
	lines := []savingLine{}
	for _, d := range l.list {
		lines = append(lines, savingLine{d.name, d.address.url.String(), d.address.from.String(), d.address.foreign, d.address.at, d.address.live, d.state, d.message, d.done, d.total})
	}
	text, err := json.MarshalIndent(lines, "", " ")
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(l.dir, downloadsFile), append(text, '\n'))
}

// find returns a download, or nil. The caller holds the mutex.
func (l *savings) find(id string) *saving {
	for _, d := range l.list {
		if d.id == id {
			return d
		}
	}
	return nil
}

// add adds a download to the list, under a name that no file or other download has.
func (l *savings) add(a address, name string) (*saving, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.load(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(l.dir, 0o777); err != nil {
		return nil, err
	}
	if !l.makeRoom() {
		return nil, fmt.Errorf("%d downloads are not finished; cancel and remove some", maxSavings)
	}
	unique := name
	for i := 1; l.isTaken(unique); i++ {
		unique = name + "." + strconv.Itoa(i)
	}
	a.url, a.cacheID = a.url.WithoutPassword(), ""
	d := &saving{id: newID(), name: unique, address: a, state: saveWaiting, total: -1}
	l.list = append(l.list, d)
	return d, l.save()
}

// makeRoom removes the oldest finished download if the list is full, and reports whether it has room.
func (l *savings) makeRoom() bool {
	if len(l.list) < maxSavings {
		return true
	}
	for i, d := range l.list {
		if d.state == saveDone {
			l.list = slices.Delete(l.list, i, i+1)
			return true
		}
	}
	return false
}

// isTaken reports whether a file or a download has a name.
func (l *savings) isTaken(name string) bool {
	for _, d := range l.list {
		if d.name == name && d.state != saveDone {
			return true
		}
	}
	for _, file := range []string{name, name + ".part", name + ".part.json"} {
		if _, err := os.Lstat(filepath.Join(l.dir, file)); err == nil {
			return true
		}
	}
	return false
}

// Close cancels the downloads of the program and Options.Queue, and waits until they have ended. A later
// Server can resume the downloads.
func (s *Server) Close() error {
	defer s.queue.close()
	l := &s.savings
	l.mu.Lock()
	l.closed = true
	for _, d := range l.list {
		if d.cancel != nil {
			d.cancel()
		}
	}
	l.mu.Unlock()
	l.ended.Wait()
	return nil
}

// startSaving starts a download, or resumes it.
func (s *Server) startSaving(d *saving) {
	l := &s.savings
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || d.cancel != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	d.state, d.message, d.cancel = saveWaiting, "", cancel
	l.ended.Go(func() {
		defer cancel()
		err := s.saveFile(ctx, d)
		l.mu.Lock()
		defer l.mu.Unlock()
		d.cancel = nil
		switch {
		case err == nil:
			d.state = saveDone
		case l.closed:
			d.state = saveInterrupted
		case ctx.Err() != nil:
			d.state = saveCanceled
		default:
			d.state, d.message = saveFailed, messageOf(err)
		}
		if err := l.save(); err != nil && d.message == "" {
			d.message = err.Error()
		}
	})
}

// saveFile retrieves the file of a download.
func (s *Server) saveFile(ctx context.Context, d *saving) error {
	l := &s.savings
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	c, err := s.client(d.address)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(l.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	loader := &download.Downloader{Client: c, Root: root, Tool: "urlget serve"}
	before, _ := loader.Partial(d.name)
	l.mu.Lock()
	d.state, d.started, d.before, d.done = saveRunning, time.Now(), before, before
	l.mu.Unlock()
	req := &fetch.Request{}
	if ctx, err = s.prepare(ctx, d.address, req); err != nil {
		return err
	}
	result, err := loader.Do(ctx, req, d.name, &download.Options{Exists: download.Skip, ResumePart: true, Progress: func(done, total int64) {
		l.mu.Lock()
		d.done, d.total = done, total
		l.mu.Unlock()
	}})
	if err = errors.Join(err, loader.Flush()); err == nil && result.Outcome == download.Skipped {
		err = fmt.Errorf("the file %s exists", d.name)
	}
	if err == nil {
		l.mu.Lock()
		d.done, d.total = result.Size, result.Size
		l.mu.Unlock()
	}
	return err
}

// remove removes a download that is not active from the list, and its partial file.
func (l *savings) remove(id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.find(id)
	if d == nil || d.cancel != nil {
		return nil
	}
	var err error
	if root, wrong := os.OpenRoot(l.dir); wrong == nil && d.state != saveDone {
		loader := &download.Downloader{Root: root}
		err = errors.Join(loader.Discard(d.name), loader.Flush(), root.Close())
	}
	l.list = slices.DeleteFunc(l.list, func(other *saving) bool { return other == d })
	return errors.Join(err, l.save())
}

// nameFor returns the file name for an address: the one that the page suggests, or that of the URL.
func nameFor(a address, suggested string) string {
	if suggested = fetch.SafeName(suggested); suggested != "" {
		return download.Name(a.url, &fetch.Meta{Name: suggested})
	}
	return download.Name(a.url, nil)
}
