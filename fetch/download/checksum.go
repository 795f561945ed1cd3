package download

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch"
)

// CheckChecksum returns an error if s is not valid as Options.Checksum.
func CheckChecksum(s string) error {
	_, err := parseChecksum(s)
	return err
}

const byChecksum = "checksum"

var algorithms = []string{"sha256", "sha512", "sha384", "sha224", "sha1", "md5"}

func parseChecksum(s string) (fetch.Digest, error) {
	prefix, digits, ok := strings.Cut(s, ":")
	if !ok {
		return fetch.Digest{}, fmt.Errorf("checksum %q is not of the form ALGORITHM:HEX", s)
	}
	name := strings.ToLower(prefix)
	if !slices.Contains(algorithms, name) {
		return fetch.Digest{}, fmt.Errorf("checksum algorithm %q is not one of %s",
			prefix, strings.Join(algorithms, ", "))
	}
	d := fetch.Digest{Algorithm: fetch.CanonicalAlgorithm(name)}
	size := fetch.NewHash(d.Algorithm).Size()
	var err error
	if d.Sum, err = hex.DecodeString(digits); err != nil || len(d.Sum) != size {
		return fetch.Digest{}, fmt.Errorf("a %s checksum has %d hexadecimal digits", name, 2*size)
	}
	return d, nil
}

type sums struct {
	digester digester // writes to all
	all      fetch.DigestVerifier
	required fetch.Digest // by Options.Checksum; zero if there is none
	sha256   bool         // of Options.SHA256
}

func newSums(opts *Options) (*sums, error) {
	s := &sums{}
	return s, s.init(opts)
}

func (s *sums) init(opts *Options) (err error) {
	s.sha256 = opts.SHA256
	if opts.Checksum != "" {
		if s.required, err = parseChecksum(opts.Checksum); err != nil {
			return err
		}
	}
	s.reset()
	return nil
}

func (s *sums) active() bool { return s.all.Computes() }

// expect adds digests to verify. Nothing may have been written since reset or rewind.
func (s *sums) expect(stated []fetch.Digest) {
	for _, d := range stated {
		if !s.all.Verifies(d) {
			s.all.Add(d)
		}
	}
}

func (s *sums) expects(stated []fetch.Digest) bool {
	return !slices.ContainsFunc(stated, func(d fetch.Digest) bool { return !s.all.Verifies(d) })
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

func (s *sums) wait() { s.digester.wait() }

// reset forgets what was written, and what was stated about it.
func (s *sums) reset() {
	s.wait()
	s.all = fetch.DigestVerifier{}
	if s.required.Algorithm != "" {
		s.all.Add(s.required)
	}
	if s.sha256 {
		s.all.Compute("sha-256")
	}
	s.digester.w = &s.all
}

// rewind forgets what was written.
func (s *sums) rewind() {
	s.wait()
	s.all.Reset()
}

func (s *sums) verify() error {
	s.wait()
	return s.all.Verify()
}

// proof returns the strongest verified digest, or nil. That of Options.Checksum comes first.
func (s *sums) proof() *fetch.Digest {
	d := s.required
	if d.By = byChecksum; d.Algorithm == "" {
		d = s.all.Strongest()
	}
	return nonzero(d)
}

// nonzero returns nil for the zero Digest, which then is not on the heap.
func nonzero(d fetch.Digest) *fetch.Digest {
	if d.Algorithm == "" {
		return nil
	}
	return &fetch.Digest{Algorithm: d.Algorithm, Sum: d.Sum, By: d.By, Covers: d.Covers}
}

// hex256 returns the SHA-256 in hexadecimal, or "" if it was not requested.
func (s *sums) hex256() string {
	if !s.sha256 && s.required.Algorithm != "sha-256" {
		return ""
	}
	s.wait()
	return hex.EncodeToString(s.all.Sum("sha-256"))
}
