package apdu

import "github.com/urlget/urlget/fetch/uri"

// LocalID is the tag of the field of an identifier that only its server understands.
const LocalID = 3

// EncodeID makes a document identifier of its fields.
func EncodeID(fields []uri.WAISField) []byte {
	var b []byte
	for _, f := range fields {
		b = AppendString(b, uint32(f.Tag), f.Value)
	}
	return b
}

// IDPath writes a document identifier for a URL. If it consists of tagged values it gets the form
// that libwww gave it, with the document's size in front if that is known; any other is written as
// opaque bytes. Either way the bytes can be had back exactly.
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

// IDFromURL returns the document identifier that a URL holds, in whichever form it is written
// there.
func IDFromURL(w uri.WAIS) []byte {
	if fields, _, ok := w.RawFields(); ok {
		return EncodeID(fields)
	}
	return []byte(w.RawDocID())
}
