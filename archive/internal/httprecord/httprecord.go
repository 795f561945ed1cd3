// Package httprecord reads HTTP messages in the blocks of WARC records (ISO 28500, sections 6.3 and
// 6.5), including variants that other programs write.
package httprecord

import (
	"bufio"
	"bytes"
	"io"
	"strings"
)

// maxHead limits the length of interim responses that are skipped.
const maxHead = 256 << 10

// InScheme reports whether response and request records of a scheme contain HTTP messages.
func InScheme(scheme string) bool { return scheme == "http" || scheme == "https" }

// Final returns a reader of the final HTTP response in a block, in the form that package net/http
// reads. It skips interim responses (1xx) and expands the version of "HTTP/2 200". A block that
// does not begin with a response is not changed.
func Final(block io.Reader) io.Reader {
	var begin [len("HTTP/1.1 100")]byte
	n, _ := io.ReadFull(block, begin[:]) // a read error occurs again later
	if !IsInterim(begin[:n]) {
		return io.MultiReader(strings.NewReader(completeVersion(begin[:n])), block)
	}
	in := bufio.NewReader(io.MultiReader(bytes.NewReader(begin[:n]), block))
	var before bytes.Buffer
	within := false // inside a line longer than the buffer
	for before.Len() < maxHead {
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
		if len(next) > 0 && !IsInterim(next) {
			version := completeVersion(next)
			in.Discard(len(next))
			return io.MultiReader(strings.NewReader(version), in)
		}
	}
	return io.MultiReader(&before, in) // all responses are interim
}

// IsInterim reports whether a response is an interim one. Begin must have its first 12 bytes.
func IsInterim(begin []byte) bool {
	version, status, _ := bytes.Cut(begin, []byte(" "))
	return bytes.HasPrefix(version, []byte("HTTP/")) &&
		bytes.HasPrefix(status, []byte("1")) && !bytes.HasPrefix(status, []byte("101"))
}

// HeadLength returns the length of the head at the start of r, including the empty line, or 0 if
// the head does not end. Lines may end without carriage returns.
func HeadLength(r io.Reader) (length int64) {
	lines := bufio.NewReader(r)
	for within := false; ; { // inside a line longer than the buffer
		line, err := lines.ReadSlice('\n')
		length += int64(len(line))
		switch {
		case err != nil && err != bufio.ErrBufferFull:
			return 0
		case err == nil && !within && len(bytes.TrimRight(line, "\r\n")) == 0:
			return length
		}
		within = err != nil
	}
}

// completeVersion returns the start of a response with the version number completed.
func completeVersion(begin []byte) string {
	version, status, ok := strings.Cut(string(begin), " ")
	if ok && (version == "HTTP/2" || version == "HTTP/3") {
		return version + ".0 " + status
	}
	return string(begin)
}
