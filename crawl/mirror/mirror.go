// Package mirror keeps trees of files like those of servers, by every scheme that lists or links.
//
// It is a crawl whose visits save what is found (see package crawl), with one rule for where each
// URL goes (see Layout), and a state beside the files by which an interrupted mirror goes on and
// the next one asks only for what has changed.
package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sync"
	"time"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/fetch/uri"
)

// Options say what to mirror and how. Nil means the defaults.
type Options struct {
	// Crawl says where to go, how much to do at once, and what to heed. State, Visit, Settle and Ended
	// are the mirror's own.
	Crawl  crawl.Options
	Layout Layout
	// State is the file for the state, or "": then it is in the directory .urlget below the root,
	// named after the first seed's server. What waits in a state is gone on with by a mirror of the
	// same kind whose seeds are those of the state, and perhaps more; others leave it alone.
	State string
	// Newer leaves files that are as the server has them: those of which a listing tells so are not
	// asked for, others are asked for with their time and entity tag. The state is then kept for
	// the next time; otherwise it is removed in the end.
	Newer bool
	// Keep leaves all files that are there.
	Keep bool
	// Delete removes the files of earlier mirrors that are gone: those that a listing no longer has,
	// if all listings could be read, and those that the server says are not there.
	Delete bool
	// Spider saves nothing. Its state is another one than that of a mirror, and is removed in the end.
	Spider bool
	// Convert writes the links in pages, style sheets and gopher menus anew in the end, so that they
	// lead to the files. Originals keeps what the server sent as NAME.orig. Without them, pages that
	// were converted are retrieved anew the next time, as what was sent is not known.
	Convert, Originals bool
	// Extend gives pages whose names do not say so the extension ".html".
	Extend bool

	// Retry is that of download.Options; Retrying takes the place of Retry.Report.
	Retry retry.Policy

	// Begin is told of each visit when it begins, and returns the context for it, which the functions
	// below get, and what to call when it ends. Calls may overlap.
	Begin func(ctx context.Context, u uri.URI) (context.Context, func())
	// Progress is called as the bytes of a file arrive, with its path below the root; the numbers are
	// those of download.Options. Calls may overlap.
	Progress func(ctx context.Context, path string, done, total int64)
	// Ended is told of each URL, and of each file that was removed. Calls do not overlap.
	Ended func(Event)
	// Retrying is called before each pause after which a file is tried again, as Retry.Report is.
	// Calls do not overlap.
	Retrying func(ctx context.Context, u uri.URI, failed int, wait time.Duration, err error)
}

// Deleted is the outcome of a file that Options.Delete removed.
const Deleted download.Outcome = "deleted"

// An Event tells what became of one URL.
type Event struct {
	URL, From uri.URI
	// Outcome is Saved, Unchanged, Skipped (there was a file, or nothing was to be saved), Listed
	// (it was read, or a spider saw it), NoContent, Failed or Deleted.
	Outcome  download.Outcome
	Path     string // of the file, below the root; or ""
	Size     int64  // of the file, in bytes; -1 if unknown
	Received int64  // how many bytes came for the file
	Status   int    // the number of the server's last reply; 0 if nothing was asked, or it had none
	Replaced bool   // an older file had the name
	Elapsed  time.Duration
	Err      error // why it failed
}

// A Report says what a mirror did in this process.
type Report struct {
	Saved, Unchanged, Listed, Deleted, Failed, Left int64
	Bytes                                           int64 // that were saved
	// Received is how many bytes came for files, also for those that were broken off or failed.
	Received int64
	// Continued says that it went on with an interrupted one.
	Continued bool
	// Kept says why nothing was deleted although that was asked for; or "".
	Kept string
}

// Run mirrors what the seeds lead to below the root of d. An error means that the mirror is not
// complete and can be gone on with by the same call: that of the context, of the file system, or
// that another process is at work on the same tree (crawl.ErrInUse). What failed for one URL is
// told to Options.Ended and counted.
func Run(ctx context.Context, d *download.Downloader, seeds []uri.URI, opts *Options) (*Report, error) {
	m := &mirror{d: d, checked: map[string]bool{}, aside: map[string]rename{}}
	if opts != nil {
		m.Options = *opts
	}
	if err := m.openState(seeds); err != nil {
		return &m.report, err
	}
	defer m.state.Close()
	m.report.Continued = m.state.Continues()
	c := m.Crawl
	c.State, c.Visit, c.Settle = m.state, m.visit, d.Flush
	c.Ended = m.ended
	if m.Newer && !m.Keep && !m.Spider {
		c.Spare = m.spare
	}
	r, err := crawl.Run(ctx, d.Client, seeds, &c)
	m.report.Left, m.report.Failed = r.Left, r.Failed
	if err = errors.Join(err, m.rememberMoves()); err != nil {
		return &m.report, errors.Join(err, d.Flush())
	}
	if m.Convert && !m.Spider {
		if err := m.convert(ctx); err != nil {
			return &m.report, err
		}
	}
	if m.Delete && !m.Spider {
		if err := m.removeGone(); err != nil {
			return &m.report, err
		}
	}
	if err := d.Flush(); err != nil {
		return &m.report, err
	}
	if kind, _, err := m.state.Owner(kindName); err == nil && kind == m.kind() && !m.keepsState() && m.State == "" {
		m.state.Close()
		os.Remove(m.file)
		d.Root.Remove(stateDir) // if it is empty
	}
	return &m.report, nil
}

// A mirror is one Run.
type mirror struct {
	Options
	d     *download.Downloader
	state *crawl.State
	// file is that of the state, and before what it was when it was opened, nil if it is new.
	file   string
	before fs.FileInfo

	mu      sync.Mutex // for all below, and calls of Ended and Retry
	checked map[string]bool
	moved   int // files that were moved out of the way of directories
	// aside has, by the keys of their URLs, those files that were moved before the visit was over.
	aside  map[string]rename
	report Report
	broken string // a listing that could not be read
}

func fileError(err error) error { return fetch.ErrFile.Wrap("mirror", err) }

// A memo is what is remembered of a URL.
type memo struct {
	Path      string          `json:"path,omitempty"`
	Type      string          `json:"type,omitempty"`
	Validator fetch.Validator `json:"validator,omitzero"`
	Size      int64           `json:"size,omitempty"` // of the file that was saved
	Saved     time.Time       `json:"saved,omitzero"` // its time
	// Told is what a page of a directory told of it when it was last asked for, at Asked.
	Told  told      `json:"told,omitzero"`
	Asked time.Time `json:"asked,omitzero"`
	Page  bool      `json:"page,omitempty"`  // it may be converted
	To    string    `json:"to,omitempty"`    // a redirect: where it led
	Final string    `json:"final,omitempty"` // the URL that links are relative to
	// Scheme is that of the URL if the crawl knows it by that of another one (see uri.URI.Key).
	Scheme string `json:"scheme,omitempty"`
}

func readMemo(b []byte) (v memo) {
	json.Unmarshal(b, &v) // one that cannot be read is none
	return v
}

func (v memo) bytes() []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return b
}

// describes reports whether a file is the one that was saved.
func (v memo) describes(info fs.FileInfo) bool {
	return info.Mode().IsRegular() && info.Size() == v.Size && info.ModTime().Equal(v.Saved)
}

// visited is what became of a visit; it is told when the crawl says that it is over.
type visited struct {
	Event
	begin time.Time
}

func (m *mirror) ended(p *crawl.Page, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, _ := p.Result.(*visited)
	if v == nil {
		v = &visited{Event: Event{Size: -1}, begin: time.Now()}
	}
	e := v.Event
	e.URL, e.From, e.Elapsed = p.URL, p.From, time.Since(v.begin)
	if err != nil {
		e.Outcome, e.Err = job.Failed, err
		if p.Kind == fetch.EntryListing || fetch.CodeOf(err) != fetch.ErrNotFound {
			m.broken = p.URL.Redacted()
		}
	}
	switch e.Outcome {
	case job.Saved:
		m.report.Saved++
		m.report.Bytes += max(e.Size, 0)
	case job.Unchanged:
		m.report.Unchanged++
	case job.Listed:
		m.report.Listed++
	}
	m.tell(e)
}

func (m *mirror) received(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.report.Received += n
}

func (m *mirror) tell(e Event) {
	if m.Options.Ended != nil {
		m.Options.Ended(e)
	}
}

// claim returns the path for u, whose key is key: that of the layout unless another URL has it, or a directory or a
// file is in the way, as "/a" and "/a/b" are in each other's: it is then given a number that no URL
// leads to.
func (m *mirror) claim(u uri.URI, key string) (string, error) {
	want := m.Layout.Path(u, m.d.Client.Traits(u))
	for n := range 10_000 {
		name := want
		if n > 0 {
			ext := path.Ext(want)
			name = fmt.Sprintf("%s%%00%d%s", want[:len(want)-len(ext)], n, ext)
		}
		owner, err := m.state.Claim(fileName+name, key)
		if err != nil {
			return "", err
		}
		if owner != key {
			continue
		}
		free, err := m.makeWay(name)
		if err != nil {
			return "", err
		}
		if free {
			return name, nil
		}
		m.state.Disclaim(fileName + name)
	}
	return "", fileError(&fs.PathError{Op: "name", Path: want, Err: fs.ErrExist})
}

// The names that the state knows are those of files, of directories whose listing was read whole,
// and of directories that a listing named. Those of directories are places.
const (
	fileName = "f:"
	readDir  = "d:"
	seenDir  = "s:"
)

// makeWay sees that name can be that of a file. Of a file that is in the way of a directory, if it
// is ours, the name is changed. It returns false if there is a directory of the name. Symbolic
// links on the way are refused: nothing is written through them.
func (m *mirror) makeWay(name string) (bool, error) {
	if there, err := m.makeWayTo(name); !there {
		return err == nil, err
	}
	info, err := m.d.Lstat(name)
	return err != nil || !info.IsDir(), nil
}

// makeWayTo sees that the directories on the way to name can be there, and reports whether they are.
func (m *mirror) makeWayTo(name string) (there bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range len(name) {
		if name[i] != '/' || m.checked[name[:i]] {
			continue
		}
		dir := name[:i]
		info, err := m.d.Root.Lstat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return false, nil
		case err != nil:
			return false, fileError(err)
		case info.Mode().IsRegular():
			return false, m.moveAside(dir)
		case !info.IsDir():
			return false, fileError(&fs.PathError{Op: "write", Path: dir, Err: errors.New("it is no directory, and nothing is written through links")})
		}
		if len(m.checked) > 1000 {
			clear(m.checked)
		}
		m.checked[dir] = true
	}
	return true, nil
}

// A rename is a file that has another path now. Its visit still knows it by the old one.
type rename struct{ from, to string }

// current returns the path of the file that the visit of a URL knows as name. The lock is held.
func (m *mirror) current(key, name string) string {
	if r, ok := m.aside[key]; ok && r.from == name {
		return r.to
	}
	return name
}

// rememberMoves corrects the memos of visits that did not know that their file was moved aside.
func (m *mirror) rememberMoves() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.aside {
		u, err := uri.Parse(key)
		if err != nil {
			return err
		}
		err = m.state.UpdateMemo(u, func(b []byte, _ bool) []byte {
			v := readMemo(b)
			to := m.current(key, v.Path)
			if to == v.Path {
				return b
			}
			v.Path = to
			return v.bytes()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ownerAside returns the key of the URL whose visit saved a file again under the name that it was
// moved from; "" if there is none.
func (m *mirror) ownerAside(name string) string {
	for key, r := range m.aside {
		if r.from == name {
			return key
		}
	}
	return ""
}

// moveAside gives a file that is in the way of a directory another name. The lock is held.
func (m *mirror) moveAside(name string) error {
	owner, _, err := m.state.Owner(fileName + name)
	if err != nil {
		return err
	}
	if owner == "" {
		owner = m.ownerAside(name)
	}
	if owner == "" {
		return fileError(&fs.PathError{Op: "make directory", Path: name, Err: errors.New("a file that the mirror did not save is in the way")})
	}
	u, err := uri.Parse(owner)
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		ext := path.Ext(name)
		free := fmt.Sprintf("%s%%00%d%s", name[:len(name)-len(ext)], n, ext)
		if holder, err := m.state.Claim(fileName+free, owner); err != nil || holder != owner {
			if err != nil {
				return err
			}
			continue
		}
		if err := m.d.Flush(); err != nil { // it would not be found any more
			return err
		}
		m.state.Disclaim(fileName + name)
		if err := m.d.Root.Rename(name, free); err != nil {
			return fileError(err)
		}
		m.moved++
		return m.state.UpdateMemo(u, func(b []byte, over bool) []byte {
			if !over {
				m.aside[owner] = rename{name, free}
			}
			v := readMemo(b)
			v.Path = free
			return v.bytes()
		})
	}
}
