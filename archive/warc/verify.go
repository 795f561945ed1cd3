package warc

import (
	"bytes"
	"errors"
	"hash"
	"io"
	"net/http"

	"github.com/urlget/urlget/archive/internal/digest"
	"github.com/urlget/urlget/archive/internal/httprecord"
)

// A Problem is an error in a file.
type Problem struct {
	Offset int64  // of the record
	ID     string // of the record; "" if unknown
	Text   string
}

// A Summary counts the records of a file.
type Summary struct {
	Records int
	Types   map[string]int // number of records by type
	Content int64          // total length of all blocks in bytes
	// External is the number of revisits that refer to records in other files.
	External int
	// Longer is the number of HTTP responses whose body is longer than their Content-Length. Such
	// bodies are read to the end of the record.
	Longer int
}

// Verify reads a file to its end and calls report for each problem: damage, missing mandatory
// fields, and wrong digests, also of the bodies of requests. Some writers compute the payload digest
// including the chunked framing; this is accepted.
func Verify(file io.ReaderAt, report func(Problem)) (Summary, error) {
	s := Summary{Types: make(map[string]int)}
	r, err := NewReader(file)
	if err != nil {
		return s, err
	}
	defer r.Close()
	ids := make(map[string]bool)
	refers := make(map[string]int)
	for rec, err := range r.Records() {
		switch damage, isDamage := errors.AsType[*DamageError](err); {
		case isDamage:
			report(Problem{Offset: damage.Offset, Text: damage.Err.Error()})
			continue
		case err != nil:
			return s, err
		}
		s.Records++
		s.Types[rec.Type()]++
		s.Content += rec.Length
		for _, name := range []string{"WARC-Type", "WARC-Record-ID", "WARC-Date"} {
			if rec.Get(name) == "" && !rec.isARC() {
				report(Problem{rec.Offset, rec.ID(), "missing " + name})
			}
		}
		if ids[rec.ID()] && rec.ID() != "" {
			report(Problem{rec.Offset, rec.ID(), "duplicate WARC-Record-ID"})
		}
		ids[rec.ID()] = true
		if rec.Type() == Revisit {
			refers[rec.Refers("WARC-Refers-To")]++
		}
		text, longer := rec.checkBlock()
		if text != "" {
			report(Problem{rec.Offset, rec.ID(), text})
		}
		if longer {
			s.Longer++
		}
	}
	for id, n := range refers {
		if !ids[id] {
			s.External += n
		}
	}
	return s, nil
}

// checkBlock reads the block. It describes an unreadable HTTP response or the first wrong digest, or
// returns "". Longer reports a body longer than its Content-Length. A read error is not reported,
// because Next returns it.
func (rec *Record) checkBlock() (problem string, longer bool) {
	block, hasBlock := digest.Parse(rec.Get("WARC-Block-Digest"))
	want, parsed := digest.Parse(rec.Get("WARC-Payload-Digest"))
	hasPayload := parsed && rec.Incomplete() == ""
	var sinks []io.Writer
	var blockSum hash.Hash
	var payload payloadHash
	if hasBlock {
		blockSum = block.Hash()
		sinks = append(sinks, blockSum)
	}
	isHTTP := rec.IsHTTP()
	isResponse := rec.Type() == Response && isHTTP
	// The digest of a revisit is that of another record's payload.
	hasPayload = hasPayload && (isResponse || isHTTP && rec.Type() == Request || rec.Type() == Resource)
	if hasPayload {
		payload = newPayloadHash(want)
		payload.framed.inBody = !isHTTP
		if !isResponse {
			payload.body = payload.framed.sum
		}
		sinks = append(sinks, payload.framed)
	}
	src := io.TeeReader(rec.Block, io.MultiWriter(sinks...))
	var headErr error
	if isResponse {
		var resp *http.Response
		if resp, headErr = httprecord.Read(src, -1, maxIndexedHead); headErr == nil {
			body := io.Discard
			if hasPayload {
				body = payload.body
			}
			n, _ := io.Copy(body, resp.Body)
			longer = resp.ContentLength >= 0 && n > resp.ContentLength
		}
	}
	if _, err := io.Copy(io.Discard, src); err != nil {
		return "", false
	}
	switch {
	case isBroken(block, hasBlock), hasBlock && !bytes.Equal(blockSum.Sum(nil), block.Sum):
		return mismatch("block", rec.Get("WARC-Block-Digest")).Error(), longer
	case isBroken(want, parsed), hasPayload && !payload.matches():
		return mismatch("payload", rec.Get("WARC-Payload-Digest")).Error(), longer
	case headErr != nil && rec.Incomplete() == "":
		return headErr.Error(), false
	}
	return "", longer
}

// isBroken reports whether a digest of a known algorithm could not be parsed. Nothing can match it.
func isBroken(d digest.Digest, parsed bool) bool { return !parsed && d.Hash() != nil }

// bodyHasher hashes the bytes that follow the head of a message.
type bodyHasher struct {
	sum    hash.Hash
	last   []byte // the preceding bytes, at most three
	inBody bool
}

func (b *bodyHasher) Write(p []byte) (int, error) {
	if b.inBody {
		return b.sum.Write(p)
	}
	text := append(b.last, p...)
	if _, rest, ok := bytes.Cut(text, []byte("\r\n\r\n")); ok {
		b.inBody = true
		b.sum.Write(rest)
	}
	b.last = bytes.Clone(text[max(0, len(text)-3):])
	return len(p), nil
}
