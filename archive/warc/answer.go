package warc

import (
	"bufio"
	"bytes"
	"io"
	"math"
	"net/http"
	"strings"
)

// Answer returns a reader of an answer of HTTP, which is the block of a record, as package net/http
// takes it. Other programs may have written interim answers (1xx) before it, which are left out, and
// versions that have one number ("HTTP/2 200"). What begins in no such way is as it is.
func Answer(block io.Reader) io.Reader {
	var begin [len("HTTP/1.1 100")]byte
	n, _ := io.ReadFull(block, begin[:]) // its error comes again
	if !isInterim(begin[:n]) {
		return io.MultiReader(strings.NewReader(whole(begin[:n])), block)
	}
	in := bufio.NewReader(io.MultiReader(bytes.NewReader(begin[:n]), block))
	var before bytes.Buffer
	within := false // a line that is longer than what is read at once
	for before.Len() < maxIndexedHead {
		line, err := in.ReadSlice('\n')
		before.Write(line)
		if err != nil && err != bufio.ErrBufferFull {
			break
		}
		empty := !within && len(bytes.TrimRight(line, "\r\n")) == 0
		if within = err != nil; !empty {
			continue
		}
		next, _ := in.Peek(len(begin))
		if len(next) > 0 && !isInterim(next) {
			version := whole(next)
			in.Discard(len(next))
			return io.MultiReader(strings.NewReader(version), in)
		}
	}
	return io.MultiReader(&before, in) // there is no other
}

// ReadAnswer reads an answer of HTTP, the block of a record, of which all before the content takes at
// most so many bytes.
func ReadAnswer(block io.Reader, most int64) (*http.Response, error) {
	head := &io.LimitedReader{R: block, N: most}
	resp, err := http.ReadResponse(bufio.NewReader(Answer(head)), nil)
	head.N = math.MaxInt64
	return resp, err
}

// isInterim reports whether an answer that begins so is an interim one.
func isInterim(begin []byte) bool {
	version, status, _ := bytes.Cut(begin, []byte(" "))
	return bytes.HasPrefix(version, []byte("HTTP/")) && bytes.HasPrefix(status, []byte("1")) && !bytes.HasPrefix(status, []byte("101"))
}

// whole returns the beginning of an answer with both numbers of the version.
func whole(begin []byte) string {
	if version, status, ok := strings.Cut(string(begin), " "); ok && (version == "HTTP/2" || version == "HTTP/3") {
		return version + ".0 " + status
	}
	return string(begin)
}
