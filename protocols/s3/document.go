package s3

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// maxKeys is the most that Amazon S3 lists in a page. More are a violation.
	maxKeys = 1000
	// maxPage limits the bytes of a page, whose keys have up to 1 KiB, three times as long if encoded.
	maxPage  = 8 << 20
	maxDepth = 16
	maxText  = 16 << 10 // of an element
)

// A page is a part of a listing: a ListBucketResult of ListObjectsV2.
type page struct {
	members   []member
	token     string // of the next page
	truncated bool   // there is a next page
}

type member struct {
	key     string
	prefix  bool  // of several keys
	size    int64 // -1 if unknown
	modTime time.Time
	etag    string
	class   string // of the storage
}

var errDocument = errors.New("malformed document")

// walk reads a document with the given root, and calls leaf with the path below the root and the text of
// each element. It calls leaf for elements with children too, without the text of those.
func walk(r io.Reader, root string, leaf func(path, text string) error) error {
	d := xml.NewDecoder(r)
	var names []string
	var text strings.Builder
	for {
		token, err := d.Token()
		if err == io.EOF {
			if names == nil {
				return fmt.Errorf("%w: it is empty", errDocument)
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errDocument, err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			if names = append(names, e.Name.Local); names[0] != root {
				return fmt.Errorf("%w: %.100q instead of %s", errDocument, names[0], root)
			}
			if len(names) > maxDepth {
				return fmt.Errorf("%w: more than %d levels", errDocument, maxDepth)
			}
			text.Reset()
		case xml.CharData:
			if text.Len()+len(e) > maxText {
				return fmt.Errorf("%w: an element of more than %d bytes", errDocument, maxText)
			}
			text.Write(e)
		case xml.EndElement:
			if err := leaf(strings.Join(names[1:], "/"), text.String()); err != nil {
				return err
			}
			names = names[:len(names)-1] // not nil
			text.Reset()
		}
	}
}

// readPage reads a page. Keys may be percent-encoded as in forms, which the document says at any place.
func readPage(r io.Reader) (*page, error) {
	p, m, encoding, end := &page{}, member{size: -1}, "", ""
	err := walk(&io.LimitedReader{R: r, N: maxPage}, "ListBucketResult", func(path, text string) error {
		switch path {
		case "IsTruncated":
			end = text
		case "NextContinuationToken":
			p.token = text
		case "EncodingType":
			encoding = text
		case "Contents/Key", "CommonPrefixes/Prefix":
			m.key = text
		case "Contents/Size":
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || n < 0 {
				return fmt.Errorf("%w: the size %.100q", errDocument, text)
			}
			m.size = n
		case "Contents/LastModified":
			m.modTime, _ = time.Parse(time.RFC3339, text)
		case "Contents/ETag":
			m.etag = text
		case "Contents/StorageClass":
			m.class = text
		case "Contents", "CommonPrefixes":
			m.prefix = path == "CommonPrefixes"
			if p.members = append(p.members, m); len(p.members) > maxKeys {
				return fmt.Errorf("%w: more than %d keys in a page", errDocument, maxKeys)
			}
			m = member{size: -1}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if p.truncated, err = strconv.ParseBool(end); err != nil { // a page must not end a listing by mistake
		return nil, fmt.Errorf("%w: it does not say whether another page follows", errDocument)
	}
	if encoding != "url" {
		return p, nil
	}
	for i := range p.members {
		key, err := url.QueryUnescape(p.members[i].key)
		if err != nil {
			return p, fmt.Errorf("%w: the key %.100q", errDocument, p.members[i].key)
		}
		p.members[i].key = key
	}
	return p, nil
}

// A refusal is the document of an error.
type refusal struct{ code, message, region string }

func readRefusal(content string) (f refusal, ok bool) {
	err := walk(strings.NewReader(content), "Error", func(path, text string) error {
		switch path {
		case "Code":
			f.code = text
		case "Message":
			f.message = text
		case "Region":
			f.region = text
		}
		return nil
	})
	return f, err == nil && f.code != ""
}
