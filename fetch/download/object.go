package download

import (
	"strings"

	"github.com/urlget/urlget/fetch"
)

// An object is what identifies one state of a resource.
type object struct {
	fetch.Validator
	size int64 // of all of it; -1 if unknown
}

// objectOf returns the identity of what meta describes.
func objectOf(meta *fetch.Meta) object {
	o := object{Validator: meta.Validator, size: meta.Size}
	if !meta.Range.IsZero() {
		o.size = -1
		if meta.Total > 0 {
			o.size = meta.Total
		}
	}
	return o
}

// guard returns the validator that a continued transfer is conditional on. A
// weak entity tag says nothing of octets (RFC 9110, section 8.8.1); a time
// counts together with the size. It is zero if there is none to rely on.
func (o object) guard() fetch.Validator {
	v := o.Validator
	if strings.HasPrefix(v.ETag, "W/") {
		v.ETag = ""
	}
	if v.ETag == "" && o.size < 0 {
		return fetch.Validator{}
	}
	return v
}

func (o object) resumable() bool { return !o.guard().IsZero() }

// same reports whether meta, of a response with all or the rest of a resource,
// proves that it is still o.
func (o object) same(meta *fetch.Meta) bool {
	now := objectOf(meta)
	guard := o.guard()
	switch {
	case o.size >= 0 && now.size >= 0 && o.size != now.size:
		return false
	case guard.ETag != "":
		return now.ETag == guard.ETag
	case guard.IsZero() || o.ETag != "" && now.ETag != "" && o.ETag != now.ETag:
		return false
	case now.ModTime.IsZero():
		// With If-Range, a partial answer may leave out the time that it was
		// asked for (RFC 9110, section 15.3.7).
		return !meta.Range.IsZero() && now.size == o.size
	}
	return now.ModTime.Equal(guard.ModTime) && now.size == o.size
}
