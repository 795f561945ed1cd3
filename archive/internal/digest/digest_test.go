package digest

import (
	"bytes"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		"sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ":                                   true, // of no bytes
		"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855": true,
		"SHA-256:4OYMIQUY7QOBJGX36TEJS35ZEQT24QPEMSNZGTFESWMRW6CSXBKQ====":        true,
		"md5:1B2M2Y8AsgTpgAmY7PhCfg==":                                            true,
		"sha1:short":                                                              false, "crc32:0000": false, "": false, "sha1": false,
	} {
		d, got := Parse(text)
		if got != ok {
			t.Errorf("%q: %v", text, got)
		}
		if ok && !bytes.Equal(d.Sum, d.Hash().Sum(nil)) {
			t.Errorf("%q: %x", text, d.Sum)
		}
	}
}
