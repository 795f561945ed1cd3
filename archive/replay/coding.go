package replay

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
)

// Some programs write answers without their framing and coding, and leave their heads as they were.

// maxChunkSize bounds the digits of the size of a chunk, and the blanks behind them.
const maxChunkSize = 24

// withoutChunks makes content, which is the rest of a record, that of an answer whose head speaks of
// chunks where there are none.
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

// magics are what content begins with in those codings that can be told by it.
var magics = map[string]string{"gzip": "\x1f\x8b", "x-gzip": "\x1f\x8b", "zstd": "\x28\xb5\x2f\xfd"}

// withoutCoding makes content that of an answer whose head names a coding that the content has not.
// The length in the head is that of the coded content then.
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
	resp.TransferEncoding = []string{"chunked"} // which tells the end
}
