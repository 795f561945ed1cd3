package download

import "github.com/urlget/urlget/fetch"

type progress struct {
	object   fetch.Version
	form     form
	stated   []fetch.Digest // of the whole resource
	done     int64          // bytes at the destination
	want     int64          // expected number of bytes; -1 if unknown
	furthest int64          // the largest value of done so far
	received int64          // bytes received in this run
	resumed  bool           // an earlier run transferred bytes, and their reuse has not been reported yet
	// byOverlap is true while only an overlap with the response can prove that the existing bytes
	// belong to the resource.
	byOverlap bool
	// before is the version of bytes whose validator does not prove that they belong to the resource;
	// zero if it does, or if nothing is known.
	before fetch.Version
	// sameBeginning is true once the beginning of the resource equals that of the existing bytes.
	sameBeginning bool
	// mayRewind is true if bytes that differ from a response may be discarded, because the response does
	// not contradict what is known.
	mayRewind bool
	// offsetDoubtful is true if bytes that differ may only show that the server has ignored the offset of
	// a range.
	offsetDoubtful bool
	// exceeded is true once a response had more bytes than announced: the size is wrong, or the existing
	// bytes belong to another resource.
	exceeded bool
	// missing lists the missing ranges of a transfer in segments, in order. Nil means a single
	// stream. The start of a span moves as its bytes arrive; some spans may be empty.
	missing []*span
}

func (p *progress) add(n int64) {
	p.done += n
	p.received += n
	p.furthest = max(p.furthest, p.done)
}

// exceed forgets the size, so that a later run does not take the bytes for the whole resource.
func (p *progress) exceed() { p.exceeded, p.object.Size = true, -1 }

func (p *progress) reset() {
	p.before, p.sameBeginning = fetch.Version{}, false
	p.form, p.mayRewind, p.exceeded = form{}, false, false
	p.object, p.stated, p.done, p.want, p.byOverlap, p.missing = fetch.Version{}, nil, 0, -1, false, nil
}

// complete reports whether all bytes have been transferred. It is false for an empty resource.
func (p *progress) complete() bool { return p.done > 0 && p.done == p.want && !p.byOverlap }

func (p *progress) divide(missing []span) {
	p.missing = nil
	for _, m := range missing {
		p.missing = append(p.missing, &m)
	}
}

func (p *progress) unfinished() []span {
	var all []span
	for _, m := range p.missing {
		if m.length() > 0 {
			all = append(all, *m)
		}
	}
	return all
}

// A span is the range of bytes [0] <= n < [1].
type span [2]int64

func (s span) length() int64 { return s[1] - s[0] }

// minSegment is the minimum size of a segment in bytes. Smaller ones are not worth a connection.
const minSegment = 1 << 20

// split divides s into n spans of about the same size, or into fewer if they would be smaller than
// minSegment.
func (s span) split(n int) []span {
	n = int(min(int64(n), s.length()/minSegment))
	if n < 2 {
		return []span{s}
	}
	all := make([]span, n)
	for i := range all {
		all[i] = span{s[0] + s.length()*int64(i)/int64(n), s[0] + s.length()*int64(i+1)/int64(n)}
	}
	return all
}
