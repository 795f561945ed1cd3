package download

import (
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/urlget/urlget/fetch"
)

// CheckChecksum returns an error if s is not valid as Options.Checksum.
func CheckChecksum(s string) error {
	_, _, err := parseChecksum(s)
	return err
}

var algorithms = map[string]func() hash.Hash{
	"sha256": sha256.New, "sha512": sha512.New, "sha384": sha512.New384, "sha224": sha256.New224, "sha1": sha1.New, "md5": md5.New,
}

func parseChecksum(s string) (hash.Hash, []byte, error) {
	prefix, digits, ok := strings.Cut(s, ":")
	if !ok {
		return nil, nil, fmt.Errorf("checksum %q is not of the form ALGORITHM:HEX", s)
	}
	name := strings.ToLower(prefix)
	algorithm := algorithms[name]
	if algorithm == nil {
		return nil, nil, fmt.Errorf("checksum algorithm %q is not one of sha256, sha512, sha384, sha224, sha1, md5", prefix)
	}
	h := algorithm()
	want, err := hex.DecodeString(digits)
	if err != nil || len(want) != h.Size() {
		return nil, nil, fmt.Errorf("a %s checksum has %d hexadecimal digits", name, 2*h.Size())
	}
	return h, want, nil
}

// sums computes digests of the content. A nil *sums computes none.
type sums struct {
	digester digester // writes to all hashes
	check    hash.Hash
	want     []byte    // expected value of check
	sha256   hash.Hash // may be check
}

// newSums returns nil if opts does not request a digest.
func newSums(opts *Options) (*sums, error) {
	s := &sums{}
	var all []io.Writer
	if opts.Checksum != "" {
		var err error
		if s.check, s.want, err = parseChecksum(opts.Checksum); err != nil {
			return nil, err
		}
		all = append(all, s.check)
	}
	switch algorithm, _, _ := strings.Cut(opts.Checksum, ":"); {
	case strings.EqualFold(algorithm, "sha256"):
		s.sha256 = s.check
	case opts.SHA256:
		s.sha256 = sha256.New()
		all = append(all, s.sha256)
	}
	if all == nil {
		return nil, nil
	}
	s.digester.w = io.MultiWriter(all...)
	return s, nil
}

// Write digests p after all queued buffers.
func (s *sums) Write(p []byte) (int, error) {
	s.digester.wait()
	return s.digester.w.Write(p)
}

// enqueue digests data, a part of buf, concurrently. It returns the buffer to use next, which is buf
// unless data is queued.
func (s *sums) enqueue(buf *[bufferSize]byte, data []byte) *[bufferSize]byte {
	if len(data) < minConcurrent {
		s.Write(data)
		return buf
	}
	s.digester.enqueue(piece{buf, data})
	return buffers.Get().(*[bufferSize]byte)
}

// enqueueCopy is like enqueue for data that the caller owns.
func (s *sums) enqueueCopy(data []byte) {
	for len(data) >= minConcurrent {
		buf := buffers.Get().(*[bufferSize]byte)
		n := copy(buf[:], data)
		s.digester.enqueue(piece{buf, buf[:n]})
		data = data[n:]
	}
	if len(data) > 0 {
		s.Write(data)
	}
}

// wait waits until all queued buffers are digested.
func (s *sums) wait() {
	if s != nil {
		s.digester.wait()
	}
}

func (s *sums) reset() {
	if s == nil {
		return
	}
	s.wait()
	if s.check != nil {
		s.check.Reset()
	}
	if s.sha256 != nil {
		s.sha256.Reset()
	}
}

// verify returns an error if the checksum is not the expected one.
func (s *sums) verify() error {
	if s == nil || s.check == nil {
		return nil
	}
	s.wait()
	if got := s.check.Sum(nil); !bytes.Equal(got, s.want) {
		return &fetch.Error{Code: fetch.ErrChecksum, Err: fmt.Errorf("got %x, not %x", got, s.want)}
	}
	return nil
}

// hex256 returns the SHA-256 in hexadecimal, or "" if it was not requested.
func (s *sums) hex256() string {
	if s == nil || s.sha256 == nil {
		return ""
	}
	s.wait()
	return hex.EncodeToString(s.sha256.Sum(nil))
}
