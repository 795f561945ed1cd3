package warc

// HoldsHTTP reports whether the response and request records of URLs of a scheme hold HTTP messages
// (ISO 28500, sections 6.3 and 6.5).
func HoldsHTTP(scheme string) bool { return scheme == "http" || scheme == "https" }

// IsRecordID reports whether URLs of a scheme are identifiers of records (urn:uuid:...) and name no
// resource.
func IsRecordID(scheme string) bool { return scheme == "urn" }
