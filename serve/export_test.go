package serve

import (
	"time"

	"github.com/urlget/urlget/fetch/uri"
)

// SetDelay sets how long a page waits for the response before it is begun.
func (s *Server) SetDelay(d time.Duration) { s.delay = d }

func (s *Server) TimeGate(host string) string { return s.timeGate(host) }

// SentenceOf returns the sentences of a page about an error.
func SentenceOf(err error, u uri.URI) (cause, advice string) { return sentenceOf(err, u) }
