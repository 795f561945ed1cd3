package mirror

import (
	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch/uri"
)

// TemporaryName returns the name of a file while it is moved.
func TemporaryName(from, key string) string { return move{key: key, from: from}.temporary() }

// MemoPath returns the path of the file of u.
func MemoPath(s *crawl.State, u uri.URI) string {
	b, _ := s.Memo(u)
	return readMemo(b).Path
}

// SetOldPath changes the path of the file of u, as if layout 1 had chosen it.
func SetOldPath(s *crawl.State, u uri.URI, name string) {
	s.Disclaim(filePrefix + MemoPath(s, u))
	s.Claim(filePrefix+name, u.Key())
	s.UpdateMemo(u, func(b []byte, _ bool) []byte {
		v := readMemo(b)
		v.Path, v.Run = name, 0
		return v.bytes()
	})
}
