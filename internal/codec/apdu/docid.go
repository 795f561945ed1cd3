package apdu

import "github.com/urlget/urlget/fetch/uri"

// EncodeID returns the document identifier with the given fields.
func EncodeID(fields []uri.WAISField) []byte {
	var b []byte
	for _, f := range fields {
		b = appendString(b, uint32(f.Tag), f.Value)
	}
	return b
}

// IDPath returns a document identifier as part of a URL. An identifier of tagged values is written in
// the form of libwww, after the size of the document unless size is -1. Any other identifier is
// percent-encoded. IDFromURL restores the exact bytes.
func IDPath(id []byte, size int64) string {
	r := &reader{b: id}
	var fields []uri.WAISField
	for len(r.b) > 0 {
		tag, value := r.tlv()
		fields = append(fields, uri.WAISField{Tag: int(tag), Value: string(value)})
	}
	if r.err != nil || len(fields) == 0 || string(EncodeID(fields)) != string(id) {
		return uri.Escape(string(id))
	}
	return uri.FormatWAISPath(fields, size)
}

// IDFromURL returns the document identifier in a URL, in either form of IDPath.
func IDFromURL(w uri.WAIS) []byte {
	if fields, _, ok := w.RawFields(); ok {
		return EncodeID(fields)
	}
	return []byte(w.RawDocID())
}
