package serve

import "testing"

func FuzzShorten(f *testing.F) {
	f.Add("Pears are ripe for ten minutes.", 10)
	f.Add("Äpfel", 1)
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n < 0 {
			return
		}
		if short := shorten(text, n); len(short) > n+len(" …") {
			t.Errorf("%d bytes, want at most %d", len(short), n)
		}
	})
}
