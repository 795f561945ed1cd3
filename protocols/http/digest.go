package http

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"github.com/dunglas/httpsfv"

	"github.com/urlget/urlget/fetch"
)

type digestField struct {
	name string // in canonical form
	// read returns the digests in one value. An error ends the value.
	read func(f *digestField, value string, found func(algorithm string, sum []byte)) error
	// algorithm is the algorithm of a field that has only one.
	algorithm string
	covers    fetch.Coverage
	// stored is set if the digest covers the object that a service stores. It may differ from the
	// response if a content coding was added on the way, or from a range.
	stored bool
}

var digestFields = []digestField{
	// RFC 9530, sections 3 and 2; RFC 3230, section 4.3.2; RFC 2616, section 14.15.
	{name: "Repr-Digest", read: structuredDigests},
	{name: "Content-Digest", read: structuredDigests, covers: fetch.CoversBody},
	{name: "Digest", read: listedDigests},
	{name: "Content-Md5", read: oneDigest, algorithm: "md5", covers: fetch.CoversBody},
	{name: "X-Goog-Hash", read: listedDigests, stored: true},
	{name: "X-Amz-Checksum-Sha256", read: oneDigest, algorithm: "sha-256", stored: true},
	{name: "X-Amz-Checksum-Sha1", read: oneDigest, algorithm: "sha-1", stored: true},
	{name: "X-Amz-Checksum-Crc64nvme", read: oneDigest, algorithm: "crc64nvme", stored: true},
	{name: "X-Amz-Checksum-Crc32c", read: oneDigest, algorithm: "crc32c", stored: true},
	{name: "X-Amz-Checksum-Crc32", read: oneDigest, algorithm: "crc32", stored: true},
	{name: "Docker-Content-Digest", read: hexDigest, stored: true}, // OCI distribution specification, 1.1
	linkedTag,
}

// linkedTag is the field in which Hugging Face sends the SHA-256 of a large file, also when it
// redirects to the file.
var linkedTag = digestField{name: "X-Linked-Etag", read: linkedDigest, stored: true}

var (
	errDigestSyntax = errors.New("malformed")
	errDigestSize   = errors.New("wrong length")
)

// structuredDigests reads a dictionary of byte sequences (RFC 9530, sections 2 and 3).
func structuredDigests(_ *digestField, value string, found func(string, []byte)) error {
	dict, err := httpsfv.UnmarshalDictionary([]string{value})
	if err != nil {
		return err
	}
	for _, name := range dict.Names() {
		member, _ := dict.Get(name)
		item, ok := member.(httpsfv.Item)
		sum, isBytes := item.Value.([]byte)
		if !ok || !isBytes {
			return fmt.Errorf("%s is not a byte sequence", name)
		}
		found(name, sum)
	}
	return nil
}

// listedDigests reads a list such as "sha-256=BASE64,md5=BASE64".
func listedDigests(_ *digestField, value string, found func(string, []byte)) error {
	for part := range strings.SplitSeq(value, ",") {
		algorithm, text, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok {
			return errDigestSyntax
		}
		algorithm = fetch.CanonicalAlgorithm(algorithm)
		h := fetch.NewHash(algorithm)
		if h == nil {
			found(algorithm, nil) // some have no base64
			continue
		}
		sum, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return err
		}
		if len(sum) == 2*h.Size() { // the example of RFC 6249 encodes the digits
			if sum, err = hex.DecodeString(string(sum)); err != nil {
				return err
			}
		}
		found(algorithm, sum)
	}
	return nil
}

// oneDigest reads a digest in base64. A checksum of the checksums of N parts ends in "-N". It does not
// cover the content, so it is ignored.
func oneDigest(f *digestField, value string, found func(string, []byte)) error {
	digits, parts, ok := strings.Cut(value, "-")
	if ok && f.stored && digits != "" && parts != "" && strings.Trim(parts, "0123456789") == "" {
		return errors.New("it covers the checksums of parts")
	}
	sum, err := base64.StdEncoding.DecodeString(value)
	if err == nil {
		found(f.algorithm, sum)
	}
	return err
}

// hexDigest reads "sha256:" followed by hexadecimal digits.
func hexDigest(_ *digestField, value string, found func(string, []byte)) error {
	algorithm, digits, ok := strings.Cut(value, ":")
	if !ok {
		return errDigestSyntax
	}
	sum, err := hex.DecodeString(digits)
	if err == nil {
		found(fetch.CanonicalAlgorithm(algorithm), sum)
	}
	return err
}

// linkedDigest reads an entity tag that is the SHA-256 of a file. Other tags are not digests.
func linkedDigest(_ *digestField, value string, found func(string, []byte)) error {
	sum, err := hex.DecodeString(strings.Trim(value, `"`))
	if err == nil && len(sum) == sha256.Size {
		found("sha-256", sum)
	}
	return nil
}

// readDigests returns the digests in the fields of h. It passes those that it ignores to ignored.
func readDigests(
	h http.Header, fields []digestField, ignored func(field, value string, err error),
) []fetch.Digest {
	var all []fetch.Digest
	for i := range fields {
		f := &fields[i]
		for _, value := range h[f.name] {
			err := f.read(f, strings.TrimSpace(value), func(algorithm string, sum []byte) {
				hash := fetch.NewHash(algorithm)
				switch {
				case hash == nil:
					ignored(f.name, algorithm, errors.New("unknown algorithm"))
				case len(sum) != hash.Size():
					ignored(f.name, value, errDigestSize)
				default:
					all = append(all, fetch.Digest{Algorithm: algorithm, Sum: sum,
						By: strings.ToLower(f.name), Covers: f.covers})
				}
			})
			if err != nil {
				ignored(f.name, value, err)
			}
		}
	}
	return all
}

func (ex *exchange) digests(partial, decoded bool) []fetch.Digest {
	h := ex.resp.Header
	if !slices.ContainsFunc(digestFields, func(f digestField) bool { return h[f.name] != nil }) {
		return nil
	}
	all := readDigests(h, digestFields, ex.ignoreDigest)
	if len(all) == 0 {
		return nil
	}
	coding := strings.ToLower(h.Get("Content-Encoding"))
	stored := strings.ToLower(h.Get("X-Goog-Stored-Content-Encoding"))
	if stored != "" && strings.TrimPrefix(stored, "identity") != coding {
		all = without(all, func(d fetch.Digest) bool { return d.By == "x-goog-hash" })
	}
	composite := strings.EqualFold(h.Get("X-Amz-Checksum-Type"), "COMPOSITE")
	all = without(all, func(d fetch.Digest) bool {
		switch {
		case d.By == "content-md5" && partial:
			return true // Apache httpd sends that of the whole, while RFC 2616 means the range
		case !isStored(d.By):
			return false
		case strings.HasPrefix(d.By, "x-amz-") && (composite || partial):
			return true
		}
		return decoded && d.By != "x-goog-hash" // the coding may have been added by a cache
	})
	for i := range all {
		if decoded {
			all[i].Covers = fetch.CoversEncoded
		}
	}
	return all
}

func (ex *exchange) linkedDigests() []fetch.Digest {
	return readDigests(ex.resp.Header, []digestField{linkedTag}, ex.ignoreDigest)
}

func (ex *exchange) ignoreDigest(field, value string, err error) {
	ex.driver.env.Logger().Info("a stated digest is ignored", "url", ex.req.URL.Redacted(), "field", field,
		"value", fetch.Printable(fmt.Sprintf("%.100s", value)),
		"reason", fetch.Printable(fmt.Sprintf("%.100s", err)))
}

func without(list []fetch.Digest, drop func(fetch.Digest) bool) []fetch.Digest {
	return slices.DeleteFunc(list, drop)
}

func isStored(by string) bool {
	return slices.ContainsFunc(digestFields, func(f digestField) bool {
		return f.stored && f.name == textproto.CanonicalMIMEHeaderKey(by)
	})
}

// A trailerDigests verifies the digests in the trailer of a body (RFC 9530, section 6.4), over the bytes as
// transferred. Their algorithms are not known before the content, so it computes those in use for the
// announced fields. Digests in fields that are not announced are not verified.
type trailerDigests struct {
	ex     *exchange
	fields []digestField
	sums   fetch.DigestVerifier
}

func (ex *exchange) trailerDigests(partial bool) *trailerDigests {
	if ex.resp.Trailer == nil {
		return nil
	}
	d := &trailerDigests{ex: ex}
	for _, f := range digestFields {
		if _, announced := ex.resp.Trailer[f.name]; !announced || f.stored ||
			partial && f.name != "Content-Digest" { // see digests for Content-MD5
			continue
		}
		d.fields = append(d.fields, f)
		if d.sums.Compute(f.algorithm); f.algorithm == "" {
			for _, algorithm := range []string{"sha-512", "sha-256", "sha-1", "md5"} {
				d.sums.Compute(algorithm)
			}
		}
	}
	if len(d.fields) == 0 {
		return nil
	}
	return d
}

// check digests p, the next bytes. If err is io.EOF, it returns an error if a digest in the trailer differs.
func (d *trailerDigests) check(p []byte, err error) error {
	d.sums.Write(p)
	if err != io.EOF {
		return err
	}
	for _, stated := range readDigests(d.ex.resp.Trailer, d.fields, d.ex.ignoreDigest) {
		if d.sums.Sum(stated.Algorithm) != nil {
			d.sums.Add(stated)
		}
	}
	return cmp.Or(d.sums.Verify(), err)
}

// verifiedReader verifies the digests of encoded content, while a decoder reads it.
type verifiedReader struct {
	io.Reader
	digests *fetch.DigestVerifier
}

func (r *verifiedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.digests.Write(p[:n])
	if err == io.EOF {
		if wrong := r.digests.Verify(); wrong != nil {
			return n, wrong
		}
	}
	return n, err
}
