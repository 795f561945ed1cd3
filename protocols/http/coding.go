package http

import (
	"bufio"
	"cmp"
	"compress/flate"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/urlget/urlget/fetch"
)

const acceptCodings = "gzip, deflate, br, zstd"

const maxCodings = 4

// zstdWindow is the largest window that a sender may use, in bytes (RFC 9659).
const zstdWindow = 8 << 20

// knownCodings returns the codings of a body in the order in which they were applied. It returns
// none if one of them is unknown or there are more than maxCodings.
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

// A decoder removes the content codings of a body. It returns io.EOF only if both the codings and
// the body are complete.
type decoder struct {
	src    *responseBody
	layers []io.Reader // innermost first
	close  []func()
	err    error
}

// newDecoder returns a decoder of src. It verifies the digests of the encoded content, which may be nil.
func newDecoder(src *responseBody, codings []string, digests *fetch.DigestVerifier) *decoder {
	d := &decoder{src: src}
	r := io.Reader(src)
	if digests != nil {
		r = &verifiedReader{src, digests}
	}
	for i := len(codings) - 1; i >= 0; i-- {
		l := &layer{coding: codings[i], owner: d}
		l.src = bufio.NewReaderSize(&countingReader{r: r, layer: l}, readBuffer)
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

// explain distinguishes errors of the coding from errors of the transfer.
func (d *decoder) explain(err error) error {
	var own *fetch.Error
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &own) || d.src.failed {
		return err
	}
	return &fetch.Error{Code: fetch.ErrProtocol, Err: fmt.Errorf("invalid content coding: %w", err)}
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

// A layer removes one coding. It is set up by the first Read, because an empty body has no coding.
type layer struct {
	src     *bufio.Reader
	coding  string
	owner   *decoder
	r       io.Reader
	pending int   // bytes read since the last decoded byte
	err     error // from the source; decoders may hide it
	ended   bool  // the coding and its source are complete
}

// maxEmptyCoding limits the encoded bytes that produce no content, in bytes: empty blocks, members
// and frames, comments. Without a limit such a stream would count as progress forever.
const maxEmptyCoding = 1 << 20

type countingReader struct {
	r     io.Reader
	layer *layer
}

func (b *countingReader) Read(p []byte) (int, error) {
	l := b.layer
	if l.pending > maxEmptyCoding {
		l.err = &fetch.Error{Code: fetch.ErrProtocol,
			Err: fmt.Errorf("more than %d bytes of the %s coding without content", maxEmptyCoding, l.coding)}
		return 0, l.err
	}
	n, err := b.r.Read(p)
	l.pending += n
	if err != io.EOF {
		l.err = err
	}
	return n, err
}

func (l *layer) Read(p []byte) (int, error) {
	if l.ended {
		return 0, io.EOF // decoders do not return it again
	}
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
		l.pending = 0
	}
	switch {
	case err == io.EOF:
		err = l.end()
	case err != nil && l.err != nil:
		err = l.err
	}
	return n, err
}

// begin chooses the decoder. "deflate" is the zlib format (RFC 9110, section 8.4.1.2), but some
// servers omit the zlib header.
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

// end reads the source to its end. Some servers append zeros, line ends or messages to the encoded
// stream, which is complete by its own end mark. As in browsers, they are ignored. The decoders of brotli
// and zstd refuse them themselves.
func (l *layer) end() error {
	n, err := io.Copy(io.Discard, l.src)
	if n > 0 && err == nil {
		l.owner.src.ex.driver.env.Logger().Info("data after the end of a content coding are ignored",
			"coding", l.coding, "bytes", n)
	}
	l.ended = err == nil
	return cmp.Or(err, io.EOF)
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
