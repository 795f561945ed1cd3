package http

import (
	"net/http"
	"testing"

	"github.com/urlget/urlget/fetch"
)

func FuzzReadDigests(f *testing.F) {
	for _, s := range []string{"sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:, x=?1", "SHA-256=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=,unixsum=1",
		"1B2M2Y8AsgTpgAmY7PhCfg==", "crc32c=AAAAAA==", "AAAAAA==-3", "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", `"-"`, "sha-256=(:AA==: 1);a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h := http.Header{}
		for _, field := range digestFields {
			h[field.name] = []string{s, s}
		}
		for _, d := range readDigests(h, digestFields, func(string, string, error) {}) {
			if hash := fetch.NewHash(d.Algorithm); hash == nil || len(d.Sum) != hash.Size() || d.By == "" {
				t.Errorf("%q: %+v", s, d)
			}
		}
	})
}
