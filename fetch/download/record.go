package download

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/urlget/urlget/fetch"
)

// A record is what NAME.part.json says of NAME.part.
type record struct {
	Version int       `json:"version"`
	Tool    string    `json:"tool,omitempty"`
	URL     string    `json:"url"` // redacted
	ETag    string    `json:"etag,omitempty"`
	ModTime time.Time `json:"mtime,omitzero"`
	Size    int64     `json:"size"` // -1 if unknown
	// Missing lists what a part written in segments lacks. Without it, the
	// part is the beginning of the resource, as long as the file is.
	Missing []span `json:"missing,omitempty"`
}

// A span is a range of octets: from the first up to but not including the
// second.
type span [2]int64

func (s span) length() int64 { return s[1] - s[0] }

// recordVersion changes when older programs would read a record wrongly.
const recordVersion = 1

// maxRecord bounds a record that is read, in octets.
const maxRecord = 1 << 20

func (r *record) object() object {
	return object{fetch.Validator{ETag: r.ETag, ModTime: r.ModTime}, r.Size}
}

// fits reports whether a part of size octets can be what the record says.
func (r *record) fits(size int64) bool {
	if size == 0 || r.Size >= 0 && size > r.Size {
		return false
	}
	if len(r.Missing) == 0 {
		return true
	}
	end := r.Size // of what is there
	if last := r.Missing[len(r.Missing)-1]; last[1] == r.Size {
		end = last[0]
	}
	return size >= end
}

// readRecord reads a record and checks that it makes sense.
func readRecord(root *os.Root, name string) (*record, error) {
	f, err := root.Open(name)
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
		return nil, fmt.Errorf("version %d of the record is not known", r.Version)
	}
	var last int64
	for _, s := range r.Missing {
		if s[0] < last || s[1] <= s[0] || s[1] > r.Size {
			return nil, errors.New("the record contradicts itself")
		}
		last = s[1]
	}
	return r, nil
}

// writeRecord replaces the record in one step.
func writeRecord(root *os.Root, name, temp string, r *record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := root.Remove(temp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = root.Rename(temp, name)
	}
	return err
}
