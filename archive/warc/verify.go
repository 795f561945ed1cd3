package warc

import (
	"bytes"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
)

// A Problem is something that is wrong with a file.
type Problem struct {
	Offset int64  // of the record
	ID     string // of the record; "" if it has none or there is no record
	Text   string
}

// A Summary says what is in a file.
type Summary struct {
	Records int
	Types   map[string]int // how many there are of each type
	Content int64          // bytes of all blocks
	// Elsewhere is how many revisits refer to a record that is not in the file.
	Elsewhere int
}

// Verify reads a file to its end and reports what is wrong: damaged places, fields that every
// record must have and that are missing, and digests that are not those of the bytes. The digest of
// a payload over the framing of chunks, which some writers make, is no problem.
func Verify(file io.ReaderAt, report func(Problem)) (Summary, error) {
	s := Summary{Types: make(map[string]int)}
	r, err := NewReader(file)
	if err != nil {
		return s, err
	}
	defer r.Close()
	ids := make(map[string]bool)
	refers := make(map[string]int)
	for {
		rec, err := r.Next()
		var damage *DamageError
		switch {
		case err == io.EOF:
			for id, n := range refers {
				if !ids[id] {
					s.Elsewhere += n
				}
			}
			return s, nil
		case errors.As(err, &damage):
			report(Problem{Offset: damage.Offset, Text: damage.Err.Error()})
			continue
		case err != nil:
			return s, err
		}
		s.Records++
		s.Types[rec.Type()]++
		s.Content += rec.Length
		for _, name := range []string{"WARC-Type", "WARC-Record-ID", "WARC-Date"} {
			if rec.Get(name) == "" {
				report(Problem{rec.Offset, rec.ID(), "it has no " + name})
			}
		}
		if ids[rec.ID()] && rec.ID() != "" {
			report(Problem{rec.Offset, rec.ID(), "another record has its identifier"})
		}
		ids[rec.ID()] = true
		if rec.Type() == Revisit {
			refers[rec.Refers("WARC-Refers-To")]++
		}
		if text := rec.checkDigests(); text != "" {
			report(Problem{rec.Offset, rec.ID(), text})
		}
	}
}

// checkDigests reads the block, and returns which digest is wrong, "" if none is. A block that
// cannot be read is told by the reader's next record.
func (rec *Record) checkDigests() string {
	block, hasBlock := ParseDigest(rec.Get("WARC-Block-Digest"))
	payload, hasPayload := ParseDigest(rec.Get("WARC-Payload-Digest"))
	var sinks []io.Writer
	var blockSum, raw hash.Hash
	if hasBlock {
		blockSum = block.Hash()
		sinks = append(sinks, blockSum)
	}
	isHTTP := strings.HasPrefix(rec.ContentType(), "application/http")
	whole := rec.Get("WARC-Truncated") == "" && rec.Get("WARC-Segment-Number") == ""
	hasPayload = hasPayload && whole && (rec.Type() == Response && isHTTP || rec.Type() == Resource)
	if hasPayload {
		raw = payload.Hash()
		sinks = append(sinks, &behindHead{sum: raw, begun: !isHTTP})
	}
	src := io.TeeReader(rec.Block, io.MultiWriter(sinks...))
	var decoded hash.Hash
	if hasPayload && isHTTP {
		if resp, err := ReadAnswer(src, maxIndexedHead); err == nil {
			decoded = payload.Hash()
			io.Copy(decoded, resp.Body)
			resp.Body.Close()
		}
	}
	if _, err := io.Copy(io.Discard, src); err != nil {
		return ""
	}
	switch {
	case hasBlock && !bytes.Equal(blockSum.Sum(nil), block.Sum):
		return fmt.Sprintf("its block has not the digest %s", rec.Get("WARC-Block-Digest"))
	case hasPayload && !bytes.Equal(raw.Sum(nil), payload.Sum) && (decoded == nil || !bytes.Equal(decoded.Sum(nil), payload.Sum)):
		return fmt.Sprintf("its payload has not the digest %s", rec.Get("WARC-Payload-Digest"))
	}
	return ""
}

// behindHead hashes what follows the head of a message.
type behindHead struct {
	sum   hash.Hash
	last  []byte // the bytes before, up to three
	begun bool
}

func (b *behindHead) Write(p []byte) (int, error) {
	if b.begun {
		return b.sum.Write(p)
	}
	text := append(b.last, p...)
	if _, rest, ok := bytes.Cut(text, []byte("\r\n\r\n")); ok {
		b.begun = true
		b.sum.Write(rest)
	}
	b.last = bytes.Clone(text[max(0, len(text)-3):])
	return len(p), nil
}
