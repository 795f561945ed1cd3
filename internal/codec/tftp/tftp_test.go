package tftp

import (
	"bytes"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

func TestPackets(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Packet{
		"\x00\x01a b\x00OCTET\x00BlkSize\x001428\x00tsize\x000\x00": {Op: Read, File: "a b", Mode: "octet", Options: []Option{{"blksize", "1428"}, {"tsize", "0"}}},
		"\x00\x01f\x00netascii\x00":                                 {Op: Read, File: "f", Mode: "netascii"},
		"\x00\x03\x12\x34data":                                      {Op: Data, Block: 0x1234, Data: []byte("data")},
		"\x00\x03\x00\x01":                                          {Op: Data, Block: 1, Data: []byte{}},
		"\x00\x04\x00\x02":                                          {Op: Ack, Block: 2},
		"\x00\x05\x00\x01File not found\x00":                        {Op: Error, Code: NotFound, Text: "File not found"},
		"\x00\x05\x00\x00no end":                                    {Op: Error, Text: "no end"},
		"\x00\x06":                                                  {Op: OAck},
		"\x00\x06tsize\x0012\x00":                                   {Op: OAck, Options: []Option{{"tsize", "12"}}},
	} {
		got, err := Parse([]byte(text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
		again, err := Parse(want.Encode())
		if err != nil || !reflect.DeepEqual(again, want) {
			t.Errorf("%+v became %+v, %v", want, again, err)
		}
	}
	for _, text := range []string{"", "\x00\x03", "\x00\x04\x01", "\x00\x07\x00\x00", "\x01\x03\x00\x00", "\x00\x01f\x00octet", "\x00\x01f\x00",
		"\x00\x06tsize\x00", "\x00\x06tsize\x001", "\x00\x01f\x00octet\x00tsize\x00"} {
		if p, err := Parse([]byte(text)); err != ErrMalformed {
			t.Errorf("%q: %+v, %v, want ErrMalformed", text, p, err)
		}
	}
}

func TestNetASCII(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                             "",
		"a\r\nb\r\n":                   "a\nb\n",
		"a\r\x00b":                     "a\rb",
		"a\nb":                         "a\nb",
		"\r\r\n\r":                     "\r\n\r",
		"\rx\r\x00\n":                  "\rx\r\n",
		"\x00":                         "\x00",
		strings.Repeat("ab\r\n", 5000): strings.Repeat("ab\n", 5000),
	} {
		for name, r := range map[string]io.Reader{
			"whole": NetASCII(strings.NewReader(in)), "bytes in": NetASCII(iotest.OneByteReader(strings.NewReader(in))),
			"bytes out": iotest.OneByteReader(NetASCII(strings.NewReader(in))), "end with data": NetASCII(iotest.DataErrReader(strings.NewReader(in))),
		} {
			if got, err := io.ReadAll(r); string(got) != want || err != nil {
				t.Errorf("%q, %s: %q, %v", in, name, got, err)
			}
		}
	}
	if _, err := io.ReadAll(NetASCII(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("\rx"))))); err != iotest.ErrTimeout {
		t.Errorf("error %v, want that of the reader", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("\x00\x01a\x00octet\x00tsize\x000\x00"))
	f.Add([]byte("\x00\x06blksize\x008\x00"))
	f.Add([]byte("\x00\x05\x00\x01no\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Parse(b)
		if err != nil {
			return
		}
		again, err := Parse(p.Encode())
		if err != nil || again.String() != p.String() || !bytes.Equal(again.Data, p.Data) {
			t.Errorf("%+v became %+v, %v", p, again, err)
		}
	})
}
