package http

import (
	"bufio"
	"compress/flate"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/urlget/urlget/fetch/driver"
)

// acceptCodings are the content codings that are decoded.
const acceptCodings = "gzip, deflate, br, zstd"

// maxCodings bounds how many are stacked.
const maxCodings = 4

// zstdWindow is the largest window that a sender may use (RFC 9659).
const zstdWindow = 8 << 20

// knownCodings returns the codings of a body in the order in which they were applied; none if one
// of them is unknown.
func knownCodings(h http.Header) []string {
	var codings []string
	for value := range strings.SplitSeq(strings.Join(h.Values("Content-Encoding"), ","), ",") {
		switch c := strings.ToLower(strings.TrimSpace(value)); c {
		case "", "identity":
		case "gzip", "x-gzip", "deflate", "br", "zstd":
			codings = append(codings, strings.TrimPrefix(c, "x-"))
		default:
			return nil
		}
	}
	if len(codings) > maxCodings {
		return nil
	}
	return codings
}

// A decoder is a body without its content codings. It ends when the coding and the body under it
// do.
type decoder struct {
	src    *responseBody
	layers []io.Reader // the first is the innermost
	close  []func()
	err    error
}

func newDecoder(src *responseBody, codings []string) *decoder {
	d := &decoder{src: src}
	r := io.Reader(src)
	for i := len(codings) - 1; i >= 0; i-- {
		l := &layer{coding: codings[i], owner: d}
		l.src = bufio.NewReaderSize(&barren{r: r, layer: l}, readBuffer)
		d.layers = append(d.layers, l)
		r = l
	}
	return d
}

func (d *decoder) Read(p []byte) (int, error) {
	if d.err != nil {
		return 0, d.err
	}
	n, err := d.layers[len(d.layers)-1].Read(p)
	if err != nil {
		d.err = d.explain(err)
	}
	return n, d.err
}

// explain tells errors of the coding from those of the transfer.
func (d *decoder) explain(err error) error {
	var own *driver.Error
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &own) || d.src.failed {
		return err
	}
	return &driver.Error{Code: driver.ErrProtocol, Err: fmt.Errorf("the content coding is broken: %w", err)}
}

func (d *decoder) Close() error {
	for _, c := range d.close {
		c()
	}
	d.close = nil
	if d.err == nil {
		d.err = io.ErrClosedPipe
	}
	return d.src.Close()
}

// A layer removes one coding. It begins at the first Read, as only then it is known whether there
// is any content.
type layer struct {
	src    *bufio.Reader
	coding string
	owner  *decoder
	r      io.Reader
	taken  int   // bytes since there was content
	err    error // of what is below; decoders may hide it
}

// maxBarren bounds the bytes of a coding that may come without content in them: empty blocks,
// members and frames, comments. Without a bound a stream of those would count as progress for ever.
const maxBarren = 1 << 20

// barren reads what is below a layer, and counts the bytes.
type barren struct {
	r     io.Reader
	layer *layer
}

func (b *barren) Read(p []byte) (int, error) {
	l := b.layer
	if l.taken > maxBarren {
		l.err = &driver.Error{Code: driver.ErrProtocol,
			Err: fmt.Errorf("more than %d bytes of the %s coding held no content", maxBarren, l.coding)}
		return 0, l.err
	}
	n, err := b.r.Read(p)
	l.taken += n
	if err != io.EOF {
		l.err = err
	}
	return n, err
}

func (l *layer) Read(p []byte) (int, error) {
	if l.r == nil {
		if _, err := l.src.Peek(1); err != nil {
			return 0, err // io.EOF: an empty body has no coding
		}
		if err := l.begin(); err != nil {
			return 0, noEOF(err)
		}
	}
	n, err := l.r.Read(p)
	if n > 0 {
		l.taken = 0
	}
	switch {
	case err == io.EOF:
		err = l.end()
	case err != nil && l.err != nil:
		err = l.err
	}
	return n, err
}

// begin chooses the decoder. "deflate" is zlib's format (RFC 9110, section 8.4.1.2), but some send
// it without the zlib header.
func (l *layer) begin() (err error) {
	switch l.coding {
	case "gzip":
		l.r = newGzipReader(l.src)
	case "deflate":
		head, _ := l.src.Peek(2)
		if len(head) == 2 && head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
			l.r, err = zlib.NewReader(l.src)
		} else {
			l.r = flate.NewReader(l.src)
		}
	case "br":
		l.r = brotli.NewReader(l.src)
	case "zstd":
		var z *zstd.Decoder
		z, err = zstd.NewReader(l.src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindow),
			zstd.WithDecodeBuffersBelow(0))
		if err == nil {
			l.r = z
			l.owner.close = append(l.owner.close, z.Close)
		}
	}
	return err
}

// end checks that nothing follows what was decoded, and that the body under it ended as it should.
func (l *layer) end() error {
	extra, err := l.src.ReadByte()
	if err == nil {
		return &driver.Error{Code: driver.ErrProtocol, Err: fmt.Errorf("0x%02x and more follows the end of the %s coding", extra, l.coding)}
	}
	return err
}

// noEOF makes the end of the stream within a header an error.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
