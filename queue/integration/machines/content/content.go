// Package content generates the content that the targets serve in the tests of many machines. It
// depends only on the path, so that the tests can compute it too.
package content

import (
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// maxSize is the maximum size of a content, in bytes.
const maxSize = 32 << 10

func source(path string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(path))
	return rand.New(rand.NewPCG(h.Sum64(), 1))
}

// Of returns the content of a path, from 1 byte to 32 KiB.
func Of(path string) []byte {
	r := source(path)
	body := make([]byte, 1+r.IntN(maxSize))
	for i := range body {
		body[i] = byte('a' + r.IntN(26))
	}
	return body
}

// Delay returns the duration of a response, from 0.1 to 0.2 s.
func Delay() time.Duration {
	return 100*time.Millisecond + rand.N(100*time.Millisecond)
}
