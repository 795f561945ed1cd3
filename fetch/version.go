package fetch

import "strings"

// A Version identifies a version of a whole resource. Parts with the same Version fit together.
type Version struct {
	Validator
	Size int64 // of the whole, in bytes; -1 if unknown
}

// VersionOf returns the version of the resource that m describes completely or in part.
func VersionOf(m *Meta) Version {
	v := Version{Validator: m.Validator, Size: m.Size}
	if !m.Range.IsZero() {
		v.Size = -1
		if m.Total > 0 {
			v.Size = m.Total
		}
	}
	return v
}

// Guard returns the validator to use as Request.IfChanged when requesting another part. A weak
// entity tag does not identify bytes (RFC 9110, section 8.8.1), and a time counts only together
// with the size. If v has neither a strong entity tag nor a time and a size, Guard returns the zero
// Validator, and parts cannot be combined.
func (v Version) Guard() Validator {
	guard := v.Validator
	if strings.HasPrefix(guard.ETag, "W/") {
		guard.ETag = ""
	}
	if guard.ETag == "" && v.Size < 0 {
		return Validator{}
	}
	return guard
}

// Same reports whether m, from a response with all or part of a resource, proves that the resource
// still has version v.
func (v Version) Same(m *Meta) bool {
	now := VersionOf(m)
	guard := v.Guard()
	switch {
	case v.Size >= 0 && now.Size >= 0 && v.Size != now.Size:
		return false
	case guard.ETag != "":
		return now.ETag == guard.ETag
	case guard.IsZero() || v.ETag != "" && now.ETag != "" && v.ETag != now.ETag:
		return false
	case now.ModTime.IsZero():
		// A partial response to If-Range may omit the time that the request carried (RFC 9110,
		// section 15.3.7).
		return !m.Range.IsZero() && now.Size == v.Size
	}
	return now.ModTime.Equal(guard.ModTime) && now.Size == v.Size
}
