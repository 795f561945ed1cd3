package metalink

import (
	"encoding/base64"
	"encoding/hex"
	"net/textproto"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/codec/weblink"
)

// Mirrors returns the mirrors of base that the header fields of an HTTP response name, preferred ones
// first. Without a digest, it returns none (RFC 6249, section 6).
func Mirrors(base uri.URI, header textproto.MIMEHeader) []uri.URI {
	f := fromHeader(base, header)
	if f == nil {
		return nil
	}
	return f.manifest().URLs[1:]
}

// fromHeader returns the file at base as described by the header fields of an HTTP response. Mirrors
// come from Link with rel=duplicate, and Metalink documents from Link with rel=describedby. The digest
// comes from Digest (RFC 3230) or Repr-Digest (RFC 9530).
//
// The first source is base itself. Without a digest, links are ignored (RFC 6249, section 6).
// fromHeader returns nil if there is no digest or no link.
func fromHeader(base uri.URI, header textproto.MIMEHeader) *file {
	f := &file{size: -1, checksum: digest(header), sources: []source{{url: base}}}
	if f.checksum == "" {
		return nil
	}
	for _, line := range header.Values("Link") {
		for target, params := range weblink.All(line) {
			ref, err := uri.ParseRef(target)
			if err != nil {
				continue
			}
			u, relations := base.Resolve(ref), strings.Fields(strings.ToLower(params["rel"]))
			if slices.Contains(relations, "duplicate") && len(f.sources) <= maxSources {
				f.sources = append(f.sources, source{u, priority(params["pri"])})
			}
			kind, _, _ := strings.Cut(params["type"], ";")
			isDocument := slices.Contains(relations, "describedby") &&
				strings.EqualFold(strings.TrimSpace(kind), mediaType)
			if isDocument && len(f.descriptions) < maxDescriptions {
				f.descriptions = append(f.descriptions, description{u, params["name"]})
			}
		}
	}
	if len(f.sources) == 1 && len(f.descriptions) == 0 {
		return nil
	}
	f.complete()
	return f
}

// digest returns the best digest of the header as a Checksum, or "".
func digest(header textproto.MIMEHeader) string {
	best, found := len(hashes), ""
	for _, name := range []string{"Digest", "Repr-Digest"} {
		for part := range strings.SplitSeq(strings.Join(header.Values(name), ","), ",") {
			algorithm, value, _ := strings.Cut(strings.TrimSpace(part), "=")
			if algorithm = strings.ToLower(algorithm); algorithm == "sha" {
				algorithm = "sha-1" // RFC 3230, section 4.1.1
			}
			n := rank(algorithm)
			b, err := base64.StdEncoding.DecodeString(strings.Trim(value, ":"))
			if n < 0 || n >= best || err != nil {
				continue
			}
			size := hashes[n].new().Size()
			if len(b) == 2*size { // the example of RFC 6249 encodes the digits
				b, err = hex.DecodeString(string(b))
			}
			if err != nil || len(b) != size {
				continue
			}
			best, found = n, hashes[n].short+":"+hex.EncodeToString(b)
		}
	}
	return found
}
