package download

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/urlget/urlget/fetch"
)

var existsNames = []string{
	NewName: "new_name", Overwrite: "overwrite", Skip: "skip", Resume: "resume", Newer: "newer"}

// String returns "new_name", "overwrite", "skip", "resume" or "newer".
func (e Exists) String() string {
	if int(e) < len(existsNames) {
		return existsNames[e]
	}
	return "exists?"
}

// AppendText implements [encoding.TextAppender]. It appends the same text as String returns.
func (e Exists) AppendText(b []byte) ([]byte, error) {
	if int(e) >= len(existsNames) {
		return b, fmt.Errorf("download: invalid value %d", e)
	}
	return append(b, existsNames[e]...), nil
}

// MarshalText implements [encoding.TextMarshaler]. It returns the same text as String.
func (e Exists) MarshalText() ([]byte, error) { return e.AppendText(nil) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (e *Exists) UnmarshalText(text []byte) error {
	i := slices.Index(existsNames, string(text))
	if i < 0 {
		return fmt.Errorf("download: invalid value %q", text)
	}
	*e = Exists(i)
	return nil
}

// knownJSON is the JSON form of Known. It omits an unknown size.
type knownJSON struct {
	Size *int64 `json:"size,omitempty"`
	fetch.Validator
}

// MarshalJSON implements [json.Marshaler]. It writes an object with size, etag and mtime.
func (k Known) MarshalJSON() ([]byte, error) {
	v := knownJSON{Validator: k.Validator}
	if k.Size >= 0 {
		v.Size = &k.Size
	}
	return json.Marshal(v)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (k *Known) UnmarshalJSON(data []byte) error {
	var v knownJSON
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	k.Size, k.Validator = -1, v.Validator
	if v.Size != nil {
		k.Size = *v.Size
	}
	return nil
}
