package download

import (
	"errors"
	"fmt"
	"strings"

	"github.com/urlget/urlget/fetch"
)

// A verdict is the relation of a response to the bytes at the destination. Received bytes are given up
// only for a new version, or for a response that is consistent with everything known; a response that
// contradicts is not the resource. The table in docs/reliability.md shows the outcomes.
type verdict uint8

const (
	consistent  verdict = iota // no contradiction, but no proof of any version either
	sameVersion                // the validator proves that the bytes belong together
	newVersion                 // the validator proves that the resource has changed
	contradicts                // neither the known version nor a new one
)

// A form is what is known about a resource besides its version. Empty fields are unknown.
type form struct {
	mediaType string // without parameters
	coding    string // content coding of the saved bytes
	kind      fetch.Kind
	sent      bool // by a response of this run, so that kind is known
}

func formOf(resp *fetch.Response) form {
	f := form{mediaType: mediaType(resp.ContentType), kind: resp.Kind, sent: true}
	if !resp.Decoded {
		f.coding = contentCoding(resp)
	}
	return f
}

func mediaType(s string) string {
	s, _, _ = strings.Cut(s, ";")
	return strings.ToLower(strings.TrimSpace(s))
}

// contentCoding returns the content coding of resp in lower case, "" for none.
func contentCoding(resp *fetch.Response) string {
	coding := strings.ToLower(strings.Join(resp.Header.Values("Content-Encoding"), ", "))
	if coding == "identity" {
		return ""
	}
	return coding
}

// known returns the version of the bytes at the destination.
func (p *progress) known() fetch.Version {
	if p.object == (fetch.Version{}) {
		return p.before
	}
	return p.object
}

// judge compares resp with what is known. The reason is that of a contradiction.
func (p *progress) judge(resp *fetch.Response) (v verdict, reason string) {
	known, now, other := p.known(), fetch.VersionOf(&resp.Meta), formOf(resp)
	sizes := known.Size > 0 && now.Size >= 0 && known.Size != now.Size
	tags := known.ETag != "" && now.ETag != "" && opaque(known.ETag) != opaque(now.ETag)
	times := !known.ModTime.IsZero() && !now.ModTime.IsZero()
	otherSize := fmt.Sprintf("its size is %d instead of %d", now.Size, known.Size)
	switch {
	case other.kind == fetch.KindNone && known != (fetch.Version{}):
		return contradicts, "it has no content"
	case p.form.sent && other.kind != p.form.kind:
		return contradicts, "it is a " + kindName(other.kind) + " instead of a " + kindName(p.form.kind)
	case sizes && isStrong(now.ETag) && now.ETag == known.ETag:
		return contradicts, otherSize + " with the same entity tag"
	case isStrong(now.ETag) && (tags || known.ETag == "" && times && !now.ModTime.Equal(known.ModTime)):
		return newVersion, ""
	case other.coding != p.form.coding && p.form.mediaType != "":
		return contradicts, fmt.Sprintf("its content coding is %q instead of %q", other.coding, p.form.coding)
	case known.Same(&resp.Meta):
		return sameVersion, ""
	case other.mediaType != "" && p.form.mediaType != "" && other.mediaType != p.form.mediaType:
		return contradicts, fmt.Sprintf("its media type is %s instead of %s",
			other.mediaType, p.form.mediaType)
	case tags,
		times && now.ModTime.After(known.ModTime),
		sizes && known.Validator.IsZero() && isStrong(now.ETag):
		return newVersion, ""
	case sizes && (now.Size < known.Size || !known.Validator.IsZero()):
		return contradicts, otherSize
	}
	return consistent, ""
}

func kindName(k fetch.Kind) string {
	switch k {
	case fetch.KindListing:
		return "listing"
	case fetch.KindSession:
		return "session"
	}
	return "document"
}

func isStrong(tag string) bool { return tag != "" && !isWeak(tag) }

// opaque returns an entity tag without the mark of a weak one.
func opaque(tag string) string { return strings.TrimPrefix(tag, "W/") }

// contradicted handles a response that is not the resource, or an error in place of one. The bytes are
// kept. The first time without progress, it returns errAgain to request the whole resource, with
// which the bytes are compared.
func (t *transfer) contradicted(cause error) error {
	if !t.plain && t.comparable() {
		t.plain, t.noRanges, t.byOverlap = true, true, !t.forwardOnly
		return errAgain
	}
	e := &fetch.Error{Code: fetch.ErrTruncated, Reason: fetch.Reason{Kind: fetch.ReasonContradiction}}
	if inner, ok := errors.AsType[*fetch.Error](cause); ok {
		e.Reply = inner.Reply
		if cause = inner.Err; cause == nil {
			cause = errors.New(string(inner.Code))
		}
	}
	e.Err = fmt.Errorf("the response contradicts the %d bytes received before: %v", t.done, cause)
	return e
}

// refusesResume reports whether err, for a request of the missing bytes, may be due to the request of
// a part.
func (t *transfer) refusesResume(err error) bool {
	e, ok := errors.AsType[*fetch.Error](err)
	if t.done == 0 || !ok || e.Retry {
		return false
	}
	switch e.Code {
	case fetch.ErrProtocol, fetch.ErrRange, fetch.ErrChecksum, fetch.ErrChanged, fetch.ErrNotModified:
		return true
	case fetch.ErrRefused, fetch.ErrServer:
		return !t.plain
	}
	return false
}

// comparable reports whether the whole resource can be requested again and its beginning compared, or
// skipped.
func (t *transfer) comparable() bool {
	if t.missing != nil || !resumable(t.req) {
		return false
	}
	if t.forwardOnly {
		return !t.object.Guard().IsZero()
	}
	return t.dest.unproven() != nil || t.dest.distrust()
}
