package fetch

import "strings"

// A Version identifies a state of a whole resource, as described by a response: parts with the same
// Version fit together.
type Version struct {
	Validator
	Size int64 // of the whole, in bytes; -1 if unknown
}

// VersionOf returns the version of the resource that m describes all or part of.
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

// Guard returns the validator to use as Request.IfChanged when requesting another part. Weak entity
// tags do not identify bytes (RFC 9110, section 8.8.1), and a time counts only together with the
// size. If there is nothing to rely on, Guard returns the zero Validator, and parts cannot be
// combined.
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

// Same reports whether m, from a response with all or part of a resource, proves that it is still
// version v.
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
		// A partial response to If-Range may omit the time that it was asked for (RFC 9110, section
		// 15.3.7).
		return !m.Range.IsZero() && now.Size == v.Size
	}
	return now.ModTime.Equal(guard.ModTime) && now.Size == v.Size
}
