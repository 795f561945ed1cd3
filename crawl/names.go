package crawl

import (
	"bytes"
	"encoding/binary"
	"iter"
	"strings"

	bolt "go.etcd.io/bbolt"

	"github.com/urlget/urlget/fetch/uri"
)

// Claim assigns a name, such as that of a file, to owner, such as the key of a URL, unless it
// belongs to another owner. It returns the current owner. Claims persist across crawls.
func (s *State) Claim(name, owner string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held, err := s.names.get(s, name)
	if err != nil {
		return "", err
	}
	if held.exists && held.owner != owner {
		return held.owner, nil
	}
	s.names.put(name, claim{true, s.run, owner})
	return owner, nil
}

// Owner returns the owner of a name, or "" if it has none, and whether it was claimed in this
// crawl.
func (s *State) Owner(name string) (owner string, now bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.names.get(s, name)
	return c.owner, c.exists && c.run == s.run, err
}

// Disclaim removes the claim to a name.
func (s *State) Disclaim(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names.put(name, claim{})
}

// A claim is the owner of a name, and the run that claimed it last.
type claim struct {
	exists bool
	run    uint64
	owner  string
}

func decodeClaim(b []byte) (claim, error) {
	run, n := binary.Uvarint(b)
	if n <= 0 {
		return claim{exists: true}, nil
	}
	return claim{true, run, string(b[n:])}, nil
}

func (c claim) isAbsent() bool { return !c.exists }

func (c claim) appendTo(b []byte) []byte { return append(binary.AppendUvarint(b, c.run), c.owner...) }

// Names yields all names with a prefix, in lexical order, and whether each was claimed in this
// crawl. The loop body must not call methods of s.
func (s *State) Names(prefix string) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for name := range s.names.pending {
			if strings.HasPrefix(name, prefix) {
				if s.write() != nil {
					return
				}
				break
			}
		}
		s.view(func(tx *bolt.Tx) error {
			c := tx.Bucket(namesBucket).Cursor()
			for k, v := c.Seek([]byte(prefix)); bytes.HasPrefix(k, []byte(prefix)) &&
				k != nil; k, v = c.Next() {
				if c, _ := decodeClaim(v); !yield(string(k), c.run == s.run) {
					break
				}
			}
			return nil
		})
	}
}

// Number returns the number of the current crawl, or of the last one. It is 0 before the first.
func (s *State) Number() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run
}

// Memo returns the data stored by the last visit of a URL (see Page.Memo), and whether a visit
// succeeded in this crawl.
func (s *State) Memo(u uri.URI) (memo []byte, now bool) { return s.memo(u.Key()) }

func (s *State) memo(key string) (memo []byte, now bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.urls.get(s, key)
	if err != nil || r == nil {
		return nil, false
	}
	return r.memo, r.run == s.run && r.state == done
}

// UpdateMemo replaces the Memo of a URL with the result of f. The arguments of f are the results of
// Memo. f must not call methods of s.
func (s *State) UpdateMemo(u uri.URI, f func(memo []byte, now bool) []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.urls.get(s, u.Key())
	if err != nil || r == nil {
		return err
	}
	r.memo = f(r.memo, r.run == s.run && r.state == done)
	s.urls.put(u.Key(), r)
	return s.writeIfDue()
}

// Visited yields the keys and the Memos of the URLs that were visited successfully in this crawl.
// It must not be called before the crawl has ended. The loop body may call Memo, but must not
// change the State.
func (s *State) Visited() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for last := []byte(nil); ; {
			type one struct {
				key  string
				memo []byte
			}
			var batch []one
			s.mu.Lock()
			err := s.write()
			if err == nil {
				err = s.view(func(tx *bolt.Tx) error {
					c := tx.Bucket(urlsBucket).Cursor()
					k, v := c.Seek(last)
					if last != nil && bytes.Equal(k, last) {
						k, v = c.Next()
					}
					for n := 0; k != nil && n < 1000; k, v = c.Next() {
						last = bytes.Clone(k)
						n++
						if r, err := decodeRecord(v); err == nil && r.run == s.run && r.state == done {
							batch = append(batch, one{string(k), r.memo})
						}
					}
					if k == nil {
						last = nil
					}
					return nil
				})
			}
			s.mu.Unlock()
			for _, o := range batch {
				if !yield(o.key, o.memo) {
					return
				}
			}
			if err != nil || last == nil {
				return
			}
		}
	}
}
