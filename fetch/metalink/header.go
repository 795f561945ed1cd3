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

// FromHeader returns the file at base as described by the header fields of an HTTP response. Mirrors
// come from Link with rel=duplicate, and Metalink documents from Link with rel=describedby. The digest
// comes from Digest (RFC 3230) or Repr-Digest (RFC 9530).
//
// The first source is base itself. Without a digest, links are ignored (RFC 6249, section 6).
// FromHeader returns nil if there is no digest or no link.
func FromHeader(base uri.URI, header textproto.MIMEHeader) *File {
	f := &File{Size: -1, Checksum: digest(header), Sources: []Source{{URL: base, Priority: 0}}}
	if f.Checksum == "" {
		return nil
	}
	for _, line := range header.Values("Link") {
		for target, params := range weblink.All(line) {
			ref, err := uri.ParseRef(target)
			if err != nil {
				continue
			}
			u, relations := base.Resolve(ref), strings.Fields(strings.ToLower(params["rel"]))
			if slices.Contains(relations, "duplicate") && len(f.Sources) <= maxSources {
				f.Sources = append(f.Sources, Source{u, priority(params["pri"]), strings.ToLower(params["geo"])})
			}
			kind, _, _ := strings.Cut(params["type"], ";")
			if slices.Contains(relations, "describedby") && strings.EqualFold(strings.TrimSpace(kind), MediaType) && len(f.Descriptions) < maxDescriptions {
				f.Descriptions = append(f.Descriptions, Description{u, params["name"]})
			}
		}
	}
	if len(f.Sources) == 1 && len(f.Descriptions) == 0 {
		return nil
	}
	f.complete()
	return f
}

// digest returns the best digest of the header in the form of File.Checksum, or "".
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
			if size := hashes[n].new().Size(); len(b) == 2*size { // the example of RFC 6249 encodes the digits
				b, err = hex.DecodeString(string(b))
				if err != nil || len(b) != size {
					continue
				}
			} else if len(b) != size {
				continue
			}
			best, found = n, hashes[n].short+":"+hex.EncodeToString(b)
		}
	}
	return found
}
