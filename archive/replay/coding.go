package replay

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
)

// Some programs write bodies without their framing and coding, but do not change the head.

// maxChunkSize limits the length of a chunk size with the blanks after it.
const maxChunkSize = 24

// withoutChunks sets the body to content, the rest of the record, if the head claims chunked
// framing and content has none.
func withoutChunks(resp *http.Response, content *bufio.Reader) {
	if resp.Body == http.NoBody || !slices.Equal(resp.TransferEncoding, []string{"chunked"}) {
		return
	}
	begin, _ := content.Peek(maxChunkSize + 1)
	behind := bytes.TrimLeft(begin, "0123456789abcdefABCDEF")
	framed := len(behind) < len(begin)
	if behind = bytes.TrimLeft(behind, " \t"); len(behind) > 0 {
		framed = framed && strings.IndexByte("\r\n;", behind[0]) >= 0
	}
	if len(begin) > 0 && !framed {
		resp.Body = io.NopCloser(content)
		withoutCoding(resp, content)
	}
}

// magics are the first bytes of content codings that have a fixed start.
var magics = map[string]string{"gzip": "\x1f\x8b", "x-gzip": "\x1f\x8b", "zstd": "\x28\xb5\x2f\xfd"}

// withoutCoding sets the body to content if content lacks the coding that the head names. In that
// case the Content-Length, which counts coded bytes, is removed too.
func withoutCoding(resp *http.Response, content *bufio.Reader) {
	magic := magics[strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding")))]
	if magic == "" || resp.Body == http.NoBody {
		return
	}
	if begin, _ := content.Peek(len(magic)); len(begin) == 0 || string(begin) == magic {
		return
	}
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
	resp.Body, resp.ContentLength = io.NopCloser(content), -1
	resp.TransferEncoding = []string{"chunked"} // marks the end of the body
}
