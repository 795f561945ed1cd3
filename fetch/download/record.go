package download

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"time"

	"github.com/urlget/urlget/fetch"
)

type record struct {
	Version int       `json:"version"`
	Tool    string    `json:"tool,omitempty"`
	URL     string    `json:"url"` // without credentials
	ETag    string    `json:"etag,omitempty"`
	ModTime time.Time `json:"mtime,omitzero"`
	Size    int64     `json:"size"`             // -1 if unknown
	Type    string    `json:"type,omitempty"`   // media type without parameters
	Coding  string    `json:"coding,omitempty"` // content coding of the bytes
	// Digests are those that the server stated for the whole resource.
	Digests []fetch.Digest `json:"digests,omitempty"`
	// Replace is true if the part may replace an existing file.
	Replace bool `json:"replace,omitempty"`
	// Missing lists the missing ranges of a part written in segments. If it is empty, the part is
	// the beginning of the resource.
	Missing []span `json:"missing,omitempty"`
}

// recordVersion changes when older programs would misinterpret a record.
const recordVersion = 1

// maxRecord bounds the size of a record to be read, in bytes.
const maxRecord = 1 << 20

func (r *record) object() fetch.Version {
	return fetch.Version{Validator: fetch.Validator{ETag: r.ETag, ModTime: r.ModTime}, Size: r.Size}
}

func (r *record) fits(size int64) bool {
	if r.Size >= 0 && size > r.Size {
		return false
	}
	if len(r.Missing) == 0 {
		return true
	}
	end := r.Size // of the existing bytes
	for _, m := range slices.Backward(r.Missing) {
		if m[1] == end {
			end = m[0]
		}
	}
	return size >= end
}

// Partial returns the number of transferred bytes in the partial file of name, a path below Root, and
// the time of its last write. Both are zero if there is none.
func (d *Downloader) Partial(name string) (bytes int64, written time.Time) {
	dir, err := d.dirs.get(d.Root, path.Dir(name), false)
	if err != nil {
		return 0, time.Time{}
	}
	defer d.dirs.put(dir)
	names := namesFor(path.Base(name))
	info, err := dir.lstat(names.part)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return 0, time.Time{}
	}
	bytes = info.Size()
	if r, err := readRecord(dir, names.record); err == nil && len(r.Missing) > 0 {
		bytes = r.Size
		for _, m := range r.Missing {
			bytes -= m[1] - m[0]
		}
	}
	return bytes, info.ModTime()
}

func readRecord(dir directory, name string) (*record, error) {
	f, err := openRegular(dir, name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRecord))
	if err != nil {
		return nil, err
	}
	r := &record{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, err
	}
	if r.Version != recordVersion {
		return nil, fmt.Errorf("unknown record version %d", r.Version)
	}
	var last int64
	for _, s := range r.Missing {
		if s[0] < last || s[1] <= s[0] || s[1] > r.Size {
			return nil, errors.New("the record is inconsistent")
		}
		last = s[1]
	}
	return r, nil
}

// Discard removes the partial file of name, a path below Root, and its record, if there are any. No
// transfer must be writing it. Errors are of class ErrFile.
func (d *Downloader) Discard(name string) error {
	dir, err := d.dirs.get(d.Root, path.Dir(name), false)
	if err == nil {
		defer d.dirs.put(dir)
		err = (&part{dir: dir, names: namesFor(path.Base(name))}).remove()
	}
	if err = ignoreMissing(err); err != nil {
		return &fetch.Error{Op: "save", Code: fetch.ErrFile, Err: err}
	}
	return nil
}

// writeRecord atomically replaces the record. Only the user may read it, because a URL may contain
// secrets other than credentials.
func writeRecord(dir directory, names partNames, r *record, sync bool) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := ignoreMissing(dir.remove(names.temp)); err != nil {
		return err
	}
	f, err := dir.open(names.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	if sync {
		err = errors.Join(err, f.Sync())
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = dir.rename(names.temp, names.record)
	}
	return err
}
