package download

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

const (
	lockPrefix = "# urlget lock "
	// lockHeader is the first line of a lock file. The number changes when older programs would
	// misinterpret the lines.
	lockHeader = lockPrefix + "1"
	// maxLockLine limits the length of a line of a lock file, in bytes.
	maxLockLine = 64 << 10
)

// A lockLine is a line of a lock file (docs/lock.md). The order of the fields is that of the line.
type lockLine struct {
	URL         uri.URI   `json:"url"`
	Name        string    `json:"name"`
	Size        *int64    `json:"size"`
	SHA256      string    `json:"sha256"`
	ContentType string    `json:"content_type,omitempty"`
	ETag        string    `json:"etag,omitempty"`
	ModTime     time.Time `json:"mtime,omitzero"`
	Mirrors     []uri.URI `json:"mirrors,omitempty"`
	Time        time.Time `json:"time,omitzero"`
}

const lockChecksum = "sha256:"

// LockLine returns m as a line of a lock file, without its end. Passwords in URLs are removed. It
// returns an error if ReadLocks would refuse the line.
func (m *Manifest) LockLine() ([]byte, error) {
	line := lockLine{Name: m.Name, Size: &m.Size, SHA256: strings.TrimPrefix(m.Checksum, lockChecksum),
		ContentType: m.ContentType, ETag: m.ETag, ModTime: m.ModTime.UTC(),
		Time: m.Time.UTC().Truncate(time.Second)}
	for i, u := range m.URLs {
		u = u.WithoutPassword().WithoutFragment()
		if i == 0 {
			line.URL = u
		} else {
			line.Mirrors = append(line.Mirrors, u)
		}
	}
	if err := line.check(); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(&line); err != nil {
		return nil, err
	}
	if text.Len() > maxLockLine {
		return nil, errLongLock
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}

var errLongLock = fmt.Errorf("the line has more than %d bytes", maxLockLine)

func parseLock(text []byte) (*Manifest, error) {
	var line lockLine
	if len(text) > maxLockLine {
		return nil, errLongLock
	}
	if err := json.Unmarshal(text, &line); err != nil {
		return nil, fmt.Errorf("not a line of a lock file: %w", err)
	}
	line.SHA256 = strings.ToLower(line.SHA256)
	if err := line.check(); err != nil {
		return nil, err
	}
	return &Manifest{Name: line.Name, Size: *line.Size, Checksum: lockChecksum + line.SHA256,
		URLs: append([]uri.URI{line.URL}, line.Mirrors...), ContentType: line.ContentType,
		Validator: fetch.Validator{ETag: line.ETag, ModTime: line.ModTime}, Time: line.Time}, nil
}

func (l *lockLine) check() error {
	switch sum, err := hex.DecodeString(l.SHA256); {
	case l.URL.IsZero():
		return errors.New("url is missing")
	case l.Name == "":
		return errors.New("name is missing")
	case l.Size == nil || *l.Size < 0:
		return errors.New("size is missing or negative")
	case err != nil || len(sum) != sha256.Size:
		return errors.New("sha256 is not a SHA-256 of 64 hexadecimal digits")
	case len(l.Mirrors) > maxMirrors:
		return fmt.Errorf("there are more than %d mirrors", maxMirrors)
	case fetch.Printable(l.ETag) != l.ETag || fetch.Printable(l.ContentType) != l.ContentType:
		return errors.New("etag or content_type has control characters")
	}
	for _, u := range append([]uri.URI{l.URL}, l.Mirrors...) {
		if !u.IsAbs() {
			return errors.New("a URL has no scheme")
		}
		if _, secret := u.Password(); secret {
			return errors.New("a URL has a password, which does not belong in a lock file")
		}
	}
	return checkListed(l.Name)
}

// ReadLocks yields the lines of a lock file. It skips empty lines and comments, which begin with "#".
// The first line must be "# urlget lock 1". Names are held to the rules for names from servers
// ([fetch.SafeName]), and two lines must not have the same name, or names that differ in case only. An
// error is yielded last, with a Manifest that has only the number of its line.
func ReadLocks(r io.Reader) iter.Seq2[*Manifest, error] {
	return func(yield func(*Manifest, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxLockLine)
		var names listedNames
		n := 0
		for lines.Scan() {
			n++
			text := bytes.TrimSpace(lines.Bytes())
			var m *Manifest
			err := checkLockHeader(n, string(text))
			if err == nil && (len(text) == 0 || text[0] == '#') {
				continue
			}
			if err == nil {
				m, err = parseLock(text)
			}
			if err == nil {
				err = names.check(m.Name)
			}
			if err != nil {
				yield(&Manifest{Line: n}, err)
				return
			}
			m.Line = n
			names.add(m.Name, n)
			if !yield(m, nil) {
				return
			}
		}
		err := lines.Err()
		switch {
		case errors.Is(err, bufio.ErrTooLong):
			err = errLongLock
		case err == nil && n == 0:
			err = errNoLock
		}
		if err != nil {
			yield(&Manifest{Line: n + 1}, err)
		}
	}
}

var errNoLock = errors.New(`not a lock file: its first line is not "` + lockHeader + `"`)

// checkLockHeader returns an error if the first line is not lockHeader, or if a header of another
// version is on a later line.
func checkLockHeader(number int, text string) error {
	version, ok := strings.CutPrefix(text, lockPrefix)
	switch {
	case !ok && number == 1:
		return errNoLock
	case ok && lockPrefix+version != lockHeader:
		return fmt.Errorf("version %.10q of the lock file is unknown", version)
	}
	return nil
}

// A LockWriter writes a lock file. Its W must be set.
type LockWriter struct {
	W     io.Writer
	names listedNames
	lines int
}

// Write writes m as a line. If an earlier line has the same name, apart from case, Write first changes
// m.Name to NAME.1, or NAME.2 and so on, as [NewName] does. If m is nil, it writes only the first line of
// the file, unless that is written already.
func (w *LockWriter) Write(m *Manifest) error {
	if w.lines == 0 {
		if _, err := io.WriteString(w.W, lockHeader+"\n"); err != nil {
			return err
		}
		w.lines++
	}
	if m == nil {
		return nil
	}
	dir, base := path.Split(m.Name)
	for n := 1; w.names.clash(m.Name) > 0 && n < maxNumber; n++ {
		m.Name = dir + fetch.SafeName(numbered(base, n)) // which may be shorter
	}
	text, err := m.LockLine()
	if err == nil {
		err = w.names.check(m.Name)
	}
	if err != nil {
		return err
	}
	w.lines++
	w.names.add(m.Name, w.lines)
	_, err = w.W.Write(append(text, '\n'))
	return err
}
