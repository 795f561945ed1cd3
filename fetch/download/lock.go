package download

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A Lock states the exact content of a URL: a line of a lock file. Lock files are JSON Lines with a
// first line of their own (docs/lock.md).
type Lock struct {
	URL uri.URI // without a password
	// Name is the path of the file, with elements separated by slashes.
	Name   string
	Size   int64  // in bytes
	SHA256 string // of the content, in lower-case hexadecimal
	// ContentType and Validator are those of the server. They prove nothing.
	ContentType string
	fetch.Validator
	// Mirrors are other URLs of the content, at most MaxMirrors.
	Mirrors []uri.URI
	Time    time.Time // when the content was retrieved; zero if unknown
	// Line is the number of the line in the file, from 1. It is set by ReadLocks.
	Line int
}

const (
	lockPrefix = "# urlget lock "
	// lockHeader is the first line of a lock file. The number changes when older programs would
	// misinterpret the lines.
	lockHeader = lockPrefix + "1"
	// maxLockLine limits the length of a line of a lock file, in bytes.
	maxLockLine = 64 << 10
)

// MaxMirrors limits Lock.Mirrors.
const MaxMirrors = 64

// A lockLine is the JSON of a Lock. The order of its fields is that of the line.
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

// MarshalText implements encoding.TextMarshaler. It returns a line of a lock file without its end.
// Passwords in URLs are removed. It returns an error if ReadLocks would refuse the line.
func (l *Lock) MarshalText() ([]byte, error) {
	line := lockLine{URL: l.URL.WithoutPassword().WithoutFragment(), Name: l.Name, Size: &l.Size, SHA256: l.SHA256, ContentType: l.ContentType,
		ETag: l.ETag, ModTime: l.ModTime.UTC(), Time: l.Time.UTC().Truncate(time.Second)}
	for _, m := range l.Mirrors {
		line.Mirrors = append(line.Mirrors, m.WithoutPassword().WithoutFragment())
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

// A LockWriter writes a lock file. Its W must be set.
type LockWriter struct {
	W     io.Writer
	names map[string]bool // nil before the first line
}

// Write writes l as a line. If an earlier line has the same name, Write first changes l.Name to the name
// that [NewName] would choose: NAME.1, or NAME.2 and so on. If l is nil, it writes only the first line of
// the file, unless that is written already.
func (w *LockWriter) Write(l *Lock) error {
	if w.names == nil {
		w.names = make(map[string]bool)
		if _, err := io.WriteString(w.W, lockHeader+"\n"); err != nil {
			return err
		}
	}
	if l == nil {
		return nil
	}
	dir, base := path.Split(l.Name)
	for n := 1; w.names[l.Name] && n < maxNumber; n++ {
		l.Name = dir + numbered(base, n)
	}
	text, err := l.MarshalText()
	if err != nil {
		return err
	}
	w.names[l.Name] = true
	_, err = w.W.Write(append(text, '\n'))
	return err
}

var errLongLock = fmt.Errorf("the line has more than %d bytes", maxLockLine)

// UnmarshalText implements encoding.TextUnmarshaler. It reads a line of a lock file and validates it.
func (l *Lock) UnmarshalText(text []byte) error {
	var line lockLine
	if len(text) > maxLockLine {
		return errLongLock
	}
	if err := json.Unmarshal(text, &line); err != nil {
		return fmt.Errorf("not a line of a lock file: %w", err)
	}
	line.SHA256 = strings.ToLower(line.SHA256)
	if err := line.check(); err != nil {
		return err
	}
	*l = Lock{URL: line.URL, Name: line.Name, Size: *line.Size, SHA256: line.SHA256, ContentType: line.ContentType,
		Validator: fetch.Validator{ETag: line.ETag, ModTime: line.ModTime}, Mirrors: line.Mirrors, Time: line.Time}
	return nil
}

// check returns an error if the line is invalid.
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
	case len(l.Mirrors) > MaxMirrors:
		return fmt.Errorf("there are more than %d mirrors", MaxMirrors)
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
	return CheckName(l.Name)
}

// ReadLocks yields the lines of a lock file. It skips empty lines and comments, which begin with "#".
// The first line must be "# urlget lock 1", and two lines must not have the same name. An error is yielded
// last, with a Lock that has only the number of its line.
func ReadLocks(r io.Reader) iter.Seq2[*Lock, error] {
	return func(yield func(*Lock, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxLockLine)
		names := make(map[string]int)
		n := 0
		for lines.Scan() {
			n++
			text := bytes.TrimSpace(lines.Bytes())
			l := &Lock{}
			err := checkLockHeader(n, string(text))
			if err == nil && (len(text) == 0 || text[0] == '#') {
				continue
			}
			if err == nil {
				err = l.UnmarshalText(text)
			}
			if first := names[l.Name]; err == nil && first > 0 {
				err = fmt.Errorf("line %d has the name %q too", first, l.Name)
			}
			if err != nil {
				yield(&Lock{Line: n}, err)
				return
			}
			l.Line, names[l.Name] = n, n
			if !yield(l, nil) {
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
			yield(&Lock{Line: n + 1}, err)
		}
	}
}

var errNoLock = fmt.Errorf("not a lock file: its first line is not %q", lockHeader)

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

// DoLocked saves the content that l states as l.Name, relative to opts.Dir. If no source has exactly
// that content, there is no file, and the error is of class ErrChecksum if a source had other content;
// otherwise it is that of l.URL.
//
// The sources are l.URL and its mirrors, in this order. Mirrors are retrieved under the policy for
// URLs from l.URL. If the file has the content, the outcome is Unchanged and no request is sent.
// Another file is replaced once the content is verified; with Skip it is an error of class
// ErrChecksum. A partial file of an earlier run is resumed. Opts.Checksum is ignored, and so are the
// other values of opts.Exists.
func (d *Downloader) DoLocked(ctx context.Context, l *Lock, opts *Sources) (*Result, error) {
	if opts == nil {
		opts = &Sources{}
	}
	o := *opts
	first := &fetch.Request{URL: l.URL, From: o.From}
	o.Checksum, o.owner = "sha256:"+l.SHA256, l.URL.WithoutUserinfo().String()
	if err := cmp.Or(CheckName(o.Dir), CheckName(l.Name), CheckChecksum(o.Checksum)); err != nil {
		return nil, asError(err, first)
	}
	res, err := d.findLocked(ctx, l, &o)
	if err != nil {
		return nil, (&transfer{req: first}).finish(err)
	}
	if res != nil {
		return res, nil
	}
	requests := []*fetch.Request{first}
	for _, m := range l.Mirrors {
		requests = append(requests, &fetch.Request{URL: m, From: cmp.Or(o.From, l.URL)})
	}
	reused := false
	o.Reuse = func(proof string) {
		if reused = true; opts.Reuse != nil {
			opts.Reuse(proof)
		}
	}
	var failed []error
	o.Dropped = func(u uri.URI, err error) {
		failed = append(failed, err)
		if opts.Dropped != nil {
			opts.Dropped(u, err)
		}
	}
	res, err = d.trySources(ctx, l.Size, requests, l.Name, &o)
	if reused && fetch.CodeOf(err) == fetch.ErrChecksum && ctx.Err() == nil {
		failed = nil // the wrong bytes may be those of an earlier run, which are removed now
		res, err = d.trySources(ctx, l.Size, requests, l.Name, &o)
	}
	if err == nil || ctx.Err() != nil {
		return res, err
	}
	failed = append(failed, err)
	for _, err := range failed {
		if code := fetch.CodeOf(err); code == fetch.ErrChecksum || code == fetch.ErrFile {
			return res, err
		}
	}
	return res, failed[0]
}

// findLocked returns a result if the file has the content, and otherwise sets o.Exists.
func (d *Downloader) findLocked(ctx context.Context, l *Lock, o *Sources) (*Result, error) {
	at := newPlace(d, o.Dir, l.Name)
	o.ResumePart = true
	skip := o.Exists == Skip
	o.Exists = Resume // of a part, because there is no file
	err := at.openDir(false)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	defer at.closeDir()
	if _, err := at.dir.lstat(at.name); err != nil {
		return nil, ignoreMissing(err)
	}
	o.Exists = Overwrite
	same, err := isLocked(ctx, at.dir, at.name, l)
	switch {
	case err != nil:
		return nil, err
	case same:
		at.removeStrayRecord()
		sum, _ := hex.DecodeString(l.SHA256)
		return &Result{Outcome: Unchanged, Name: at.path(at.name), Size: l.Size, SHA256: l.SHA256,
			Proof: &fetch.Digest{Algorithm: "sha-256", Sum: sum, By: byChecksum}}, nil
	case skip:
		return nil, &fetch.Error{Code: fetch.ErrChecksum, Err: fmt.Errorf("%s exists and has other content", at.path(at.name))}
	}
	return nil, nil
}

// isLocked reports whether a file has the content that l states.
func isLocked(ctx context.Context, dir directory, name string, l *Lock) (bool, error) {
	f, err := openRegular(dir, name, os.O_RDONLY)
	if err != nil {
		if errors.Is(err, errNotRegular) || errors.Is(err, fs.ErrPermission) {
			return false, nil // it is replaced, or that fails
		}
		return false, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() != l.Size {
		return false, err
	}
	sum := fetch.NewHash("sha-256")
	if _, err := io.Copy(sum, &contextReader{ctx, f}); err != nil {
		return false, err
	}
	return hex.EncodeToString(sum.Sum(nil)) == l.SHA256, nil
}
