package links

import (
	"io"
	"iter"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

var (
	// ReadXML is XML with a different limit.
	ReadXML = readXML

	HTML = func(r io.Reader, base uri.URI) iter.Seq2[fetch.Entry, error] {
		return readHTML(r, "", base, nil, false)
	}

	CSS     = styleSheet
	URIList = uriList
)
