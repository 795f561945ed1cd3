// Package sigv4 signs HTTP requests with AWS Signature Version 4, for Amazon S3 and other services, and
// for providers that use the same algorithm with names of their own, as curl's --aws-sigv4 does.
//
// The specification is "AWS Signature Version 4 for API requests" in the AWS IAM User Guide.
package sigv4

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/netip"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch/uri"
)

// A Key is an access key. Only temporary ones have a Token.
type Key struct{ ID, Secret, Token string }

// A Scope is what a signature is valid for.
type Scope struct {
	Provider string // in lower case, in names of the algorithm: "aws"
	Vendor   string // in lower case, in names of header fields: "amz"
	Region   string // "" if the host name has it
	Service  string // "" if the host name has it
}

// S3 is the service that signs the digest of the body as a field, and encodes paths once.
const S3 = "s3"

// The digests of a body that is empty, and of one that is not signed.
const (
	Empty    = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	Unsigned = "UNSIGNED-PAYLOAD"
)

// Parse reads PROVIDER1[:PROVIDER2[:REGION[:SERVICE]]].
func Parse(text string) (Scope, error) {
	parts := strings.Split(text, ":")
	for _, part := range parts {
		if strings.Trim(part, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != "" {
			return Scope{}, fmt.Errorf("%q has other characters than letters, digits, -, _ and dots", part)
		}
	}
	if len(parts) > 4 || parts[0] == "" {
		return Scope{}, fmt.Errorf("%q does not have the form PROVIDER1[:PROVIDER2[:REGION[:SERVICE]]]", text)
	}
	parts = append(parts, "", "", "")
	s := Scope{Provider: strings.ToLower(parts[0]), Region: parts[2], Service: parts[3]}
	s.Vendor = cmp.Or(strings.ToLower(parts[1]), s.Provider)
	return s, nil
}

// At returns s with the service and the region that host names: SERVICE.REGION.example.org.
func (s Scope) At(host string) (Scope, error) {
	name := host
	if _, err := netip.ParseAddr(host); err == nil {
		host = ""
	}
	service, rest, _ := strings.Cut(host, ".")
	region, _, dot := strings.Cut(rest, ".")
	if s.Service == "" {
		s.Service = service
		if s.Region == "" && dot {
			s.Region = region
		}
	}
	if s.Service == "" || s.Region == "" {
		return s, fmt.Errorf("neither the option nor the host %s names the region and the service", name)
	}
	return s, nil
}

// A Request is what is signed. Path and Query are percent-encoded, as they are sent. Payload is the
// SHA-256 of the body, or Unsigned.
type Request struct {
	Method, Host, Path, Query, Payload string
	Header                             textproto.MIMEHeader
}

// Sign adds the fields of the signature to r.Header. It signs Host, Content-Type and the fields of the
// vendor. Proxies may change others.
func (s Scope) Sign(r Request, key Key, now time.Time) {
	now = now.UTC()
	prefix := "X-" + strings.ToUpper(s.Vendor[:1]) + s.Vendor[1:] + "-"
	r.Header.Set(prefix+"Date", now.Format("20060102T150405Z"))
	if s.Service == S3 {
		r.Header.Set(prefix+"Content-Sha256", r.Payload)
	}
	if key.Token != "" {
		r.Header.Set(prefix+"Security-Token", key.Token)
	}
	values := map[string]string{"host": r.Host}
	for name, list := range r.Header {
		name = strings.ToLower(name)
		if name == "content-type" || strings.HasPrefix(name, strings.ToLower(prefix)) {
			values[name] = folded(list)
		}
	}
	names := slices.Sorted(maps.Keys(values))
	var fields strings.Builder
	for _, name := range names {
		fields.WriteString(name + ":" + values[name] + "\n")
	}
	signed := strings.Join(names, ";")
	canonical := strings.Join([]string{r.Method, s.path(r.Path), query(r.Query), fields.String(), signed,
		r.Payload}, "\n")
	provider := strings.ToUpper(s.Provider)
	sum := sha256.Sum256([]byte(canonical))
	scope := []string{now.Format("20060102"), s.Region, s.Service, s.Provider + "4_request"}
	text := strings.Join([]string{provider + "4-HMAC-SHA256", now.Format("20060102T150405Z"),
		strings.Join(scope, "/"), hex.EncodeToString(sum[:])}, "\n")
	mac := []byte(provider + "4" + key.Secret)
	for _, part := range append(scope, text) {
		mac = keyed(mac, part)
	}
	r.Header.Set("Authorization", fmt.Sprintf(
		"%s4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%x",
		provider, key.ID, strings.Join(scope, "/"), signed, mac))
}

func keyed(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// folded joins values and reduces blanks to one.
func folded(values []string) string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = strings.Join(strings.Fields(v), " ")
	}
	return strings.Join(list, ",")
}

// path returns a path in canonical form. All services but S3 encode it again.
func (s Scope) path(path string) string {
	if path == "" {
		path = "/"
	}
	if s.Service == S3 {
		path = uri.UnescapeRaw(path)
	}
	return Escape(path, "/")
}

// query returns the parameters of a query in canonical form: sorted, each with a value.
func query(text string) string {
	if text == "" {
		return ""
	}
	pairs := strings.Split(text, "&")
	for i, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		// The smallest byte of an encoded name or value sorts the name alone before its extensions.
		pairs[i] = parameter(name) + "\x00" + parameter(value)
	}
	slices.Sort(pairs)
	return strings.ReplaceAll(strings.Join(pairs, "&"), "\x00", "=")
}

func parameter(text string) string {
	return Escape(uri.UnescapeRaw(strings.ReplaceAll(text, "+", "%20")), "")
}

// Escape percent-encodes all bytes of text except the unreserved ones (RFC 3986, section 2.3) and those in
// safe.
func Escape(text, safe string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9',
			strings.IndexByte("-._~", c) >= 0, strings.IndexByte(safe, c) >= 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}
