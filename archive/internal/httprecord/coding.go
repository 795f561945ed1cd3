package httprecord

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/zlib"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/andybalholm/brotli"
)

const (
	// maxChunkSize limits the length of a chunk size with the blanks after it.
	maxChunkSize = 24
	// maxExtended is how many bytes are read to find the end of a first chunk that has an extension.
	maxExtended = 1<<16 + 64
)

// hasChunks reports whether content is chunked. Some programs remove the framing and keep the field, and
// a text may begin like a chunk, as CSV does. Content with a first chunk that does not end counts as
// chunked, so that damage is an error, unless it has an extension, which servers hardly ever send. An
// empty content counts as chunked, because it lacks the last chunk. The result replaces content.
func hasChunks(content *bufio.Reader) (*bufio.Reader, bool) {
	begin, _ := content.Peek(maxChunkSize + 1)
	if len(begin) == 0 {
		return content, true
	}
	rest := bytes.TrimLeft(begin, "0123456789abcdefABCDEF")
	size, invalid := strconv.ParseUint(string(begin[:len(begin)-len(rest)]), 16, 62)
	rest = bytes.TrimLeft(rest, " \t")
	if invalid != nil || len(rest) == 0 || bytes.IndexByte([]byte("\r\n;"), rest[0]) < 0 {
		return content, false
	}
	extended := rest[0] == ';'
	if extended {
		content = bufio.NewReaderSize(content, maxExtended)
	}
	begin, err := content.Peek(content.Size())
	_, data, ok := bytes.Cut(begin, []byte("\n"))
	switch {
	case !ok || len(data) == 0 && err == io.EOF:
		return content, false
	case size == 0:
		return content, isTrailer(data)
	case !extended:
		return content, true
	case size+2 <= uint64(len(data)):
		return content, string(data[size:size+2]) == "\r\n"
	}
	return content, err != io.EOF
}

// isTrailer reports whether data begins with the fields after the last chunk and an empty line.
func isTrailer(data []byte) bool {
	for line := range bytes.Lines(data) {
		if len(bytes.TrimRight(line, "\r\n")) == 0 {
			return true
		}
		if bytes.IndexByte(line, ':') <= 0 {
			return false
		}
	}
	return false
}

// magics are the first bytes of content codings that have a fixed start.
var magics = map[string]string{"gzip": "\x1f\x8b", "x-gzip": "\x1f\x8b", "zstd": "\x28\xb5\x2f\xfd"}

// WithoutCoding removes the codings that content lacks from Content-Encoding and returns true if there
// are any: some programs store a decoded body with the original head. Content-Length, which counts coded
// bytes, then does not apply.
func WithoutCoding(resp *http.Response, content *bufio.Reader) bool {
	codings := strings.Split(strings.Join(resp.Header["Content-Encoding"], ","), ",")
	have := len(codings)
	for have > 0 && !hasCoding(strings.ToLower(strings.TrimSpace(codings[have-1])), content) {
		have--
	}
	if have == len(codings) {
		return false
	}
	if resp.Header.Del("Content-Encoding"); have > 0 {
		resp.Header.Set("Content-Encoding", strings.Join(codings[:have], ","))
	}
	return true
}

// maxStart is how many bytes tell whether a body without a fixed start has its coding: a decoder
// rejects other content sooner.
const maxStart = 64

func hasCoding(coding string, content *bufio.Reader) bool {
	magic := magics[coding]
	if magic == "" && coding != "br" && coding != "deflate" {
		return true
	}
	begin, _ := content.Peek(max(len(magic), maxStart))
	if len(begin) == 0 || magic != "" {
		return len(begin) == 0 || bytes.HasPrefix(begin, []byte(magic))
	}
	if n, err := decode(coding, begin); n == 0 && err != nil && err != io.ErrUnexpectedEOF {
		return false
	}
	begin, _ = content.Peek(content.Size())
	_, err := decode(coding, begin)
	return err == nil || !isText(begin)
}

// decode decodes the start of a body and returns the number of decoded bytes.
func decode(coding string, begin []byte) (int64, error) {
	var r io.Reader = brotli.NewReader(bytes.NewReader(begin))
	if coding == "deflate" { // the zlib format, or without its header (see RFC 9110, section 8.4.1.2)
		r = flate.NewReader(bytes.NewReader(begin))
		if z, err := zlib.NewReader(bytes.NewReader(begin)); err == nil {
			r = z
		}
	}
	return io.CopyN(io.Discard, r, maxDecoded)
}

// maxDecoded limits the decoded bytes of the start of a body.
const maxDecoded = 1 << 20

// isText reports whether begin is the start of a text. Coded content of some length has control
// characters; a short one is hardly ever valid UTF-8.
func isText(begin []byte) bool {
	control := func(c byte) bool { return c < ' ' && strings.IndexByte("\t\n\f\r\x1b", c) < 0 }
	const long = 256
	return !slices.ContainsFunc(begin, control) && (len(begin) >= long || utf8.Valid(begin))
}
