package download

import (
	"context"

	"github.com/urlget/urlget/fetch"
)

// wantsDigest reports whether to ask the server for a digest: where it decides whether bytes of several
// responses belong together. A server may need longer to compute it than the client waits, so a
// request that is repeated after a failure does not ask.
func (t *transfer) wantsDigest() bool {
	decides := t.req.WantDigest || t.resumed || t.opts.Segments > 1
	return decides && t.retrier.failed == 0 && len(t.stated) == 0
}

// addDigests adds the digests of the whole resource that resp states. It returns an error if
// they contradict each other (of class ErrChecksum) or those of earlier responses.
func (t *transfer) addDigests(resp *fetch.Response) error {
	if resp.Kind != fetch.KindObject || !t.req.Range.IsZero() || len(t.req.Ranges) > 0 {
		return nil // Body verifies the digests
	}
	if t.done > 0 && t.forwardOnly && resp.Range.IsZero() {
		return nil // Body is read from its beginning again
	}
	all := append(t.stated[:len(t.stated):len(t.stated)], resp.TakeDigests()...)
	if err := fetch.ContradictingDigests(all); err != nil {
		if t.done > 0 {
			err = t.contradicted(err)
		}
		return err
	}
	t.stated = nil
	known := map[string]bool{}
	for _, d := range all {
		if !known[d.Algorithm] {
			t.stated = append(t.stated, d)
		}
		known[d.Algorithm] = true
	}
	return nil
}

// verify verifies the digests of the complete content. Digests that were stated after the first byte
// require reading it again.
func (t *transfer) verify(ctx context.Context) error {
	if !t.forwardOnly && (t.undigested || !t.sums.expects(t.stated)) {
		t.sums.expect(t.stated)
		if t.sums.active() {
			if err := t.dest.digest(ctx); err != nil {
				return err
			}
		}
	}
	return t.sums.verify()
}

// doubtful reports whether err is a wrong digest that may be due to bytes of an earlier version.
func (t *transfer) doubtful(err error) bool {
	return fetch.CodeOf(err) == fetch.ErrChecksum && t.opts.Checksum == "" && t.dest.doubtful()
}

// proof returns the digest that proves the content, or nil. A body that arrived in one response was
// also verified by the digests that its Body or the driver verify.
func (t *transfer) proof() *fetch.Digest {
	d := t.sums.proof()
	if d != nil || t.last == nil || t.exchanges != 1 || t.undigested || t.received < t.done {
		return d
	}
	stated := fetch.StrongestDigest(t.last.Digests)
	if !t.req.Range.IsZero() || !t.last.Range.IsZero() {
		return nil
	}
	if stated.Covers == fetch.CoversEncoded {
		stated.By += ", encoded"
	}
	return nonzero(stated)
}
