package main

import (
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
)

func TestReadAtMost(t *testing.T) {
	t.Parallel()
	for text, code := range map[string]fetch.Code{"": "", "1234": "", "12345": fetch.ErrTooLarge, "123456789": fetch.ErrTooLarge} {
		in := strings.NewReader(text)
		got, err := readAtMost(in, "f", 4)
		if fetch.CodeOf(err) != code || code == "" && string(got) != text {
			t.Errorf("%q: %q, %v", text, got, err)
		}
		if read := len(text) - in.Len(); read > 5 {
			t.Errorf("%q: %d bytes were read", text, read)
		}
	}
}
