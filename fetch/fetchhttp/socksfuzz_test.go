package fetchhttp

import (
	"bytes"
	"io"
	"net"
	"strconv"
	"testing"
)

// FuzzSOCKSRequest reads requests of clients. What it accepts is a host and a port.
func FuzzSOCKSRequest(f *testing.F) {
	for _, s := range []string{"\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x01\xbb", "\x05\x01\x00\x05\x01\x00\x03\x09localhost\x01\xbb",
		"\x05\x02\x00\x02\x05\x01\x00\x04" + "0123456789abcdef\x00\x50", "\x05\x01\x02", "\x05\x01\x00\x05\x01\x00\x03\x01]\x00\x50", "\x05\x01\x00\x05\x02\x00\x01\x7f\x00\x00\x01\x01\xbb"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var sent bytes.Buffer
		target, status, err := (&Proxy{}).socksRequest(struct {
			io.Reader
			io.Writer
		}{bytes.NewReader(data), &sent}, nil)
		if err != nil || status != socksSucceeded {
			return
		}
		_, port, err := net.SplitHostPort(target)
		if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil {
			t.Errorf("%q: %q", data, target)
		}
		if sent.String() != "\x05\x00" {
			t.Errorf("%q: answered %q", data, sent.String())
		}
	})
}
