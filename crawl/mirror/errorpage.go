package mirror

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
)

// saveErrorPage saves the content of an error response, if it has any, at the path of the page. It returns
// err, joined with the failure to save it.
func (r *retrieval) saveErrorPage(err error) error {
	e, ok := errors.AsType[*fetch.Error](err)
	if !ok || len(e.Body) == 0 {
		return err
	}
	r.mu.Lock() // for the temporary file
	defer r.mu.Unlock()
	r.now.Path = r.current(r.p.Key(), r.now.Path)
	r.d.Root.Remove(r.now.Path + backup)
	info, failed := r.writeErrorPage(r.now.Path, e.Body)
	if failed != nil {
		return errors.Join(err, fileError(failed))
	}
	now := memo{Path: r.now.Path, Run: r.now.Run, ErrorRun: r.state.Number(), Size: info.Size(),
		Saved: info.ModTime()}
	if r.p.URL.IsSecure() {
		now.Scheme = r.p.URL.Scheme()
	}
	r.p.Memo = now.bytes()
	r.v.Path, r.v.ErrorPage = r.now.Path, true
	return err
}

func (m *mirror) writeErrorPage(name string, content []byte) (fs.FileInfo, error) {
	if err := m.d.Root.MkdirAll(path.Dir(name), 0o777); err != nil {
		return nil, err
	}
	temp := path.Join(path.Dir(name), ".urlget-error.new")
	err := m.writeNew(temp, 0o666, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
	if err == nil {
		err = m.d.Root.Rename(temp, name)
	}
	if err != nil {
		m.d.Root.Remove(temp)
		return nil, err
	}
	return m.d.Root.Lstat(name)
}

// writeNew writes a temporary file that then replaces another one.
func (m *mirror) writeNew(temp string, mode fs.FileMode, write func(io.Writer) error) error {
	m.d.Root.Remove(temp)
	out, err := m.d.Root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	err = errors.Join(write(w), w.Flush())
	if m.d.Sync != download.SyncNone {
		err = errors.Join(err, out.Sync())
	}
	return errors.Join(err, out.Close())
}
