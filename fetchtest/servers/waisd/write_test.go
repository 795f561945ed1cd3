package waisd

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/urlget/urlget/internal/codec/apdu"
)

// A log is a writer that records its calls.
type log struct{ text string }

func (l *log) Write(p []byte) (int, error) {
	l.text += fmt.Sprintf("write %d, ", len(p))
	return len(p), nil
}

func TestTwoWrites(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]string{
		100: "write 25, flush, write 100, ",
		0:   "write 25, flush, write 0, ",
	} {
		var l log
		w := &twoWrites{&l, func() error { l.text += "flush, "; return nil }}
		if err := apdu.WritePacket(w, bytes.Repeat([]byte("x"), size)); err != nil || l.text != want {
			t.Errorf("%d bytes: %q, %v; want %q", size, l.text, err, want)
		}
	}
}
