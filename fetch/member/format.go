package member

import (
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/urlget/urlget/fetch"
)

// A format is the format of an archive, or "".
type format string

const (
	formatZip  format = "zip"
	formatTar  format = "tar"
	formatGzip format = "tar.gz"
	formatZstd format = "tar.zst"
)

// tarMark is the magic field of a header block (POSIX ustar) and its offset. GNU tar writes it, too.
const (
	tarMark   = "ustar"
	tarOffset = 257
	tarBlock  = 512
)

// detect returns the format of the archive in r. It reads at most the first range.
func detect(r io.ReaderAt) (format, error) {
	first := make([]byte, tarBlock)
	n, err := r.ReadAt(first, 0)
	if err != nil && err != io.EOF {
		return "", err
	}
	switch text := string(first[:n]); {
	case strings.HasPrefix(text, "PK\x03\x04"), strings.HasPrefix(text, "PK\x05\x06"):
		return formatZip, nil
	case isTar(text):
		return formatTar, nil
	case strings.HasPrefix(text, "\x1f\x8b"):
		return startsTar(r, formatGzip), nil
	case strings.HasPrefix(text, "\x28\xb5\x2f\xfd"):
		return startsTar(r, formatZstd), nil
	}
	return "", nil
}

func isTar(block string) bool {
	return len(block) == tarBlock && block[tarOffset:tarOffset+len(tarMark)] == tarMark
}

func startsTar(r io.ReaderAt, f format) format {
	d, err := decompress(io.NewSectionReader(r, 0, head), f)
	if err != nil {
		return ""
	}
	block := make([]byte, tarBlock)
	if _, err := io.ReadFull(d, block); err != nil || !isTar(string(block)) {
		return ""
	}
	return f
}

// maxWindow limits the memory of a zstd decoder, in bytes. The highest levels of zstd use that much.
const maxWindow = 128 << 20

// decompress returns the tar file in r. It starts no goroutine.
func decompress(r io.Reader, f format) (io.Reader, error) {
	switch f {
	case formatGzip:
		return gzip.NewReader(r)
	case formatZstd:
		return newZstd(r)
	}
	return r, nil
}

func newZstd(r io.Reader) (io.Reader, error) {
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow))
}

// classify returns err, which may be that of a decoder, with the class of its cause.
func (a *archive) classify(err error) error {
	switch _, classified := errors.AsType[*fetch.Error](err); {
	case classified, err == io.EOF:
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &fetch.Error{Code: fetch.ErrTruncated, Err: err}
	case errors.Is(err, zip.ErrChecksum), errors.Is(err, gzip.ErrChecksum),
		errors.Is(err, zstd.ErrCRCMismatch):
		return &fetch.Error{Code: fetch.ErrChecksum, Err: err}
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return unsupported("a zstd window of more than %d bytes", maxWindow)
	case errors.Is(err, zip.ErrAlgorithm):
		return unsupported("%v", err)
	default:
		return &fetch.Error{Code: fetch.ErrProtocol, Err: err}
	}
	return err
}

type body struct {
	io.Reader
	archive *archive
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil {
		err = b.archive.classify(err)
	}
	return n, err
}

func (b *body) Close() error { return b.archive.Close() }
