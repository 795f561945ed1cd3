package download

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urlget/urlget/fetch"
)

// overlapSize is the number of bytes at the end of a file that are transferred again and must be
// identical, unless a validator proves that they belong to the resource.
const overlapSize = 64 << 10

// beginningSize is the number of bytes at the beginning of a file that are compared, if nothing else is
// known about the bytes before the overlap.
const beginningSize = 64 << 10

// overlapFrom returns the offset at which a response must begin to overlap the existing bytes.
func (t *transfer) overlapFrom() int64 {
	if t.noRanges {
		return 0
	}
	return max(t.done-overlapSize, 0)
}

func (t *transfer) askOverlap() *fetch.Request {
	req := *t.req
	req.WantDigest = t.wantsDigest()
	req.Range, req.IfChanged = fetch.Range{Offset: t.overlapFrom()}, fetch.Validator{}
	if guard := t.object.Guard(); !guard.IsZero() && !req.Range.IsZero() {
		req.IfChanged = guard
	} else if known := t.opts.Known; known != nil && !req.Range.IsZero() {
		if v := (fetch.Version{Validator: known.Validator, Size: known.Size}).Guard(); v.ETag != "" {
			req.IfChanged = v
		}
	}
	return &req
}

// acceptOverlap arranges for the beginning of the body of resp to be compared with the existing
// bytes.
func (t *transfer) acceptOverlap(ctx context.Context, resp *fetch.Response) error {
	from := resp.Range.Offset
	if !resp.Range.IsZero() && from != t.overlapFrom() {
		if t.noRanges {
			return &fetch.Error{Code: fetch.ErrProtocol, Err: errWrongRange}
		}
		t.noRanges = true
		return errAgain
	}
	if err := t.checkVersion(resp); err != nil {
		return err
	}
	known, now := t.known(), fetch.VersionOf(&resp.Meta)
	if t.mayRewind {
		t.object = now
	}
	t.want = now.Size
	if err := t.addDigests(resp); err != nil {
		return err
	}
	if err := t.dest.begin(ctx, resp); err != nil {
		return err
	}
	if t.want >= 0 && t.want < t.done {
		return t.differs()
	}
	proof := "all bytes match"
	switch {
	case from > 0 && t.sameBeginning:
		proof = fmt.Sprintf("the first %d and the last %d bytes match", t.beginningLength(), t.done-from)
	case from > 0:
		proof = fmt.Sprintf("the last %d bytes match", t.done-from)
	}
	if t.want == t.done {
		proof = "the size and " + proof
	}
	t.out.skip, t.out.left = 0, -1
	t.out.check = &comparison{
		existing: io.NewSectionReader(t.dest.unproven(), from, t.done-from),
		left:     t.done - from,
		same: func() error {
			if now.Validator.IsZero() {
				now.Validator = known.Validator
			}
			t.byOverlap, t.before, t.object = false, fetch.Version{}, now
			t.reuse(proof)
			return t.dest.prove(ctx)
		},
	}
	return nil
}

// checkVersion returns an error unless resp may have the existing bytes.
func (t *transfer) checkVersion(resp *fetch.Response) error {
	t.mayRewind, t.offsetDoubtful = true, false
	if t.before.Size > 0 && t.plausible(t.before, resp) {
		return nil
	}
	v, reason := t.judge(resp)
	switch {
	case v == contradicts:
		return t.contradicted(errors.New(reason))
	case v == newVersion:
		return t.startOver("the resource has changed", errAgain)
	case v == consistent && !t.known().Validator.IsZero():
		if t.mayRewind = false; !resp.Range.IsZero() {
			return t.contradicted(errNoValidator)
		}
	}
	t.offsetDoubtful = resp.Range.Offset > 0
	return nil
}

// needsBeginning reports whether the beginning of the resource must be compared before the overlap. A
// validator or a required checksum makes that unnecessary.
func (t *transfer) needsBeginning() bool {
	if !t.byOverlap || t.sameBeginning || t.opts.Checksum != "" {
		return false
	}
	scheme, _ := t.client.Scheme(t.req.URL.Scheme())
	return scheme.Ranges && t.object.Guard().IsZero() && t.overlapFrom() > 0
}

func (t *transfer) beginningLength() int64 { return min(beginningSize, t.done-overlapSize) }

// acceptBeginning compares resp with the beginning of the existing bytes. If they are the same, it
// returns errAgain to request the overlap.
func (t *transfer) acceptBeginning(ctx context.Context, resp *fetch.Response) error {
	if resp.Range.Offset != 0 || resp.Range.Length != t.beginningLength() {
		t.noRanges = true
		if resp.Range.IsZero() {
			return t.acceptOverlap(ctx, resp)
		}
		return errAgain
	}
	if err := t.checkVersion(resp); err != nil {
		return err
	}
	existing := make([]byte, resp.Range.Length)
	if _, err := t.dest.unproven().ReadAt(existing, 0); err != nil {
		return err
	}
	received, err := io.ReadAll(resp.Body)
	t.received += int64(len(received))
	switch {
	case !bytes.HasPrefix(existing, received):
		if err := t.dest.begin(ctx, resp); err != nil {
			return err // the server suggests another name
		}
		return t.differs()
	case t.refusesResume(err):
		return t.contradicted(err)
	case err != nil:
		return err
	case len(received) < len(existing):
		return truncated("received %d of %d bytes", len(received), len(existing))
	}
	t.sameBeginning = true
	return errAgain
}

// plausible reports whether resp may have the same content as version old although its validator
// differs, as on servers of a CDN that disagree about entity tags. The size must be equal,
// and either the time or the weak entity tag; or a digest will show it.
func (t *transfer) plausible(old fetch.Version, resp *fetch.Response) bool {
	now := fetch.VersionOf(&resp.Meta)
	if old.Size <= 0 || now.Size != old.Size {
		return false
	}
	stated := fetch.DigestsOf(resp.Digests, fetch.CoversResource)
	switch {
	case fetch.ContradictingDigests(append(stated, t.stated...)) != nil:
		return false
	case len(stated)+len(t.stated) > 0:
		return true
	case !now.ModTime.IsZero() && !old.ModTime.IsZero():
		return now.ModTime.Equal(old.ModTime)
	}
	return isWeak(now.ETag) && now.ETag == old.ETag
}

// isWeak reports whether an entity tag is weak (RFC 9110, section 8.8.1).
func isWeak(tag string) bool { return strings.HasPrefix(tag, "W/") }

// distrust makes an overlap prove the bytes transferred so far. Their validator no longer does.
func (t *transfer) distrust() bool {
	if t.missing != nil || !t.req.Range.IsZero() || !t.dest.distrust() {
		return false
	}
	t.before, t.object = t.object, fetch.Version{}
	t.byOverlap = true
	return true
}

// differs ends a transfer whose overlap differs, or starts it over.
func (t *transfer) differs() error {
	if !t.mayRewind || t.offsetDoubtful && !t.plain && t.dest.doubtful() {
		return t.contradicted(errDiffer)
	}
	return t.startOver("the existing bytes are not the beginning of the resource", errAgain)
}

// errDiffers ends a copy whose first bytes differ from the existing ones.
var errDiffers = errors.New("the bytes differ")

// A comparison compares the first bytes of a copy with the existing ones.
type comparison struct {
	existing io.Reader
	left     int64        // bytes to compare
	same     func() error // called when all are equal
}

// compare compares the beginning of p and returns the bytes after the comparison.
func (c *comparison) compare(p []byte) (rest []byte, err error) {
	n := min(int64(len(p)), c.left)
	existing := make([]byte, n)
	if _, err := io.ReadFull(c.existing, existing); err != nil {
		return p, err
	}
	if !bytes.Equal(existing, p[:n]) {
		return p, errDiffers
	}
	c.left -= n
	if c.left == 0 {
		err = c.same()
	}
	return p[n:], err
}
