package download

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/urlget/urlget/fetch"
)

// overlapSize is the number of bytes at the end of a file that are transferred again and must be
// identical, unless a validator proves that they belong to the resource.
const overlapSize = 64 << 10

// An overlapping destination may contain bytes of unknown origin.
type overlapping interface {
	destination
	// unproven returns those bytes if an overlap may prove their origin, otherwise nil.
	unproven() io.ReaderAt
	// prove is called when the overlap is identical.
	prove(ctx context.Context) error
	// disprove is called when the overlap differs. If it returns nil, the bytes may be discarded.
	disprove() error
}

// unproven returns the bytes that an overlap may prove to belong to the resource, or nil.
func (t *transfer) unproven() io.ReaderAt {
	if dest, ok := t.dest.(overlapping); ok {
		return dest.unproven()
	}
	return nil
}

// overlapFrom returns the offset at which a response must begin to overlap the existing bytes.
func (t *transfer) overlapFrom() int64 {
	if t.noRanges {
		return 0
	}
	return max(t.done-overlapSize, 0)
}

// askOverlap returns the request for the overlap and everything after it.
func (t *transfer) askOverlap() *fetch.Request {
	req := *t.req
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
	if !t.object.Guard().IsZero() && !t.object.Same(&resp.Meta) {
		return t.startOver("the resource has changed", errAgain)
	}
	t.object = fetch.VersionOf(&resp.Meta)
	t.want = t.object.Size
	if err := t.dest.begin(ctx, resp); err != nil {
		return err
	}
	if t.want >= 0 && t.want < t.done {
		return t.differs()
	}
	proof := "all bytes match"
	if from > 0 {
		proof = fmt.Sprintf("the last %d bytes match", t.done-from)
	}
	if t.want == t.done {
		proof = "the size and " + proof
	}
	t.out.skip, t.out.left = 0, -1
	t.out.check = &comparison{
		existing: io.NewSectionReader(t.unproven(), from, t.done-from),
		left:     t.done - from,
		same: func() error {
			t.byOverlap = false
			t.reuse(proof)
			return t.dest.(overlapping).prove(ctx)
		},
	}
	return nil
}

// differs ends a transfer whose overlap differs, or starts it over.
func (t *transfer) differs() error {
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
